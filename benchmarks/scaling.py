"""What an event costs as everything around it grows: the stream, the row, the features ever seen.

    python -m benchmarks.scaling [--quick]

Times are CPU times of the learning thread. The loss is the squared error, under which every event moves the model,
so that every event is the same work.
"""

import argparse
import gc
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.data import Stream
from benchmarks.report import (
    RESULTS,
    Timing,
    compare,
    describe_machine,
    log,
    show_machine,
    table,
    time_interleaved,
    time_once,
    verdict,
    write_json,
)
from odca import Exponential, Learner, Sliding, SquaredError

OPTIONS: dict[str, dict[str, Any]] = {
    "infinite": {},
    "exponential(0.9999)": {"window": Exponential(0.9999)},
    "exponential(0.9)": {"window": Exponential(0.9)},
    "sliding(100)": {"window": Sliding(100)},
    "sliding(1000)": {"window": Sliding(1000)},
    "smoothing κ = 0.999": {"smoothing": 0.999},
}
MODES = ("infinite", "exponential(0.9999)", "sliding(1000)", "smoothing κ = 0.999")
# A window whose rows fit into the caches whatever their size.
MODES_BY_NONZEROS = ("infinite", "exponential(0.9999)", "sliding(100)", "smoothing κ = 0.999")
# One that forgets so fast that S = g·v is folded often.
MODES_BY_FEATURES = (*MODES, "exponential(0.9)")
FLAT = 1.25  # within this factor a cost counts as not growing
STRAIGHT = 0.15  # within this share of a line, times count as lying on it
MEMORY_GROWTH = 2.0  # MiB that may come between 10⁵ events and the end: the allocator's noise


def new_learner(mode: str) -> Learner:
    return Learner(loss=SquaredError(), rho=1e-4, **OPTIONS[mode])


def cpu_time(work: Callable[[], object]) -> float:
    started = time.thread_time()
    work()
    return time.thread_time() - started


