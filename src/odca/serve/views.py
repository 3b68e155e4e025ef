"""What a client sees of a model: at a glance, described, over time. The objects of docs/serve-api.md."""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from odca.metrics import ColumnChange, Drift, Rise
from odca.models.auto import AutoLearner
from odca.models.auto_report import GROUPS
from odca.models.turns import pinned
from odca.score_names import BASELINES, SCORES
from odca.serve.followed import Link, Progress
from odca.serve.history import MOST_POINTS, SPANS, Point
from odca.serve.hosted import Hosted
from odca.serve.problems import Problem
from odca.serve.spec import columns_of
from odca.serve.state import State
from odca.serve.weights import LARGEST, listed_weights, outputs_of, ranked, weights_of
from odca.stream.model import StreamModel

RECENT = 60.0
"""Seconds; the recent score is that of one to two minutes."""
SCORE = {"classes": ("accuracy", "higher"), "numbers": ("mae", "lower")}
MOST_FIELDS = 200
OPTIONS = ("memory", "products")


def number(value: float | None) -> float | None:
    """A number for JSON, which has no NaN."""
    return None if value is None or not math.isfinite(value) else float(value)


def glance(hosted: Hosted) -> dict[str, Any]:
    """A model at a glance."""
    empty: dict[str, Any] = {
        "name": hosted.name, "state": "loading", "task": None, "mode": None, "events": 0, "position": 0,
        "created": hosted.created, "changed": None, "events_per_second": None, "loss": None, "recent_loss": None,
        "score": None, "pending": 0, "label_delay": None, "alarms": 0, "last_alarm": None, "problem": None,
        "sources": [],
    }  # fmt: skip
    if hosted.writer is None:
        return empty | ({} if hosted.failure is None else {"state": "failed", "problem": hosted.failure})
    writer, state = hosted.writer, hosted.writer.state
    about = empty | {
        "state": "collecting", "events": len(state.first), "position": state.position, "changed": state.clock or None,
        "pending": len(state.pending), "label_delay": _mean(state.delays), "problem": writer.problem,
        "sources": sources(hosted),
    }  # fmt: skip
    if state.model is not None:
        about |= {"state": "ready", **_of_model(pinned(state.model), state)}
    if writer.failure is not None:
        about |= {"state": "failed", "problem": writer.failure}
    return about


def sources(hosted: Hosted) -> list[dict[str, Any]]:
    """The topics that a model follows, or has followed: how far it has read, and how the connection is."""
    with hosted.state.lock:
        read = {name: msgspec.to_builtins(each) for name, each in hosted.state.followed.items()}
    nothing = msgspec.to_builtins(Progress())
    found = []
    for name in sorted({*read, *hosted.links}):
        link = hosted.links.get(name)
        now = msgspec.to_builtins(Link(name, "", "", "not followed") if link is None else link)
        found.append(now | read.get(name, nothing))
    return found


def _of_model(model: StreamModel, state: State) -> dict[str, Any]:
    metrics, drift = model.metrics, model.drift
    recent = _recent(metrics.CURVE, metrics.sums, state)
    alarms = _in_order(drift)
    last = alarms[-1] if alarms else None
    return {
        "task": model.task,
        "mode": "linear" if model.options.auto is None else "automatic",
        "events": metrics.events,
        "events_per_second": recent.get("events_per_second"),
        "loss": number(metrics.scores()["loss"]),
        "recent_loss": recent.get("loss"),
        "score": _score(model, recent),
        "alarms": drift.count + drift.column_count,
        "last_alarm": None if last is None else {**_alarm(last), "time": _when(last.event, state)},
    }


def _in_order(drift: Drift) -> list[Rise | ColumnChange]:
    alarms: list[Rise | ColumnChange] = [*drift.rises, *drift.columns]
    return sorted(alarms, key=lambda each: each.event)


def _alarm(alarm: Rise | ColumnChange) -> dict[str, Any]:
    column = getattr(alarm, "column", None)
    kind = "loss" if column is None else "column"
    return {"kind": kind, "event": alarm.event, "since": alarm.since, "column": column, "text": str(alarm)}


def _when(event: int, state: State) -> float | None:
    """When an event was learned, as far as the history knows: the first point at or after it; now, if none was made since."""
    with state.lock:
        spans = [list(points) for points in state.history.points.values()]
    for points in spans:  # the finest first, which reaches back least
        if points and (points[0].sums[0] < event or len(points) < MOST_POINTS):
            return next((each.clock for each in points if each.sums[0] >= event), state.clock)
    return None


