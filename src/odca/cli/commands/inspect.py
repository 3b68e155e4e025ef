"""`odca inspect`: show a model's settings, its history, and its weights by feature name."""

import argparse
import json
from typing import TYPE_CHECKING, Any

from odca.cli.files import load_any, open_output
from odca.cli.option_types import reads_file, whole_number, writes_file
from odca.cli.shared_options import add_output_option, add_printing_options
from odca.cli.views import formatting
from odca.cli.views.comparison import show_changes
from odca.cli.views.console import Fact, Output, PrintedColumn
from odca.cli.views.drift import drift_facts
from odca.cli.views.metrics import metrics_facts
from odca.cli.views.weights import INTERCEPT, Weights, automatic_report, learner_of, weights_of

if TYPE_CHECKING:
    from odca.learner import Learner
    from odca.metrics import Drift
    from odca.models.auto_report import AutoReport
    from odca.stream.model import StreamModel
    from odca.validation.arrays import Array

EPILOG = """\
The weights are those used for predictions (the smoothed ones, if smoothing is on), in the units of the data; those of an automatic
model are its steady answer's. Products of two features ("a × b") are listed after the features. A model of two classes has one set of weights: positive weights speak for the second class.

examples:
  odca inspect model.safetensors --top 50
  odca inspect model.safetensors --all -o weights.tsv
  odca inspect today.safetensors --since yesterday.safetensors
"""
MOST_COLUMNS = 30
MOST_PRODUCTS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    reads_file(parser.add_argument("model", metavar="MODEL", help="a model file of any kind"))
    parser.add_argument(
        "--top", type=whole_number(0), default=20, metavar="N", help="show the N largest weights (default: 20)"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--all",
        action="store_true",
        help="print only the weights, all that are not zero, separated by tabs (or as JSON)",
    )
    reads_file(
        what.add_argument(
            "--since", metavar="MODEL", help="show what has changed since this earlier version of the model"
        )
    )
    reads_file(
        parser.add_argument(
            "--data",
            nargs="+",
            metavar="FILE",
            help="for a model with hashed features: find the names of the features in these data",
        )
    )
    writes_file(
        parser.add_argument(
            "--plot",
            metavar="FILE",
            help="for an automatic model: plot the weights of its experts over the stream",
        )
    )
    add_output_option(parser, "the weights of --all")
    add_printing_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show the model; return the exit code."""
    arguments.data_on_stdout = arguments.all
    output = Output.of(arguments)
    model = load_any(arguments.model, output)
    report = automatic_report(model)
    if arguments.plot is not None:
        if report is None:
            raise argparse.ArgumentTypeError("argument --plot: needs an automatic model")
        report.plot(arguments.plot)
    weights = weights_of(model)
    if arguments.data is not None:
        _find_names(model, arguments, weights)
    if arguments.all:
        _write(weights, arguments)
    elif arguments.since is not None:
        show_changes(model, weights, load_any(arguments.since, output), arguments.top, output)
    else:
        facts = _facts(model, arguments.model) if report is None else _automatic_facts(model, report, arguments.model)
        drift = _drift(model)
        output.summary(facts | (drift_facts(drift) if drift and output.is_json else {}) | _sizes_of_one(weights))
        if drift:
            output.note(str(drift))
        if report is not None:
            output.note(report.in_words())
        _show_sizes_by_output(weights, output)
        _show_top_weights(weights, arguments.top, output)
    return 0


def _drift(model: Any) -> "Drift | None":
    """What has changed in the stream of a model, if anything has."""
    return model.drift if model.kind == "StreamModel" and model.drift else None


def _automatic_facts(model: Any, report: "AutoReport", path: str) -> dict[str, list[Fact]]:
    """What an automatic model has found out about its stream."""
    sections = {"model": [Fact("file", path), Fact("kind", model.kind)]}
    if model.kind == "StreamModel":
        facts = [*_task(model), Fact("memory measured in", model.options.auto, name="memory")]
        facts += [Fact("events learned", model.learner.count, formatting.count, "events")]
        facts += [Fact("features", model.learner.n_features, formatting.count)]
        sections["model"] += facts
        sections["data"] = _data(model)
        if model.metrics.events:
            sections |= metrics_facts(model, model.metrics, coverage=model.uncertainty.coverage_held())
    titles = {
        "experts, by their weight while labels come in": report.experts,
        "steady model, by the weight of its parts": report.steady,
    }
    for title, weights in titles.items():
        used = {name: share for name, share in weights.items() if share > 0.0}
        ranked = sorted(used.items(), key=lambda each: -each[1])
        sections[title] = [Fact(name, share, formatting.percent) for name, share in ranked]
    if report.products:
        largest = list(report.products.items())[:MOST_PRODUCTS]
        sections["products of features, by how much they move predictions"] = [
            Fact(name, size, "{:.3g}".format) for name, size in largest
        ]
    return sections


def _find_names(model: Any, arguments: argparse.Namespace, weights: Weights) -> None:
    from odca.stream import feature_name  # noqa: PLC0415 - after parsing
    from odca.stream.hashed_names import names_in  # noqa: PLC0415 - after parsing

    if model.kind != "StreamModel":
        raise argparse.ArgumentTypeError(f"argument --data: a {model.kind} does not know how to read data files")
    for place, keys in names_in(arguments.data, model.schema).items():
        weights.names.found[place] = " or ".join(map(feature_name, keys))


# Settings and history


def _facts(model: Any, path: str) -> dict[str, list[Fact]]:
    learner = learner_of(model)
    sections = {"model": _about(model, learner, path), "window": _window(learner)}
    if model.kind == "StreamModel":
        if model.frozen_after:
            events = Fact("frozen after learning events", model.frozen_after, formatting.count, "frozen_after")
            sections["window"][1:2] = [events, Fact("events learned since", learner.count, formatting.count, "events")]
        sections["data"] = _data(model)
        if model.metrics.events:
            sections |= metrics_facts(model, model.metrics, coverage=model.uncertainty.coverage_held())
    return sections


def _about(model: Any, learner: "Learner", path: str) -> list[Fact]:
    options = learner.saved().options
    shown = {"loss": repr, "penalty": repr, "rho": _number, "smoothing": _number, "prior_strength": _number}
    facts = [Fact("file", path), Fact("kind", model.kind)]
    if model.kind == "StreamModel":
        facts += _task(model)
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


def _task(model: "StreamModel") -> list[Fact]:
    from odca.models.options import label_text  # noqa: PLC0415 - after parsing

    classes = [Fact("classes", [label_text(each) for each in model.classes_read], _listed)] if model.classes else []
    return [Fact("task", model.task), *classes]


def _window(learner: "Learner") -> list[Fact]:
    facts = [
        Fact("window", repr(learner.window)),
        Fact("events learned", learner.count, formatting.count, "events"),
        Fact("total weight in the window", _one_or_all(learner.mass), _number, "mass"),
        Fact("effective sample size", _one_or_all(learner.effective_sample_size), _number),
        Fact("saturated share of the weight", _one_or_all(learner.saturation), _number, "saturation"),
    ]
    return facts if learner.clock is None else [*facts, Fact("clock", learner.clock, _number)]


def _data(model: "StreamModel") -> list[Fact]:
    schema = model.schema
    kind = (
        "indices" if schema.has_indices else "names" if schema.has_names else f"hashed to {schema.features.bits} bits"
    )
    facts = [Fact("format", schema.format), Fact("features stored as", kind, name="features")]
    facts += [Fact(role, name) for role, name in schema.as_options()["roles"].items() if name is not None]
    if schema.columns:
        facts.append(Fact("columns", [f"{column.name} ({column.kind})" for column in schema.columns], _listed))
    chosen = {name: value for name, value in schema.features.as_options().items() if value and name != "bits"}
    usual = {"ngrams": 1, "missing": "indicate", "trend": True, "find_dates": True, "history_keys": 100_000}
    facts += [Fact(name, value, _listed) for name, value in chosen.items() if usual.get(name) != value]
    return facts


# Weights


def _sizes_of_one(weights: Weights) -> dict[str, list[Fact]]:
    if len(weights.outputs) > 1:
        return {}
    title = f"weights, of {weights.outputs[0]}" if weights.outputs[0] else "weights"
    return {title: _sizes(weights.values[0], weights.intercepts[0])}


def _show_sizes_by_output(weights: Weights, output: Output) -> None:
    if len(weights.outputs) == 1:
        return
    sizes = [_sizes(values, intercept) for values, intercept in zip(weights.values, weights.intercepts, strict=True)]
    output.gap()
    columns = [PrintedColumn("of", "weights of", 16, is_text=True)]
    columns += [PrintedColumn(fact.key, fact.label, max(10, len(fact.label)), fact.show) for fact in sizes[0]]
    table = output.table(columns, "weights")
    for name, facts in zip(weights.outputs, sizes, strict=True):
        table.row(name, *(fact.value for fact in facts))


def _sizes(values: "Array", intercept: float) -> list[Fact]:
    import numpy as np  # noqa: PLC0415 - after parsing

    size = np.abs(values)
    occupied = int(np.count_nonzero(size))
    return [
        Fact("features", len(size), formatting.count),
        Fact("non-zero", occupied, formatting.count, "not_zero"),
        Fact("share non-zero", occupied / max(len(size), 1), formatting.percent, "share"),
        Fact("l1 norm", float(size.sum()), _number),
        Fact("l2 norm", float(np.sqrt(size @ size)), _number),
        Fact("largest", float(size.max(initial=0.0)), _number),
        Fact("intercept", float(intercept), _number),
    ]


def _show_top_weights(weights: Weights, count: int, output: Output) -> None:
    by_class = [PrintedColumn("of", "weight of", 16, is_text=True)] if len(weights.outputs) > 1 else []
    table = output.table(
        [
            *by_class,
            PrintedColumn("feature", "feature", 40, is_text=True),
            PrintedColumn("weight", "weight", 14, _number),
        ],
        "weight",
    )
    if count:
        output.gap()
    for place, name in enumerate(weights.outputs):
        for feature, weight in (*weights.top(place, count), *weights.top_products(place, count)):
            table.row(*([name] if by_class else []), feature, weight)


def _write(weights: Weights, arguments: argparse.Namespace) -> None:
    import numpy as np  # noqa: PLC0415 - after parsing

    outputs = weights.outputs if len(weights.outputs) > 1 else ("weight",)
    with open_output(arguments.output) as file:

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
        for each in weights.products:
            write(weights.name_of(each), list(each.weights))


# Values


def _one_or_all(values: Any) -> Any:
    """The values of all lanes, or one number if they are equal."""
    import numpy as np  # noqa: PLC0415 - after parsing

    array = np.atleast_1d(values)
    return float(array[0]) if np.all(array == array[0]) else array.tolist()


def _number(value: Any) -> str:
    if isinstance(value, list | tuple):
        return _listed([f"{each:.6g}" for each in value])
    return value if isinstance(value, str) else f"{value:,.6g}"


def _listed(values: Any) -> str:
    if not isinstance(values, list | tuple):
        return str(values)
    shown = [" * ".join(each) if isinstance(each, tuple) else str(each) for each in values[:MOST_COLUMNS]]
    return ", ".join(shown) + (f", ... ({len(values):,})" if len(values) > MOST_COLUMNS else "")


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"
