"""Promise 2: dense or sparse, any strides, any order of features, explicit zeros: the same model to 1e-12.

Values are multiples of 1/8, so that float32 holds them exactly; what is left is the order of additions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from odca import (
    L2,
    Box,
    ElasticNet,
    Exponential,
    HalfLife,
    Hinge,
    Huber,
    Infinite,
    Learner,
    LogLoss,
    NonNegative,
    Poisson,
    Sliding,
    SquaredError,
)
from streams import KL, Stream, assert_close, assert_same_bits, make_stream, options, window_name

FEATURES, EVENTS = 9, 160
PROBLEMS = [
    options(loss=SquaredError(), penalty=L2(), window=Infinite(), smoothing=1.0, features=FEATURES),
    options(loss=Hinge(), penalty=L2(), window=Exponential(0.8), smoothing=0.97, features=FEATURES, intercept=True),
    options(loss=LogLoss(), penalty=ElasticNet(0.05), window=HalfLife(2.0), smoothing=0.5, features=FEATURES, lanes=5),
    options(loss=Huber(1.0), penalty=NonNegative(0.02), window=Sliding(15), smoothing=0.97, features=FEATURES),
    options(
        loss=Poisson(),
        penalty=Box(-0.3, 0.4),
        window=Sliding(duration=12.0),
        features=FEATURES,
        intercept=True,
        lanes=2,
    ),
    options(loss=SquaredError(), penalty=KL(), window=Exponential(0.8), smoothing=0.9, features=FEATURES),
    options(loss=Huber(1.0), penalty=ElasticNet(0.1), window=Sliding(15), features=FEATURES, shaped=True),
]


def name(keywords: dict[str, Any]) -> str:
    parts = (keywords["loss"].name, keywords["penalty"].name, window_name(keywords["window"]), keywords.get("lanes"))
    return "-".join(map(str, parts))


def a_stream(keywords: dict[str, Any]) -> Stream:
    stream = make_stream(keywords["loss"], EVENTS, seed=5, features=FEATURES, lanes=keywords.get("lanes"))
    return stream.with_(X=np.round(8.0 * stream.X.toarray()) / 8.0)


def packed(X: np.ndarray) -> np.ndarray:
    """A view whose strides are no multiple of the item size: one field of a table of records."""
    table = np.zeros(len(X), dtype=[("flag", "i1"), ("row", X.dtype, (X.shape[1],))])
    table["row"] = X
    return table["row"]


def with_explicit_zeros(X: np.ndarray) -> sp.csr_array:
    n, width = X.shape
    columns = np.tile(np.arange(width), n)
    return sp.csr_array((X.ravel().copy(), columns, np.arange(0, n * width + 1, width)), shape=X.shape)


def shuffled_rows(csr: sp.csr_array, seed: int) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in zip(csr.indptr, csr.indptr[1:], strict=False)])
    return sp.csr_array((csr.data[order], csr.indices[order], csr.indptr), shape=csr.shape)


def unsorted(X: np.ndarray) -> sp.csr_array:
    out = shuffled_rows(with_explicit_zeros(X), seed=6)
    assert not out.has_sorted_indices
    return out


def with_duplicates(X: np.ndarray) -> sp.csr_array:
    """Every value as two that add up to it, at two places of its row."""
    twice = np.concatenate([X - 0.25, np.full_like(X, 0.25)], axis=1)
    n, width = X.shape
    columns = np.tile(np.arange(width), 2 * n)
    out = sp.csr_array((twice.ravel(), columns, np.arange(0, 2 * n * width + 1, 2 * width)), shape=X.shape)
    return shuffled_rows(out, seed=7)


def csr(index: type, value: type) -> Callable[[np.ndarray], sp.csr_array]:
    def convert(X: np.ndarray) -> sp.csr_array:
        out = sp.csr_array(X.astype(value))
        out.indices, out.indptr = out.indices.astype(index), out.indptr.astype(index)
        assert out.indices.dtype == index
        assert out.data.dtype == value
        return out

    return convert


def mixed_indices(X: np.ndarray) -> sp.csr_array:
    out = sp.csr_array(X)
    out.indptr = out.indptr.astype(np.int64)
    return out


def read_only(X: np.ndarray) -> np.ndarray:
    out = X.copy()
    out.flags.writeable = False
    return out


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "float32": lambda X: X.astype(np.float32),
    "Fortran order": np.asfortranarray,
    "Fortran order, float32": lambda X: np.asfortranarray(X.astype(np.float32)),
    "negative strides": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "negative strides, float32": lambda X: X[::-1, ::-1].astype(np.float32)[::-1, ::-1],
    "every third column of a larger array": lambda X: np.repeat(X, 3, axis=1)[:, ::3],
    "every second row of a larger array": lambda X: np.repeat(X, 2, axis=0)[::2],
    "strides that are no multiple of the item": packed,
    "strides that are no multiple of the item, float32": lambda X: packed(X.astype(np.float32)),
    "read-only": read_only,
    "big-endian": lambda X: X.astype(">f8"),
    "float16": lambda X: X.astype(np.float16),
    "lists": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "CSR int32 float64": csr(np.int32, np.float64),
    "CSR int32 float32": csr(np.int32, np.float32),
    "CSR int64 float64": csr(np.int64, np.float64),
    "CSR int64 float32": csr(np.int64, np.float32),
    "CSR with int64 offsets and int32 indices": mixed_indices,
    "CSR matrix": sp.csr_matrix,
    "CSC": sp.csc_array,
    "COO": sp.coo_array,
    "LIL": sp.lil_array,
    "explicit zeros": with_explicit_zeros,
    "unsorted indices": unsorted,
    "unsorted indices, int64": lambda X: csr64(unsorted(X)),
    "duplicate indices": with_duplicates,
}


def csr64(matrix: sp.csr_array) -> sp.csr_array:
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("keywords", PROBLEMS, ids=name)
def test_every_form_of_the_rows_makes_the_same_model(keywords: dict[str, Any], form: str) -> None:
    stream = a_stream(keywords)
    rows = FORMS[form](stream.X)
    dense, other = Learner(**keywords), Learner(**keywords)
    margins, seen = stream.into(dense), stream.with_(X=rows).into(other)
    # 1e-12 of the largest: additions in another order are off by some 1e-16 per term, and the step does not amplify.
    assert_close(dense, other, rtol=1e-12, why=form)
    np.testing.assert_allclose(seen, margins, rtol=0.0, atol=1e-12 * np.abs(margins).max())
    np.testing.assert_allclose(other.dual_objective(), dense.dual_objective(), rtol=1e-12, atol=1e-12)
    predicted = other.predict(rows, offset=stream.offset)
    np.testing.assert_allclose(
        predicted, dense.predict(stream.X, offset=stream.offset), rtol=0.0, atol=1e-12 * np.abs(predicted).max()
    )


@pytest.mark.parametrize("keywords", PROBLEMS, ids=name)
def test_the_order_of_the_features_does_not_matter(keywords: dict[str, Any]) -> None:
    stream = a_stream(keywords)
    order = np.random.default_rng(8).permutation(FEATURES)
    permuted = dict(keywords)
    for option, otherwise in (("penalty_weights", 1.0), ("prior_mean", 0.0)):
        if option in keywords:
            by_feature = np.full(FEATURES, otherwise)
            by_feature[: len(keywords[option])] = keywords[option]
            permuted[option] = by_feature[order]
    one, other = Learner(**keywords), Learner(**permuted)
    stream.into(one)
    stream.with_(X=stream.X[:, order]).into(other)
    scale = np.abs(one.coef).max()
    np.testing.assert_allclose(other.coef, one.coef[..., order], rtol=0.0, atol=1e-12 * scale)
    np.testing.assert_allclose(other.smoothed_coef, one.smoothed_coef[..., order], rtol=0.0, atol=1e-12 * scale)
    np.testing.assert_allclose(other.dual_objective(), one.dual_objective(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("keywords", PROBLEMS, ids=name)
def test_forms_may_change_within_a_stream(keywords: dict[str, Any]) -> None:
    stream = a_stream(keywords)
    dense, mixed = Learner(**keywords), Learner(**keywords)
    stream.into(dense)
    for number, start in enumerate(range(0, EVENTS, 10)):
        part = stream.part(slice(start, start + 10))
        form = list(FORMS.values())[number % len(FORMS)]
        part.with_(X=form(part.X)).into(mixed)
    assert_close(dense, mixed, rtol=1e-12)


def test_rows_repeated_by_broadcasting_are_learned_repeatedly() -> None:
    row, y = np.array([1.0, -2.0, 0.5]), np.linspace(-1.0, 1.0, 6)
    one, other = Learner(loss=SquaredError(), rho=0.1), Learner(loss=SquaredError(), rho=0.1)
    one.learn(np.tile(row, (6, 1)), y)
    other.learn(np.broadcast_to(row, (6, 3)), y)
    assert_same_bits(one, other)


def test_labels_weights_offsets_and_times_may_have_any_strides_and_types() -> None:
    keywords = options(loss=Huber(1.0), penalty=L2(), window=HalfLife(2.0), lanes=2)
    stream = make_stream(keywords["loss"], 40, seed=9, lanes=2)
    round8 = lambda values: np.round(8.0 * values) / 8.0  # noqa: E731 - a formula
    stream = stream.with_(
        y=round8(stream.y),
        sample_weight=round8(stream.sample_weight),
        offset=round8(stream.offset),
        time=round8(stream.time),
    )
    plain, other = Learner(**keywords), Learner(**keywords)
    stream.into(plain)
    stream.with_(
        y=np.asfortranarray(stream.y.astype(np.float32)),
        sample_weight=np.repeat(stream.sample_weight, 2)[::2].astype(np.float32),
        offset=np.tile(stream.offset[::-1, None], (1, 2))[::-1],
        time=stream.time.tolist(),
    ).into(other)
    assert_same_bits(plain, other)
