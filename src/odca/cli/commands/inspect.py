"""`odca inspect`: what a model is, what it has seen, and its weights by name."""

import argparse
import json
from typing import TYPE_CHECKING, Any

from odca.cli.files import add_output, load_any, writing
from odca.cli.learner_options import takes_file, whole_number
from odca.cli.views import formatting
from odca.cli.views.comparison import tell_changes
from odca.cli.views.console import Column, Fact, Output
from odca.cli.views.metrics import metrics_facts
from odca.cli.views.weights import INTERCEPT, Weights, automatic_report, learner_of, weights_of

if TYPE_CHECKING:
    from odca.learner import Learner
    from odca.models.auto_report import AutoReport
    from odca.stream.model import StreamModel
    from odca.validation.arrays import Array

NAME = "inspect"
SUMMARY = "tell what a model is, what it has seen, and its weights by name"
EPILOG = """\
Weights are those that predictions use (the smoothed ones, where there are any), in the units of the data. Two classes share one
row of weights: they speak for the second.

examples:
  odca inspect model.safetensors --top 50
  odca inspect model.safetensors --all -o weights.tsv
  odca inspect today.safetensors --since yesterday.safetensors
"""
MOST_COLUMNS = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    takes_file(parser.add_argument("model", metavar="MODEL", help="a model file of any kind"))
    parser.add_argument(
        "--top", type=whole_number(0), default=20, metavar="N", help="the N largest weights (default: 20)"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--all", action="store_true", help="only the weights, all that are not zero, with tabs in between (or as JSON)"
    )
    takes_file(what.add_argument("--since", metavar="MODEL", help="tell what has changed since it was this model"))
    takes_file(
        parser.add_argument(
            "--data", nargs="+", metavar="FILE", help="of a model with hashed features: find their names in these data"
        )
    )
    takes_file(
        parser.add_argument(
            "--plot", metavar="FILE", help="of a model of --auto: what carried the weight over the stream, as a picture"
        )
    )
    add_output(parser, "the weights of --all")
    parser.add_argument("--json", action="store_true", help="tell everything as JSON, an object per line")


def run(arguments: argparse.Namespace) -> int:
    """Do it; return the exit code."""
    arguments.data_on_stdout = arguments.all
    output = Output.of(arguments)
    model = load_any(arguments.model, output)
    if (report := automatic_report(model)) is not None:
        return _tell_automatic(model, report, arguments, output)
    if arguments.plot is not None:
        raise argparse.ArgumentTypeError("argument --plot: only an automatic model has something to plot")
    weights = weights_of(model)
    if arguments.data is not None:
        _find_names(model, arguments, weights)
    if arguments.all:
        _write(weights, arguments)
    elif arguments.since is not None:
        tell_changes(model, weights, load_any(arguments.since, output), arguments.top, output)
    else:
        output.summary(_facts(model, arguments.model) | _sizes_of_one(weights))
        _tell_sizes_of_several(weights, output)
        _tell_top(weights, arguments.top, output)
    return 0


def _tell_automatic(model: Any, report: "AutoReport", arguments: argparse.Namespace, output: Output) -> int:
    """What an automatic model found out about its stream. It has no weights of its own: it is a mixture."""
    if arguments.all or arguments.since is not None or arguments.data is not None:
        raise argparse.ArgumentTypeError("an automatic model is a mixture of many, and has no weights to list")
    sections = {"model": [Fact("file", arguments.model), Fact("kind", model.kind)]}
    if model.kind == "StreamModel":
        facts = [Fact("task", model.task), Fact("memories count in", model.options.auto, name="memory")]
        facts += [Fact("events learned", model.learner.count, formatting.count, "events")]
        facts += [Fact("features", model.learner.n_features, formatting.count)]
        sections["model"] += facts
        sections["data"] = _data(model)
        if model.metrics.events:
            sections |= metrics_facts(model, model.metrics)
    lanes = [
        Fact(name, share, formatting.percent) for name, share in sorted(report.lanes.items(), key=lambda each: -each[1])
    ]
    output.summary({**sections, "what carries the weight": lanes})
    output.note(report.in_words())
    if arguments.plot is not None:
        report.plot(arguments.plot)
    return 0


def _find_names(model: Any, arguments: argparse.Namespace, weights: Weights) -> None:
    from odca.stream import feature_name  # noqa: PLC0415 - after parsing
    from odca.stream.hashed_names import names_in  # noqa: PLC0415 - after parsing

    if model.kind != "StreamModel":
        raise argparse.ArgumentTypeError(f"argument --data: a {model.kind} does not know how data are read")
    for place, keys in names_in(arguments.data, model.schema).items():
        weights.names.found[place] = " or ".join(map(feature_name, keys))


# What it is


def _facts(model: Any, path: str) -> dict[str, list[Fact]]:
    learner = learner_of(model)
    sections = {"model": _about(model, learner, path), "window": _window(learner)}
    if model.kind == "StreamModel":
        sections["data"] = _data(model)
        if model.metrics.events:
            sections |= metrics_facts(model, model.metrics)
    return sections