def _score(model: StreamModel, recent: Mapping[str, float | None]) -> dict[str, Any] | None:
    if not model.metrics.events:
        return None
    name, better = SCORE[model.task]
    baselines = {
        each: scores[name]
        for each, scores in model.baselines(model.metrics).items()
        if math.isfinite(scores.get(name, math.nan)) and f"{each}_{name}" in model.metrics.CURVE
    }
    best = (max if better == "higher" else min)(baselines, key=lambda each: baselines[each], default=None)
    return {
        "name": name, "value": number(model.metrics.scores()[name]), "recent": recent.get(name), "better": better,
        "baseline": best, "baseline_value": None if best is None else number(baselines[best]),
        "baseline_recent": None if best is None else recent.get(f"{best}_{name}"),
    }  # fmt: skip


def _recent(names: Sequence[str], sums: Sequence[float], state: State) -> dict[str, float | None]:
    """The means since the point of one to two minutes ago; of a stream that stopped before, only that nothing came."""
    clock = max(state.clock, time.time())
    if state.clock < clock - 2.0 * RECENT:
        return {"events_per_second": 0.0}
    with state.lock:
        points = list(state.history.points["hour"])
    before = next((each for each in reversed(points) if each.clock <= clock - RECENT), points[0] if points else None)
    if before is None or len(before.sums) not in {2, len(sums)}:
        return {}
    then = before.sums if len(before.sums) == len(sums) else (0.0,) * len(sums)
    return _means(names, then, sums, clock - before.clock)


def is_recent(state: State) -> bool:
    """Whether what is recent changes as time goes by."""
    return state.clock >= time.time() - 3.0 * RECENT


def _means(
    names: Sequence[str], before: Sequence[float], now: Sequence[float], seconds: float
) -> dict[str, float | None]:
    events, weight = now[0] - before[0], now[1] - before[1]
    means = {
        name: number((late - early) / weight) if weight > 0.0 else None
        for name, early, late in zip(names[2:], before[2:], now[2:], strict=True)
    }
    return {**means, "events_per_second": number(events / seconds) if seconds > 0.0 else None}


def _mean(values: Sequence[float]) -> float | None:
    some = list(values)
    return sum(some) / len(some) if some else None


# Everything


def describe(hosted: Hosted) -> dict[str, Any]:
    """Everything about a model."""
    state, writer, spec = hosted.state, hosted.writer, hosted.state.spec
    assert writer is not None
    model = None if state.model is None else pinned(state.model)
    snapshot = hosted.folder / "snapshot.safetensors"
    oldest = state.pending.oldest
    about: dict[str, Any] = {
        **glance(hosted),
        "classes": list(spec.classes), "fields": [], "features": 0, "scores": [], "calibration": None, "experts": None,
        "top_weights": [], "outputs": [], "columns": dict(spec.columns), "options": spec.options,
        "drift": {"rises": [], "count": 0, "columns": [], "column_count": 0, "text": ""},
        "roles": {"label": spec.label, "id": spec.id, "weight": spec.weight, "offset": spec.offset, "time": spec.time},
        "baseline_titles": BASELINES,
        "labels": {
            "pending": len(state.pending), "oldest": None if oldest is None else max(state.clock - oldest, 0.0),
            "labelled": state.labelled, "expired": state.pending.expired, "dropped": state.pending.dropped,
            "delay": _mean(state.delays), "max_age": spec.limits.max_pending_age, "max_pending": spec.limits.max_pending,
        },
        "storage": {
            "log_bytes": writer.log.bytes, "snapshot_bytes": snapshot.stat().st_size if snapshot.exists() else 0,
            "snapshot_position": writer.snapshot_position, "snapshot_time": writer.snapshot_time,
            "answers": len(state.answers),
        },
        "collecting": None,
    }  # fmt: skip
    if model is None:
        about["collecting"] = {"events": len(state.first), "needed": spec.needed, "why": state.why}
        return about
    return about | _everything(model, state)


def _everything(model: StreamModel, state: State) -> dict[str, Any]:
    roles = model.schema.roles
    weights, _ = weights_of(model)
    drift = model.drift
    return {
        "classes": list(model.classes_read),
        "roles": {
            "label": roles.label,
            "id": roles.tag,
            "weight": roles.weight,
            "offset": roles.offset,
            "time": roles.time,
        },
        "columns": columns_of(model.schema),
        "fields": fields_of(model),
        "features": model.learner.n_features,
        "scores": _scores(model),
        "drift": {**drift.as_json(), "text": str(drift)},
        "calibration": state.calibration.listed() if model.classes_read else None,
        "experts": _experts(model),
        "top_weights": listed_weights(model, ranked(weights, LARGEST), weights),
        "outputs": outputs_of(model),
    }


