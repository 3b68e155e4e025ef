"""Promise 5: new features may appear at any time; the model is the one that knew them from the start."""

import numpy as np
import pytest
import scipy.sparse as sp

from odca import L2, Huber, Learner, SquaredError
from streams import KAPPAS, KL, PENALTIES, WINDOWS, Stream, assert_close, make_stream, options, window_name

EVENTS, FEATURES = 240, 30
SEPARABLE = [penalty for penalty in PENALTIES if not isinstance(penalty, KL)]


def growing(*, sparse: bool, lanes: int | None = None) -> Stream:
    """Event n knows the features up to n/8."""
    stream = make_stream(Huber(1.0), EVENTS, seed=21, features=FEATURES, sparse=False, lanes=lanes)
    known = np.arange(FEATURES) <= np.arange(EVENTS)[:, None] / 8
    X = np.where(known, stream.X, 0.0)
    if sparse:
        X[np.random.default_rng(22).random(X.shape) < 0.8] = 0.0
    return stream.with_(X=sp.csr_array(X) if sparse else X)


def only_known(stream: Stream, rows: slice) -> Stream:
    """The rows without the columns that are zero in them and were before."""
    X = stream.X[: rows.stop]
    dense = X.toarray() if sp.issparse(X) else X
    width = int(np.flatnonzero(np.any(dense != 0.0, axis=0)).max(initial=-1)) + 1
    return stream.with_(X=stream.X[:, :width]).part(rows)


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("window", WINDOWS, ids=window_name)
@pytest.mark.parametrize("penalty", SEPARABLE, ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
def test_a_feature_that_appears_later_counts_as_zero_before(
    penalty: object, window: object, kappa: float, sparse: bool
) -> None:
    lanes = 2 if kappa in {0.5, 1.0} else None
    keywords = options(loss=Huber(1.0), penalty=penalty, window=window, smoothing=kappa, lanes=lanes, shaped=sparse)
    stream = growing(sparse=sparse, lanes=lanes)
    declared, grown = Learner(**keywords), Learner(**keywords)
    widths = set()
    for start in range(0, EVENTS, 20):
        rows = slice(start, start + 20)
        stream.part(rows).into(declared)
        only_known(stream, rows).into(grown)
        widths.add(grown.n_features)
        seen = grown.n_features
        unseen = declared.coef[..., seen:]
        assert not unseen.any(), "a feature without an event has a weight"
        scale = np.abs(declared.coef).max()
        # Blocks of the smoothing and rebuilds of the window end at other events: rounding, not bits.
        np.testing.assert_allclose(grown.coef, declared.coef[..., :seen], rtol=0.0, atol=1e-12 * scale)
        np.testing.assert_allclose(
            grown.smoothed_coef, declared.smoothed_coef[..., :seen], rtol=0.0, atol=1e-12 * scale
        )
    assert len(widths) > 5, "the features did not grow"
    assert_close(declared, grown, rtol=1e-12)


def test_a_prediction_may_contain_features_the_model_has_not_seen() -> None:
    learner = Learner(loss=SquaredError(), rho=0.1, intercept=True)
    learner.learn(np.array([[1.0, 2.0], [0.5, -1.0]]), [1.0, -1.0])
    narrow = learner.predict([[1.0, 2.0]])
    for wide in (np.array([[1.0, 2.0, 5.0, -3.0]]), sp.csr_array([[1.0, 2.0, 5.0, -3.0]])):
        assert learner.predict(wide).tobytes() == narrow.tobytes()
    assert learner.n_features == 2, "a prediction declared a feature"
    w = learner.coef
    np.testing.assert_allclose(learner.predict([[3.0]]), 3.0 * w[0] + learner.intercept, rtol=1e-15)


def test_a_learner_without_events_predicts_with_its_prior() -> None:
    fresh = Learner(loss=SquaredError(), rho=0.1, prior_mean=[1.0, -2.0], intercept=True, prior_intercept=0.5)
    np.testing.assert_array_equal(fresh.predict([[1.0, 1.0, 9.0], [2.0, 0.0, 0.0]]), [-0.5, 2.5])
    np.testing.assert_array_equal(Learner(loss=SquaredError()).predict([[1.0, 2.0]], offset=[3.0]), [3.0])


def test_weights_and_means_shorter_than_the_rows_leave_later_features_plain() -> None:
    rng = np.random.default_rng(23)
    X, y = rng.normal(size=(50, 6)), rng.normal(size=50)
    short = Learner(loss=SquaredError(), penalty=L2(), rho=0.1, penalty_weights=[2.0, 0.5], prior_mean=[1.0])
    full = Learner(
        loss=SquaredError(),
        penalty=L2(),
        rho=0.1,
        penalty_weights=[2.0, 0.5, 1.0, 1.0, 1.0, 1.0],
        prior_mean=[1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    )
    assert short.learn(X, y).tobytes() == full.learn(X, y).tobytes()
    assert short.coef.tobytes() == full.coef.tobytes()
