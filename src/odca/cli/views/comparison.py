"""What has changed between two versions of a model: `odca inspect NEW --since OLD`."""

from typing import TYPE_CHECKING, Any

from odca.cli.views import formatting
from odca.cli.views.console import Fact, Output, PrintedColumn
from odca.cli.views.weights import INTERCEPT, Weights, largest, learner_of, weights_of

if TYPE_CHECKING:
    from odca.validation.arrays import Array

MOST_NEW = 20


def show_changes(model: Any, now: Weights, before: Any, top: int, output: Output) -> None:
    """Show how the weights of a model have changed since an earlier version of it."""
    import numpy as np  # noqa: PLC0415 - after parsing

    if model.kind != before.kind:
        raise ValueError(f"a {model.kind} and a {before.kind} cannot be compared. Name two models of the same kind.")
    then = weights_of(before)
    if (now.names.listed is None) != (then.names.listed is None):
        raise ValueError(
            "the features of one model have names and those of the other do not, so the models cannot be compared."
        )
    new = _new_features(now, then)
    old, old_intercepts = _aligned(then, now)
    change = now.values - old
    norm = float(np.sqrt((old * old).sum()))
    moved = float(np.sqrt((change * change).sum()))
    facts = [
        Fact("events learned since", learner_of(model).count - learner_of(before).count, formatting.count, "events"),
        Fact("l2 norm of the weights before", norm, formatting.decimal, "norm_before"),
        Fact("l2 norm of the change", moved, formatting.decimal, "norm_of_difference"),
        Fact("new features", len(new), formatting.count),
    ]
    if new and now.names.listed is not None:
        shown = [now.names[place] for place in new]
        facts.append(Fact("their names", shown, _listed, "names_of_new_features"))
    output.summary({"changes": facts})
    _show_largest_changes(now, old, old_intercepts, top, output)


def _aligned(then: Weights, now: Weights) -> "tuple[Array, Array]":
    """The old weights and intercepts, in the order of the new ones; zero for those that are new."""
    import numpy as np  # noqa: PLC0415 - after parsing

    values, intercepts = np.zeros_like(now.values), np.zeros_like(now.intercepts)
    places = {name: place for place, name in enumerate(then.outputs)}
    rows = [(row, places[name]) for row, name in enumerate(now.outputs) if name in places]
    known = _known(then, now)
    here = np.flatnonzero(known >= 0)
    for row, old_row in rows:
        values[row, here] = then.values[old_row, known[here]]
        intercepts[row] = then.intercepts[old_row]
    return values, intercepts


def _known(then: Weights, now: Weights) -> Any:
    """The old place of each present feature; -1 for a new one."""
    import numpy as np  # noqa: PLC0415 - after parsing

    width, before = now.values.shape[1], then.values.shape[1]
    if now.names.listed is None or then.names.listed is None:
        return np.where(np.arange(width) < before, np.arange(width), -1)
    places = {name: place for place, name in enumerate(then.names.listed[:before])}
    return np.array([places.get(name, -1) for name in now.names.listed[:width]], dtype=np.intp)


def _new_features(now: Weights, then: Weights) -> list[int]:
    found: list[int] = (_known(then, now) < 0).nonzero()[0].tolist()
    return found


def _show_largest_changes(now: Weights, old: "Array", old_intercepts: "Array", top: int, output: Output) -> None:
    by_class = [PrintedColumn("of", "weight of", 16, is_text=True)] if len(now.outputs) > 1 else []
    numbers = [PrintedColumn(name, name, 12, formatting.decimal) for name in ("before", "now", "change")]
    table = output.table([*by_class, PrintedColumn("feature", "feature", 40, is_text=True), *numbers], "change")
    if top:
        output.gap()
    for row, name in enumerate(now.outputs):
        first = [name] if by_class else []
        before, after = float(old_intercepts[row]), float(now.intercepts[row])
        if top and before != after:
            table.row(*first, INTERCEPT, before, after, after - before)
        for place in largest(now.values[row] - old[row], top):
            before, after = float(old[row, place]), float(now.values[row, place])
            table.row(*first, now.names[place], before, after, after - before)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MOST_NEW]) + (", ..." if len(names) > MOST_NEW else "")
