"""Promise 1: any split of a stream gives the same model, bit for bit; so does saving and loading in between."""

import copy
import functools
import itertools
import pickle

import numpy as np
import pytest

from odca import L2, Exponential, Learner, Sliding, SquaredError
from streams import LOSSES, Stream, assert_same_bits, bits, cells, make_stream, options

CELLS = list(cells())
EVENTS = 300  # a fold at event 199, a smoothing block every 20 to 80 events, dozens of rebuilds


@functools.cache
def events(loss: object, sparse: bool, lanes: int | None) -> tuple[Stream, list[Stream]]:
    """The stream, and its events one by one (slicing a CSR matrix costs more than learning from it)."""
    stream = make_stream(loss, EVENTS, seed=1, sparse=sparse, lanes=lanes)
    return stream, [stream.part(slice(i, i + 1)) for i in range(EVENTS)]


def set_state(learner: Learner) -> Learner:
    twin = Learner(**learner._options)
    twin.set_state(learner.get_state())
    return twin


COPIES = (
    set_state,
    Learner.copy,
    copy.copy,
    copy.deepcopy,
    lambda learner: pickle.loads(pickle.dumps(learner)),
)


def read_everything(learner: Learner, stream: Stream) -> None:
    for name in ("coef", "smoothed_coef", "intercept", "smoothed_intercept", "dual_sum", "mass", "count", "clock"):
        getattr(learner, name)
    for name in ("effective_sample_size", "saturation", "n_features", "lanes", "window", "smoothing"):
        getattr(learner, name)
    learner.predict(stream.X)
    learner.predict(stream.X, offset=stream.offset, smoothed=False)
    learner.dual_objective()
    learner.objective(stream.X, stream.y, offset=stream.offset, smoothed=True)
    if isinstance(learner.window, Sliding):
        learner.duality_gap()
    learner.copy().learn(stream.X, stream.y, time=stream.time)
    pickle.dumps(learner)
    repr(learner)


def test_every_combination_of_options_is_covered() -> None:
    print(f"{len(CELLS)} cells")
    assert len(CELLS) == 5 * 5 * 4 * 2 * 2
    assert {type(keywords["loss"]) for _, keywords, _ in CELLS} == {type(loss) for loss in LOSSES}
    assert sum("intercept" in keywords for _, keywords, _ in CELLS) > 50
    assert sum("penalty_weights" in keywords for _, keywords, _ in CELLS) > 30


@pytest.mark.parametrize(("keywords", "sparse"), [cell[1:] for cell in CELLS], ids=[cell[0] for cell in CELLS])
def test_any_split_one_at_a_time_and_saving_in_between_give_the_same_bits(keywords: dict, sparse: bool) -> None:
    stream, one_at_a_time = events(keywords["loss"], sparse, keywords.get("lanes"))
    whole, single, split = (Learner(**keywords) for _ in range(3))
    margins = stream.into(whole)

    one_by_one = [event.into(single) for event in one_at_a_time]
    assert_same_bits(whole, single, "one event at a time")
    assert np.concatenate(one_by_one).tobytes() == margins.tobytes()

    rng = np.random.default_rng(2)
    ends = np.unique([0, *rng.integers(0, EVENTS, size=9), EVENTS])
    in_parts = []
    for (start, end), make_copy in zip(itertools.pairwise(ends), itertools.cycle(COPIES), strict=False):
        part = stream.part(slice(start, end))
        in_parts.append(part.into(split))
        read_everything(split, part.part(slice(0, 4)))
        split = make_copy(split)
    assert_same_bits(whole, split, "saved, loaded and read in between")
    assert np.concatenate(in_parts).tobytes() == margins.tobytes()


def test_the_streams_are_long_enough_for_folds_blocks_and_rebuilds() -> None:
    # Otherwise the test above would say little: each of these would never have happened.
    stream = make_stream(SquaredError(), EVENTS, seed=1)
    keywords = options(loss=SquaredError(), penalty=L2(), window=Exponential(0.8), smoothing=0.97)
    decayed = Learner(**keywords)
    stream.into(decayed)
    state = decayed.get_state()
    assert state["scale"][0] > 0.8**EVENTS * 2.0**60, "no fold happened"
    assert state["timeline.now"][0] < EVENTS / 2, "no smoothing block ended"
    sliding = Learner(**options(loss=SquaredError(), penalty=L2(), window=Sliding(15)))
    stream.into(sliding)
    evicted = np.diff(stream.X.indptr)[:-15].sum() + EVENTS - 15
    assert sliding.get_state()["evicted_work"][0] < evicted / 2, "no rebuild happened"


@pytest.mark.parametrize("diagnostics", [False, True])
def test_asking_for_diagnostics_changes_no_bit(diagnostics: bool) -> None:
    stream = make_stream(SquaredError(), 100, seed=3)
    plain, asked = (Learner(**options(loss=SquaredError(), penalty=L2(), smoothing=0.9)) for _ in range(2))
    margins, seen = stream.into(plain), stream.into(asked, diagnostics=diagnostics)
    assert_same_bits(plain, asked)
    assert (seen.margin if diagnostics else seen).tobytes() == margins.tobytes()


def test_a_slightly_different_last_label_gives_a_different_model() -> None:
    # The comparison itself must be able to fail.
    stream = make_stream(SquaredError(), 50, seed=4)
    other = stream.y.copy()
    other[-1] += 1e-13
    one, two = (Learner(**options(loss=SquaredError(), penalty=L2())) for _ in range(2))
    stream.into(one)
    stream.with_(y=other).into(two)
    assert one != two
    assert bits(one) != bits(two)