def resident() -> float:
    """This process's memory in MiB."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


def power(n: int) -> str:
    return "10" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(len(str(n)) - 1))


# The number of events

# Events per call; large beside the model and its window. A smaller call keeps an undo log, whose memory may or may not
# be returned to the system after every call: the page faults, not the age, then decide the time. See the rows per call.
CHUNK = 5000
YOUNG = 10_000  # events that a young learner has seen


def measure_events(decades: Sequence[int]) -> dict[str, Any]:
    """Time per event after each decade of one long stream, beside a young learner on the same events."""
    log("events ...")
    stream = Stream(features=1000, nonzeros=10)
    learners = {mode: new_learner(mode) for mode in MODES}
    found: dict[str, Any] = {"events": list(decades), "nanoseconds": {}, "growth": {}, "resident_mib": []}
    for end in decades:
        while learners["infinite"].count < end:
            X, y = stream.take(CHUNK)
            for learner in learners.values():
                learner.learn(X, y)
        found["resident_mib"].append(resident())
        for mode, learner in learners.items():
            nanoseconds, growth = compare_with_fresh(learner.copy(), new_learner(mode), stream)
            found["nanoseconds"].setdefault(mode, []).append(nanoseconds)
            found["growth"].setdefault(mode, []).append(growth)
        log(f"  {end} events")
    return found


def compare_with_fresh(old: Learner, young: Learner, stream: Stream, chunks: int = 20) -> tuple[float, float]:
    """What an event costs the old learner, in ns, and how many times what it costs the young one (of medians)."""
    young.learn(*stream.take(YOUNG))
    times: dict[int, list[float]] = {0: [], 1: []}
    for turn in range(chunks):
        X, y = stream.take(CHUNK)
        for which in (turn % 2, 1 - turn % 2):  # the first to read a chunk pays for bringing it into the cache
            learner = (old, young)[which]
            times[which].append(cpu_time(lambda learner=learner, X=X, y=y: learner.learn(X, y)))
    ratio = statistics.median(times[0]) / statistics.median(times[1])
    return 1e9 * min(times[0]) / CHUNK, ratio


def show_events(found: dict[str, Any]) -> str:
    ends = [power(end) for end in found["events"]]
    lines = []
    for mode, times in found["nanoseconds"].items():
        growth = found["growth"][mode]
        lines.append([mode, *(f"{t:.0f} ({g:.2f})" for t, g in zip(times, growth, strict=True))])
        lines[-1].append(verdict(max(growth) <= FLAT))
    memory = found["resident_mib"]
    found["memory_growth_mib"] = memory[-1] - memory[1]
    steady = verdict(found["memory_growth_mib"] <= MEMORY_GROWTH)
    lines.append(["resident memory, MiB", *(f"{m:.1f}" for m in memory), steady])
    return table(["ns per event (times a young learner's)", *ends, "flat?"], lines)


# The non-zeros of a row

NARROW = 3000  # features: their weights stay in the fastest cache, so that time is work and not distance


def measure_nonzeros(counts: Sequence[int], rounds: int, work: int = 1_000_000) -> dict[str, Any]:
    """Time per event against the row's size; the features stay the same in number."""
    log("non-zeros ...")
    contenders: dict[str, Any] = {}
    rows = {count: work // count for count in counts}
    for count in counts:
        X, y = Stream(features=NARROW, nonzeros=count).take(rows[count])
        for mode in MODES_BY_NONZEROS:
            learner = new_learner(mode)
            contenders[f"{mode} {count}"] = lambda learner=learner, X=X, y=y: lambda: learner.learn(X, y)
    timings = time_interleaved(contenders, rounds)
    return {
        "nonzeros": list(counts),
        "nanoseconds": {
            mode: [1e9 * min(timings[f"{mode} {count}"].cpu) / rows[count] for count in counts]
            for mode in MODES_BY_NONZEROS
        },
    }


def show_nonzeros(found: dict[str, Any]) -> str:
    counts = np.array(found["nonzeros"], dtype=float)
    lines = []
    for mode, times in found["nanoseconds"].items():
        t = np.array(times)
        # The least squares of relative errors, so that short rows count as much as long ones.
        (base, each), *_ = np.linalg.lstsq(np.stack([1.0 / t, counts / t], axis=1), np.ones(len(t)), rcond=None)
        off = float(np.max(np.abs((base + each * counts) / t - 1.0)))
        found.setdefault("line", {})[mode] = {"base": base, "per_nonzero": each, "largest_deviation": off}
        line = f"{base:.0f} + {each:.2f} n"
        lines.append([mode, *(f"{x:.0f}" for x in times), line, f"{off:.0%}", verdict(off <= STRAIGHT)])
    header = ["ns per event, non-zeros n =", *(str(n) for n in found["nonzeros"]), "line", "furthest", "straight?"]
    return table(header, lines)


# The rows of a call


def measure_calls(sizes: Sequence[int], rounds: int, rows: int = 50_000) -> dict[str, Any]:
    """Time per event against the rows that come in one call; the rows are cut beforehand."""
    log("rows per call ...")
    X, y = Stream(features=10_000, nonzeros=50).take(rows)
    contenders: dict[str, Any] = {}
    events: dict[int, int] = {}
    for size in sizes:
        parts = [(X[i : i + size], y[i : i + size]) for i in range(0, min(rows, 1000 * size), size)]
        events[size] = sum(len(labels) for _, labels in parts)
        for mode in MODES:
            learner = new_learner(mode)
            learner.learn(X, y)
            contenders[f"{mode} {size}"] = lambda learner=learner, parts=parts: (
                lambda: [learner.learn(*part) for part in parts]
            )
    timings = time_interleaved(contenders, rounds)
    return {
        "rows": list(sizes),
        "nanoseconds": {
            mode: [1e9 * min(timings[f"{mode} {size}"].cpu) / events[size] for size in sizes] for mode in MODES
        },
    }


def show_calls(found: dict[str, Any]) -> str:
    lines = [[mode, *(f"{t:.0f}" for t in times)] for mode, times in found["nanoseconds"].items()]
    return table(["ns per event, rows per call", *(str(size) for size in found["rows"])], lines)


# The features ever seen

ROW = 20  # non-zeros
HOT = 1000  # features that the timed events touch
PATIENCE = 6.0  # seconds, for a cost that does grow


def measure_features(widths: Sequence[int]) -> dict[str, Any]:
    """Time per event on the same few features, in a model that has seen ever more others."""
    log("features ...")
    found: dict[str, Any] = {"features": list(widths), "row": ROW, "nanoseconds": {}, "growth": {}, "pause_ms": {}}
    for width in widths:
        for mode in MODES_BY_FEATURES:
            costs, pause = compare_with_small(width, mode)
            found["pause_ms"].setdefault(mode, []).append(pause)
            for how, (nanoseconds, growth) in costs.items():
                found["nanoseconds"].setdefault(f"{mode}, {how}", []).append(nanoseconds)
                found["growth"].setdefault(f"{mode}, {how}", []).append(growth)
        log(f"  {width} features")
    return found


def compare_with_small(width: int, mode: str) -> tuple[dict[str, tuple[float, float]], float]:
    """What an event costs a model that has seen `width` features, beside one that has seen no more than the event's.

    By kind of call: ns, and times the small model's. Last, the longest pause in ms. The events are enough for two of
    the O(features) tidyings that smoothing and sliding windows do once in a while: the cost of a batch is amortised.
    """
    learners, rows = [], []
    for features in (width, HOT):
        learners.append(new_learner(mode))
        touch_all_features(learners[-1], features)
        rows.append(Stream(features=HOT, nonzeros=ROW, width=features).take(20_000))
    large, small = learners
    count = rows[0][0].shape[0]
    times: list[tuple[float, float]] = []
    for _ in range(max(200_000, 8 * width // ROW + count) // count):
        times.append((cpu_time(lambda: large.learn(*rows[0])), cpu_time(lambda: small.learn(*rows[1]))))
        if sum(spent for spent, _ in times) > PATIENCE:
            break
    spent, beside = (np.array(column) for column in zip(*times, strict=True))
    costs = {"batch": (1e9 * spent.mean() / count, spent.sum() / beside.sum())}
    if mode in {"infinite", "smoothing κ = 0.999"}:
        events = [[(X[i : i + 1], y[i : i + 1]) for i in range(1000)] for X, y in rows]
        costs["one learn call per event"] = per_call(large.learn, small.learn, *events)
        costs["one predict call per event"] = per_call(
            lambda row, _: large.predict(row), lambda row, _: small.predict(row), *events
        )
    return costs, 1e3 * float(spent.max() - np.median(spent))


def touch_all_features(learner: Learner, width: int, size: int = 1000, most: int = 1_000_000) -> None:
    """Learn events that together touch every feature once."""
    for begin in range(0, width, most):
        count = min(most, width - begin)
        indices = np.arange(begin, begin + count, dtype=np.int32)
        starts = np.arange(0, count + 1, size, dtype=np.int32)
        rows = len(starts) - 1
        X = csr_array((np.full(count, size**-0.5), indices, starts), shape=(rows, width))
        learner.learn(X, np.where(np.arange(rows) % 2, 1.0, -1.0))


def per_call(
    large: Callable[..., object], small: Callable[..., object], wide: list[Any], narrow: list[Any]
) -> tuple[float, float]:
    """What a call costs the large model, in ns, and times the small one's: medians over blocks of 20 calls.

    As many blocks as fit into half a second.
    """
    for call, events in ((large, wide), (small, narrow)):
        call(*events[0])
    blocks: list[tuple[float, float]] = []
    begun = time.perf_counter()
    for begin in range(0, len(wide), 20):
        part = slice(begin, begin + 20)
        blocks.append(
            (
                cpu_time(lambda part=part: [large(*event) for event in wide[part]]),
                cpu_time(lambda part=part: [small(*event) for event in narrow[part]]),
            )
        )
        if time.perf_counter() - begun > 0.5:
            break
    return 1e9 * statistics.median(a for a, _ in blocks) / 20, statistics.median(a / b for a, b in blocks)


def show_features(found: dict[str, Any]) -> str:
    lines = []
    for what, times in found["nanoseconds"].items():
        growth = found["growth"][what]
        lines.append([what, *(f"{show_time(t)} ({g:.2f})" for t, g in zip(times, growth, strict=True))])
        lines[-1].append(verdict(max(growth) <= FLAT))
    for mode in ("sliding(1000)", "smoothing κ = 0.999"):
        pauses = [f"{p:.1f}" for p in found["pause_ms"][mode]]
        lines.append([f"{mode}, longest pause, ms", *pauses, verdict(None)])
    widths = map(power, found["features"])
    return table(["ns per event (times a small model's), features ever seen", *widths, "flat?"], lines)


def show_time(nanoseconds: float) -> str:
    return f"{nanoseconds:.0f}" if nanoseconds < 1e6 else f"{nanoseconds:.1e}"


def measure_spread(widths: Sequence[int], rounds: int) -> dict[str, Any]:
    """Time of a pass over rows that touch all features alike, against X @ w on the same rows.

    The memory behind the weights outgrows the caches here; X @ w pays for that as well.
    """
    log("features, all in use ...")
    contenders: dict[str, Any] = {}
    count = 50_000
    for width in widths:
        X, y = Stream(features=width, nonzeros=ROW).take(count)
        w = np.ones(width)
        contenders[f"X @ w {width}"] = lambda X=X, w=w: lambda: X @ w
        for mode in ("infinite", "smoothing κ = 0.999"):
            learner = new_learner(mode)
            contenders[f"{mode} {width}"] = lambda learner=learner, X=X, y=y: lambda: learner.learn(X, y)
    timings = time_interleaved(contenders, rounds)

    def series(name: str) -> list[Timing]:
        return [timings[f"{name} {width}"] for width in widths]

    names = ("X @ w", "infinite", "smoothing κ = 0.999")
    return {
        "features": list(widths),
        "nanoseconds": {name: [1e9 * min(t.cpu) / count for t in series(name)] for name in names},
        "ratio": {
            name: [compare(t, product)[2] for t, product in zip(series(name), series("X @ w"), strict=True)]
            for name in names[1:]
        },
    }


def show_spread(found: dict[str, Any]) -> str:
    lines = [[name, *(f"{t:.0f}" for t in times)] for name, times in found["nanoseconds"].items()]
    lines += [[f"{name} / X @ w", *(f"{r:.2f}" for r in ratios)] for name, ratios in found["ratio"].items()]
    return table(["ns per event, features all in use", *map(power, found["features"])], lines)


def plot(found: dict[str, Any]) -> Path | None:
    """Three pictures of the same tables, where matplotlib is installed."""
    try:
        import matplotlib as mpl
    except ImportError:
        return None
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(15, 4.5))
    panels = [("events", "events", "events so far"), ("nonzeros", "nonzeros", "non-zeros per row")]
    panels += [("features", "features", "features ever seen")]
    for axis, (part, key, label) in zip(axes, panels, strict=True):
        for name, times in found[part]["nanoseconds"].items():
            axis.loglog(found[part][key], times, marker="o", label=name)
        axis.set_xlabel(label)
        axis.set_ylabel("ns per event")
        axis.set_ylim(bottom=10)
        axis.legend(fontsize="x-small")
        axis.grid(alpha=0.3)
    figure.tight_layout()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "scaling.png"
    figure.savefig(path, dpi=110)
    return path


def main() -> None:
    """Run everything, print the tables, write the JSON and the picture."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="one decade less everywhere, fewer rounds")
    parser.add_argument("--rounds", type=int, default=5, help="where times are the best of several (default: 5)")
    options = parser.parse_args()
    decades = [10**k for k in range(4, 7 if options.quick else 8)]
    widths = [10**k for k in range(3, 7 if options.quick else 8)]
    rounds = 2 if options.quick else options.rounds

    machine = describe_machine()
    found: dict[str, Any] = {}
    seconds, _ = time_once(
        lambda: found.update(
            events=measure_events(decades),
            nonzeros=measure_nonzeros((10, 30, 100, 300, 1000), 4 * rounds),
            calls=measure_calls((1, 10, 100, 1000, 10_000, 50_000), rounds),
            features=measure_features(widths),
            spread=measure_spread(widths, rounds),
        )
    )
    print(show_machine(machine))
    print("CPU time of the learning thread; squared error, l2, ρ = 1e-4\n")
    print(f"10 non-zeros of 1,000 features; a young learner has seen {YOUNG} events\n{show_events(found['events'])}\n")
    print(f"{NARROW} features; best of {4 * rounds}\n{show_nonzeros(found['nonzeros'])}\n")
    print(f"50 non-zeros of 10,000 features; best of {rounds}\n{show_calls(found['calls'])}\n")
    print(f"{ROW} non-zeros of the same {HOT} features; amortised\n{show_features(found['features'])}\n")
    print(f"{ROW} non-zeros of all features; best of {rounds}\n{show_spread(found['spread'])}")
    written = write_json("scaling", {"machine": machine, "seconds": seconds, **found})
    picture = plot(found)
    also = f" and {os.path.relpath(picture)}" if picture else ""
    log(f"took {seconds:.0f} s; wrote {os.path.relpath(written)}{also}")


if __name__ == "__main__":
    main()