def fields_of(model: StreamModel) -> list[str]:
    """The fields of events, as far as they are known."""
    named = [name for name in columns_of(model.schema) if name not in model.schema.roles.by_name()]
    found = dict.fromkeys([*named, *([] if model.columns is None else model.columns.names)])
    return list(found)[:MOST_FIELDS]


def _scores(model: StreamModel) -> list[dict[str, Any]]:
    baselines = model.baselines(model.metrics)
    return [
        {
            "name": name, "title": SCORES[name], "value": number(value),
            "baselines": {each: number(scores[name]) for each, scores in baselines.items() if name in scores},
        }
        for name, value in model.metrics.scores().items()
    ]  # fmt: skip


def _experts(model: StreamModel) -> dict[str, Any] | None:
    if not isinstance(model.learner, AutoLearner):
        return None
    report: Any = model.report()
    return {
        "groups": report.groups, "members": report.experts, "steady": report.steady,
        "products": dict(list(report.products.items())[:LARGEST]), "text": report.in_words(),
    }  # fmt: skip


def weights(hosted: Hosted, limit: int, offset: int, contains: str) -> dict[str, Any]:
    """The weights of the steady answer, largest first."""
    model = _begun(hosted)
    values, intercepts = weights_of(model)
    places = ranked(values, values.shape[1])
    if contains:
        from odca.serve.weights import name_of  # noqa: PLC0415 - names of all features only where they are needed

        names = name_of(model, places)
        places = [place for place, name in zip(places, names, strict=True) if contains in name]
    some = places[offset : offset + limit]
    return {
        "outputs": outputs_of(model), "intercepts": intercepts.tolist(), "features": int(values.shape[1]),
        "found": len(places), "weights": listed_weights(model, some, values),
    }  # fmt: skip


def _begun(hosted: Hosted) -> StreamModel:
    model = hosted.state.model
    if model is None:
        raise Problem("collecting", f"the model {hosted.name} has not begun yet: it collects its first events.")
    view: StreamModel = pinned(model)
    return view


# Over time


def history(hosted: Hosted, span: str, after: float = 0.0) -> dict[str, Any]:
    """How a model went; only the points after a moment."""
    state = hosted.state
    with state.lock:
        points = list(state.history.points[span])
    model = None if state.model is None else pinned(state.model)
    names = ("events", "weight") if model is None else model.metrics.CURVE
    rows = [_row(names, points, place) for place in range(len(points)) if points[place].clock > after]
    shown = [each for each in points if each.clock > after]
    scores = [name for name in names[2:] if name != "loss"]
    largest = list(points[-1].weights) if points else []
    return {
        "span": span,
        "every": SPANS[span],
        "time": [each.clock for each in shown],
        "events": [int(each.sums[0]) for each in shown],
        "events_per_second": [row.get("events_per_second") for row in rows],
        "loss": [row.get("loss") for row in rows],
        "scores": {name: [row.get(name) for row in rows] for name in scores},
        "pending": [each.pending for each in shown],
        "label_delay": [each.delay for each in shown],
        "groups": {name: [_group(each, k) for each in shown] for k, name in enumerate(GROUPS)}
        if _is_automatic(model)
        else {},
        "weights": {name: [each.weights.get(name) for each in shown] for name in largest},
        "alarms": [] if model is None else _alarms(model, points, after),
    }


def _is_automatic(model: StreamModel | None) -> bool:
    return model is not None and isinstance(model.learner, AutoLearner)


def _group(point: Point, place: int) -> float | None:
    return point.groups[place] if place < len(point.groups) else None


def _row(names: Sequence[str], points: Sequence[Point], place: int) -> dict[str, float | None]:
    """The means since the point before."""
    if not place:
        return {}
    width, now, before = len(names), points[place], points[place - 1]
    late = now.sums if len(now.sums) == width else (0.0,) * width
    early = before.sums if len(before.sums) == width else (0.0,) * width
    return _means(names, early, late, now.clock - before.clock)


def _alarms(model: StreamModel, points: Sequence[Point], after: float) -> list[dict[str, Any]]:
    """The alarms within these points, and when they came."""
    found = []
    counts = np.array([each.sums[0] for each in points])
    for alarm in _in_order(model.drift):
        place = int(np.searchsorted(counts, alarm.event))
        if place < len(points) and (place or alarm.event == counts[0]) and points[place].clock > after:
            found.append({"time": points[place].clock, "event": alarm.event, "text": str(alarm)})
    return found


def explain(hosted: Hosted, line: bytes, answer: str) -> dict[str, Any]:
    """The prediction of an event, and what each feature adds to its margin."""
    from odca.serve.explained import explained  # noqa: PLC0415 - it needs SciPy

    return explained(hosted.state, line, answer)
