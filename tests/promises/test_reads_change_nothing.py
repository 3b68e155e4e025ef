"""Promise 3: predicting, reading and saving change nothing."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from odca import Huber, Learner, Sliding
from streams import KAPPAS, PENALTIES, WINDOWS, Stream, assert_same_bits, bits, make_stream, options, window_name

READS: dict[str, Callable[[Learner, Stream], Any]] = {
    "predict": lambda learner, s: learner.predict(s.X, offset=s.offset),
    "predict with w": lambda learner, s: learner.predict(s.X, smoothed=False),
    "predict unseen features": lambda learner, _: learner.predict(np.ones((2, 12))),
    "coef": lambda learner, _: learner.coef,
    "smoothed_coef": lambda learner, _: learner.smoothed_coef,
    "intercept": lambda learner, _: (learner.intercept, learner.smoothed_intercept),
    "dual_sum": lambda learner, _: learner.dual_sum,
    "scalars": lambda learner, _: (learner.mass, learner.count, learner.clock, learner.n_features, learner.lanes),
    "shares": lambda learner, _: (learner.effective_sample_size, learner.saturation),
    "dual_objective": lambda learner, _: learner.dual_objective(),
    "objective": lambda learner, s: learner.objective(s.X, s.y, offset=s.offset),
    "repr": lambda learner, _: repr(learner),
    "get_state": lambda learner, _: learner.get_state(),
    "pickle": lambda learner, _: pickle.loads(pickle.dumps(learner)),
    "deepcopy": lambda learner, _: copy.deepcopy(learner),
    "copy": lambda learner, _: learner.copy(),
    "equality": lambda learner, _: learner == learner.copy(),
}
MORE_OF_SLIDING: dict[str, Callable[[Learner, Stream], Any]] = {
    "primal_objective": lambda learner, _: learner.primal_objective(),
    "duality_gap": lambda learner, _: learner.duality_gap(),
}


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("window", WINDOWS, ids=window_name)
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
def test_reading_a_model_changes_no_bit_now_or_later(penalty: object, window: object, kappa: float) -> None:
    keywords = options(loss=Huber(1.0), penalty=penalty, window=window, smoothing=kappa)
    stream = make_stream(keywords["loss"], 120, seed=11)
    learner, unread = Learner(**keywords), Learner(**keywords)
    reads = READS | (MORE_OF_SLIDING if isinstance(window, Sliding) else {})
    for start in range(0, 120, 40):
        part = stream.part(slice(start, start + 40))
        part.into(learner)
        part.into(unread)
        before = bits(learner)
        for name, read in reads.items():
            read(learner, part)
            assert bits(learner) == before, name
    assert_same_bits(learner, unread, "reading changed what is learned later")


def test_changing_a_returned_array_does_not_change_the_model() -> None:
    keywords = options(loss=Huber(1.0), penalty=PENALTIES[1], window=Sliding(15), smoothing=0.5)
    stream = make_stream(keywords["loss"], 60, seed=12)
    learner = Learner(**keywords)
    stream.into(learner)
    before = bits(learner)
    for array in (learner.coef, learner.smoothed_coef, learner.dual_sum, *learner.get_state().values()):
        array[...] = 7
    assert bits(learner) == before


def test_changing_the_training_arrays_afterwards_does_not_change_the_model() -> None:
    keywords = options(loss=Huber(1.0), penalty=PENALTIES[0], window=Sliding(15), smoothing=0.5)
    stream = make_stream(keywords["loss"], 60, seed=12, sparse=False)
    learner, twin = Learner(**keywords), Learner(**keywords)
    stream.into(twin)
    twin.refine(2)
    stream.into(learner)
    for array in (stream.X, stream.y, stream.sample_weight, stream.offset, stream.time):
        array[...] = np.nan
    learner.refine(2)  # reads the rows of the window again
    assert_same_bits(learner, twin)


def test_changing_a_state_after_set_state_does_not_change_the_model() -> None:
    keywords = options(loss=Huber(1.0), penalty=PENALTIES[0], window=Sliding(15), smoothing=0.5)
    learner, twin = Learner(**keywords), Learner(**keywords)
    make_stream(keywords["loss"], 60, seed=12).into(learner)
    state = learner.get_state()
    twin.set_state(state)
    for array in state.values():
        array[...] = 0
    assert_same_bits(learner, twin)


def test_a_copy_is_independent_of_the_original() -> None:
    keywords = options(loss=Huber(1.0), penalty=PENALTIES[0], window=Sliding(15), smoothing=0.5)
    stream = make_stream(keywords["loss"], 60, seed=13)
    for make_copy in (Learner.copy, copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))):
        learner = Learner(**keywords)
        stream.into(learner)
        twin = make_copy(learner)
        before = bits(learner)
        stream.with_(time=stream.time + 100.0).into(twin)
        twin.refine(1)
        twin.unlearn(twin.count - 1)
        assert bits(learner) == before
        assert twin != learner


class Named(Learner):
    """A user's own kind of learner."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.name = "mine"


def test_a_copy_of_a_subclass_is_of_that_subclass() -> None:
    learner = Named(loss=Huber(1.0), rho=0.1)
    learner.learn(np.ones((1, 2)), [1.0])
    for twin in (learner.copy(), learner.merge(learner.copy())):
        assert type(twin) is Named
        assert twin.name == "mine"
        assert repr(twin).startswith("<Named ")