def _about(model: Any, learner: "Learner", path: str) -> list[Fact]:
    options = learner.saved().options
    shown = {"loss": repr, "penalty": repr, "rho": _number, "smoothing": _number, "prior_strength": _number}
    facts = [Fact("file", path), Fact("kind", model.kind)]
    if model.kind == "StreamModel":
        facts.append(Fact("task", model.task))
        if model.classes:
            from odca.models.options import show  # noqa: PLC0415 - after parsing

            facts.append(Fact("classes", [show(each) for each in model.classes], _listed))
    facts += [
        Fact(
            name.replace("_", " "),
            repr(options[name]) if show is repr else options[name],
            str if show is repr else show,
        )
        for name, show in shown.items()
    ]
    facts += [Fact(name, bool(options[name]), _yes_or_no) for name in ("intercept", "scale")]
    return facts


def _window(learner: "Learner") -> list[Fact]:
    facts = [
        Fact("window", repr(learner.window)),
        Fact("events learned", learner.count, formatting.count, "events"),
        Fact("their mass in the window", _one_or_all(learner.mass), _number, "mass"),
        Fact("effective sample size", _one_or_all(learner.effective_sample_size), _number),
        Fact("saturated share of it", _one_or_all(learner.saturation), _number, "saturation"),
    ]
    return facts if learner.clock is None else [*facts, Fact("clock", learner.clock, _number)]


def _data(model: "StreamModel") -> list[Fact]:
    schema = model.schema
    kind = (
        "indices" if schema.has_indices else "names" if schema.has_names else f"hashed to {schema.features.bits} bits"
    )
    facts = [Fact("format", schema.format), Fact("features are", kind, name="features")]
    facts += [Fact(role, name) for role, name in schema.as_options()["roles"].items() if name is not None]
    if schema.columns:
        facts.append(Fact("columns", [f"{column.name} ({column.kind})" for column in schema.columns], _listed))
    chosen = {name: value for name, value in schema.features.as_options().items() if value and name != "bits"}
    usual = {"ngrams": 1, "missing": "indicate"}
    facts += [Fact(name, value, _listed) for name, value in chosen.items() if usual.get(name) != value]
    return facts


# Its weights


def _sizes_of_one(weights: Weights) -> dict[str, list[Fact]]:
    if len(weights.outputs) > 1:
        return {}
    title = f"weights, of {weights.outputs[0]}" if weights.outputs[0] else "weights"
    return {title: _sizes(weights.values[0], weights.intercepts[0])}


def _tell_sizes_of_several(weights: Weights, output: Output) -> None:
    if len(weights.outputs) == 1:
        return
    sizes = [_sizes(values, intercept) for values, intercept in zip(weights.values, weights.intercepts, strict=True)]
    output.gap()
    columns = [Column("of", "weights of", 16, is_text=True)]
    columns += [Column(fact.key, fact.label, max(10, len(fact.label)), fact.show) for fact in sizes[0]]
    table = output.table(columns, "weights")
    for name, facts in zip(weights.outputs, sizes, strict=True):
        table.row(name, *(fact.value for fact in facts))


def _sizes(values: "Array", intercept: float) -> list[Fact]:
    import numpy as np  # noqa: PLC0415 - after parsing

    size = np.abs(values)
    occupied = int(np.count_nonzero(size))
    return [
        Fact("features", len(size), formatting.count),
        Fact("not zero", occupied, formatting.count),
        Fact("share", occupied / max(len(size), 1), formatting.percent),
        Fact("l1 norm", float(size.sum()), _number),
        Fact("l2 norm", float(np.sqrt(size @ size)), _number),
        Fact("largest", float(size.max(initial=0.0)), _number),
        Fact("intercept", float(intercept), _number),
    ]


def _tell_top(weights: Weights, count: int, output: Output) -> None:
    by_class = [Column("of", "weight of", 16, is_text=True)] if len(weights.outputs) > 1 else []
    table = output.table(
        [*by_class, Column("feature", "feature", 40, is_text=True), Column("weight", "weight", 14, _number)], "weight"
    )
    if count:
        output.gap()
    for place, name in enumerate(weights.outputs):
        for feature, weight in weights.top(place, count):
            table.row(*([name] if by_class else []), feature, weight)


def _write(weights: Weights, arguments: argparse.Namespace) -> None:
    import numpy as np  # noqa: PLC0415 - after parsing

    outputs = weights.outputs if len(weights.outputs) > 1 else ("weight",)
    with writing(arguments.output) as file:

        def write(feature: str, values: list[float]) -> None:
            if arguments.json:
                file.write(
                    json.dumps({"feature": feature, **dict(zip(outputs, values, strict=True))}, ensure_ascii=False)
                    + "\n"
                )
            else:
                file.write("\t".join([feature, *map(repr, values)]) + "\n")

        if not arguments.json:
            file.write("\t".join(["feature", *outputs]) + "\n")
        write(INTERCEPT, weights.intercepts.tolist())
        for place in np.flatnonzero(weights.values.any(axis=0)).tolist():
            write(weights.names[place], weights.values[:, place].tolist())


# Values


def _one_or_all(values: Any) -> Any:
    """What lanes have; once, if it is the same for all."""
    import numpy as np  # noqa: PLC0415 - after parsing

    array = np.atleast_1d(values)
    return float(array[0]) if np.all(array == array[0]) else array.tolist()


def _number(value: Any) -> str:
    return _listed([f"{each:.6g}" for each in value]) if isinstance(value, list | tuple) else f"{value:,.6g}"


def _listed(values: Any) -> str:
    if not isinstance(values, list | tuple):
        return str(values)
    shown = [" * ".join(each) if isinstance(each, tuple) else str(each) for each in values[:MOST_COLUMNS]]
    return ", ".join(shown) + (f", ... ({len(values):,})" if len(values) > MOST_COLUMNS else "")


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"
