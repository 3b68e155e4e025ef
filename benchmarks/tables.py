"""Put the figures of benchmarks/results into the docs, so that they cannot disagree.

    python -m benchmarks.tables [--check]

Each table lies between two comments, `<!-- results: kind -->` (`engine: full`, `estimators: tuned`, ...) and `<!-- end -->`. With
--check nothing is written, and the exit code says whether they are up to date.
"""

import argparse
import json
import math
import re
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import worker_tables

ROOT = Path(__file__).parent.parent
PAGES = (
    *(
        ROOT / "docs" / f"{name}.md"
        for name in (
            "speed",
            "estimators",
            "quality",
            "auto",
            "intervals",
            "forecasting",
            "drift",
            "text",
            "merging",
            "distributed",
            "spark",
        )
    ),
)
RESULTS = (
    "engine",
    "events",
    "fit",
    "estimators",
    "versus",
    "quality",
    "trees",
    "auto",
    "delays",
    "frozen",
    "shards",
    "classes",
    "intervals",
    "forecasting",
    "before_after",
    "products",
    "robust",
    "losses",
    "ablation",
    "drift",
    "auto_speed",
    "text",
    "merging",
    "distributed",
    "spark_exact",
)


def full(rows: list[dict[str, Any]]) -> str:
    """Return every row."""
    lines = ["| work | against | ratio | of medians | goal | met |", "|---|---|---|---|---|---|"]
    for row in rows:
        met = {True: "yes", False: "**no**", None: ""}[row["met"]]
        goal = row["goal"] or ""
        lines.append(
            f"| {row['work']} | {row['against']} | {row['ratio']:.2f} | {row['ratio_of_medians']:.2f} | {goal} | {met} |"
        )
    return "\n".join(lines)


def noted(rows: list[dict[str, Any]]) -> str:
    """Return every row with its note: the times themselves."""
    lines = ["| problem | against | ratio | of medians | times | met |", "|---|---|---|---|---|---|"]
    for row in rows:
        met = "yes" if row["met"] else "**no**"
        figures = f"{row['ratio']:.2f} | {row['ratio_of_medians']:.2f} | {row['note']}"
        lines.append(f"| {row['work']} | {row['against']} | {figures} | {met} |")
    return "\n".join(lines)


def goals(rows: list[dict[str, Any]]) -> str:
    """Return the rows that compare, of results that have others too."""
    return full([row for row in rows if row["part"] == "goals"])


def times(rows: list[dict[str, Any]]) -> str:
    """Return who took how long for what file, how much memory, and how well it learned."""
    head = ("file", "who", "best, s", "median, s", "CPU, s", "peak MB", "accuracy, progressive", "after")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows:
        if row["part"] != "times" or "failure" in row:
            continue
        seconds, quality = row["seconds"], row["quality"]
        shares = [quality.get(name) for name in ("progressive_accuracy", "held_accuracy")]
        cells = [f"{seconds[name]:.2f}" for name in ("best", "median", "best_cpu")] + [f"{row['memory_mb']:.0f}"]
        cells += ["" if share is None else f"{100 * share:.1f}" for share in shares]
        lines.append(f"| {row['file']} | {row['who']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def by_set(
    rows: list[dict[str, Any]], key: Callable[[dict[str, Any]], str], cell: Callable[[dict[str, Any]], str]
) -> str:
    """Return one line for each key, one column for each set."""
    sets = list(dict.fromkeys(row["set"] for row in rows))
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        cells.setdefault(key(row), {})[row["set"]] = cell(row)
    lines = [f"| | {' | '.join(sets)} |", "|---" * (len(sets) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(found.get(each, '') for each in sets)} |" for name, found in cells.items()]
    return "\n".join(lines)


def scores(part: str) -> Callable[[list[dict[str, Any]]], str]:
    """Accuracies in percent, R² as it is: the mean, and the standard deviation where there are several."""

    def cell(row: dict[str, Any]) -> str:
        factor, digits = (1.0, 3) if row["set"] == "bike" else (100.0, 1)
        values = [factor * value for value in row["scores"]]
        if min(values) < -1.0:
            return "diverges"
        spread = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
        return f"{statistics.mean(values):.{digits}f}{spread}{'' if row['converged'] else ' †'}"

    return lambda rows: by_set([row for row in rows if row["part"] == part], lambda row: row["who"], cell)


def calibration(rows: list[dict[str, Any]]) -> str:
    """ECE of the margins as log-odds, ECE and log loss of `predict_proba`."""

    def cell(row: dict[str, Any]) -> str:
        after, loss = (f"{statistics.mean(row[name]):.3f}" for name in ("after", "log loss"))
        before = f"{statistics.mean(row['before']):.3f} → " if row["before"] else ""
        return f"{before}{after} ({loss})"

    return by_set([row for row in rows if row["part"] == "calibration"], lambda row: row["who"], cell)


def options(rows: list[dict[str, Any]]) -> str:
    """Accuracy (R²) and progressive loss with one option changed."""

    def cell(row: dict[str, Any]) -> str:
        if row["set"] == "bike":
            return f"{row['score']:.3f} / {row['progressive']:.1f}"
        return f"{100.0 * row['score']:.1f} / {row['progressive']:.3f}"

    def key(row: dict[str, Any]) -> str:
        return "all defaults" if row["option"] == "default" else f"{row['option']}={row['value']!r}"

    return by_set([row for row in rows if row["part"] == "options"], key, cell)


def by_stream(
    score: str, show: Callable[[float], str], *, best: Callable[..., float] = min
) -> Callable[[list[dict[str, Any]]], str]:
    """One line for each stream, one column for each method that has such a score somewhere; the best of a line is bold."""

    def lines(rows: list[dict[str, Any]]) -> str:
        own = [row for row in rows if score in row]
        tasks, scored = {row["task"] for row in own}, {row["method"] for row in own if row[score] is not None}
        taking_part = dict.fromkeys(row["method"] for row in rows if row["task"] in tasks)
        methods = [method for method in taking_part if method in scored]
        out = [f"| | {' | '.join(methods)} |", "|---" * (len(methods) + 1) + "|"]
        for stream in dict.fromkeys(row["stream"] for row in own):
            of_stream = {row["method"]: row[score] for row in own if row["stream"] == stream}
            winner = show(best(value for value in of_stream.values() if value is not None))
            cells = [cell(method, of_stream) for method in methods]
            out.append(f"| {stream} | {' | '.join(f'**{each}**' if each == winner else each for each in cells)} |")
        return "\n".join(out)

    def cell(method: str, of_stream: dict[str, float | None]) -> str:
        value = of_stream.get(method)
        if value is not None:
            return show(value)
        return "diverges" if method in of_stream and score != "log_loss" else ""

    return lines


def beside_vw(rows: list[dict[str, Any]]) -> str:
    """The automatic estimators beside VW's settings and the best of the other libraries, each stream's best in bold."""
    head = ("stream", "Auto", "VW", "VW --coin", "VW, best of 6", "SGD, best of 4", "river", "no change")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for stream in dict.fromkeys(row["stream"] for row in rows):
        own = [row for row in rows if row["stream"] == stream]
        score = "squared_error" if own[0]["task"] == "number" else "log_loss"
        known = {row["method"]: row[score] for row in own if row.get(score) is not None}

        def best(prefix: str, known: dict[str, float] = known) -> float | None:
            return min((value for name, value in known.items() if name.startswith(prefix)), default=None)

        plain = best("no change") if best("no change") is not None else best("last value")
        cells = [best("Auto"), known["VW"], known["VW --coin"], best("VW"), best("SGD"), best("river"), plain]
        winner = min(cell for cell in cells if cell is not None)
        shown = ["" if cell is None else "diverges" if cell > 1e6 * winner else f"{cell:,.4g}" for cell in cells]
        shown[cells.index(winner)] = f"**{shown[cells.index(winner)]}**"
        lines.append(f"| {stream} | {' | '.join(shown)} |")
    return "\n".join(lines)


def beside_trees(rows: list[dict[str, Any]]) -> str:
    """The automatic estimators beside others that see products of columns: losses, errors, and times for an event."""
    groups = ("Auto", "VW", "river HAT", "river ARF", "river AMF", "river SRP")
    names = ("Auto", "VW -q ::, best of 6", "HAT", "ARF", "AMF", "SRP")
    timed = {"Auto": "Auto", "HAT": "river HAT", "ARF": "river ARF", "AMF": "river AMF", "SRP": "river SRP"}
    of_times = ("µs for an event, Auto", *list(timed)[1:])
    head = ("stream", *names, "error of Auto", "least of the others", *of_times)
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for stream in dict.fromkeys(row["stream"] for row in rows):
        own = [row for row in rows if row["stream"] == stream]
        is_number = own[0]["task"] == "number"

        def least(group: str, score: str, own: list[dict[str, Any]] = own) -> float:
            of_group = (row.get(score) for row in own if row["method"].startswith(group))
            return min((value for value in of_group if value is not None), default=math.inf)

        losses = [least(group, "squared_error" if is_number else "log_loss") for group in groups]
        errors = [least(group, "absolute_error" if is_number else "error") for group in groups]
        shown = ["" if value == math.inf else f"{value:,.4g}" for value in losses]
        shown[losses.index(min(losses))] = f"**{shown[losses.index(min(losses))]}**"
        other = min(range(1, len(errors)), key=errors.__getitem__)
        of_both = [f"{each:,.3g}" if is_number else f"{each:.2%}" for each in (errors[0], errors[other])]
        shown += [of_both[0], f"{of_both[1]} ({names[other].partition(',')[0]})"]
        times = (least(group, "microseconds") for group in timed.values())
        shown += ["" if each == math.inf else f"{each:,.0f}" for each in times]
        lines.append(f"| {stream} | {' | '.join(shown)} |")
    return "\n".join(lines)


def drift(rows: list[dict[str, Any]]) -> str:
    """How soon the automatic mode is back after a turn."""
    head = ("turn", "back after", "best window", "back after", "ratio", "to its level", "fastest window")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows:
        if row["part"] == "drift":
            numbers = [
                row["events_until_back"],
                row["its_events"],
                row["events_to_its_level"],
                row["fastest_window_to_that_level"],
            ]
            back, its, level, fastest = (f"{number:,.0f}" for number in numbers)
            lines.append(
                f"| {row['turn']} | {back} | {row['best_window']} | {its} | {row['ratio']:.2f} | {level} | {fastest} |"
            )
    return "\n".join(lines)


def experts(rows: list[dict[str, Any]]) -> str:
    """The automatic mode beside the best of its experts."""
    lines = ["| stream | loss | best expert | its loss | ratio |", "|---|---|---|---|---|"]
    lines += [
        f"| {row['stream']} | {row['loss']:.4g} | {row['best_expert']} | {row['its_loss']:.4g} | {row['ratio']:.3f} |"
        for row in rows
        if row["part"] == "experts"
    ]
    return "\n".join(lines)


def appearing(rows: list[dict[str, Any]]) -> str:
    """Classes that appear beside classes that were declared."""
    lines = ["| stream | classes | declared | appearing | ratio |", "|---|---|---|---|---|"]
    lines += [
        f"| {row['stream']} | {row['classes']} | {row['declared']:.4f} | {row['appearing']:.4f} | {row['ratio']:.3f} |"
        for row in rows
        if row["part"] == "appearing"
    ]
    return "\n".join(lines)


def late(rows: list[dict[str, Any]]) -> str:
    """Losses by how late labels come, beside the steady answer and beside mixers that judge by the present."""
    delays = sorted({row["delay"] for row in rows})
    head = ["stream", "loss at once", "÷ steady"]
    for delay in delays[1:]:
        head += [f"{delay:,} late", "÷ steady", "not kept ÷ steady"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for stream in dict.fromkeys(row["stream"] for row in rows):
        found = {row["delay"]: row for row in rows if row["stream"] == stream}
        cells = [stream]
        for delay in delays:
            row, width = found.get(delay), 3 if delay else 2
            cells += (
                [f"{row['loss']:,.4g}", f"{row['ratio']:.3f}", f"{row['not_kept_ratio']:.3f}"][:width]
                if row
                else [""] * width
            )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


DETECTORS = ("odca", "ADWIN", "Page-Hinkley")


def changes_noticed(rows: list[dict[str, Any]]) -> str:
    """By made stream and detector: in how many streams the change was noticed, how late, and the false alarms."""
    heads = [f"{each}: {what}" for each in DETECTORS for what in ("noticed", "delay", "false alarms")]
    lines = [f"| stream | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for row in (row for row in rows if row["kind"] == "made"):
        cells = [row["stream"]]
        for found in (row[each] for each in DETECTORS):
            noticed = f"{found['noticed']} of {row['seeds']}" if row["at"] else ""
            cells += [noticed, "" if found["delay"] is None else f"{found['delay']:,.0f}", f"{found['false_alarms']:,}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def alarms_shuffled(rows: list[dict[str, Any]]) -> str:
    """By real stream and detector: the alarms in its order, and shuffled."""
    heads = [f"{each}{what}" for each in DETECTORS for what in ("", ", shuffled")]
    lines = [f"| stream | events | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
    for row in (row for row in rows if row["kind"] == "development"):
        cells = [f"{row[each][what]:,}" for each in DETECTORS for what in ("alarms", "shuffled")]
        lines.append(f"| {row['stream']} | {row['events']:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def columns_noticed(rows: list[dict[str, Any]]) -> str:
    """By made change of a column: how often it was noticed, how late, and the false alarms."""
    lines = ["| change | noticed | delay | false alarms |", "|---|---|---|---|"]
    for row in (row for row in rows if row["kind"] == "columns"):
        noticed = "" if row["noticed"] is None else f"{row['noticed']} of {row['seeds']}"
        delay = "" if row["delay"] is None else f"{row['delay']:,.0f}"
        lines.append(f"| {row['stream']} | {noticed} | {delay} | {row['false_alarms']} |")
    return "\n".join(lines)


def without_labels(rows: list[dict[str, Any]]) -> str:
    """Losses after the labels have stopped, and those of the steady answer relative to the better of VW's."""
    who = list(rows[0]["losses"])
    lines = [f"| stream | {' | '.join(who)} | steady ÷ VW |", "|---" * (len(who) + 2) + "|"]
    for row in rows:
        losses = ("diverges" if row["losses"][each] is None else f"{row['losses'][each]:,.4g}" for each in who)
        lines.append(f"| {row['stream']} | {' | '.join(losses)} | {row['to_vw']:.3f} |")
    return "\n".join(lines)


def merged(rows: list[dict[str, Any]]) -> str:
    """Losses of merged models, and of the best of the shards, relative to one model that learned everything."""
    shards = [each for each in rows[0]["losses"] if each != "1"]
    head = ["stream", "one model", *(title for each in shards for title in (f"{each} shards, merged", "best alone"))]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows:
        one = row["losses"]["1"]
        cells = [f"{row[of][each] / one:.3f}" for each in shards for of in ("losses", "alone")]
        lines.append(f"| {row['stream']} | {one:,.4g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def one_step_ahead(rows: list[dict[str, Any]]) -> str:
    """Mean absolute errors and roots of mean squared ones, the smallest of each stream in bold."""
    streams = list(dict.fromkeys(row["stream"] for row in rows))
    found = {(row["method"], row["stream"]): row for row in rows}
    least = {(s, k): min(row[k] for row in rows if row["stream"] == s) for s in streams for k in ("mae", "rmse")}
    head = ["method", *(f"{stream}, {of}" for stream in streams for of in ("MAE", "RMSE"))]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for method in dict.fromkeys(row["method"] for row in rows):
        cells = []
        for (stream, kind), best in least.items():
            value = found[method, stream][kind]
            cells.append(f"**{value:.3g}**" if value == best else f"{value:.3g}")
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def raw_text(rows: list[dict[str, Any]]) -> str:
    """Shares of right answers, log losses and times, the best of each in bold."""
    shares, losses = ("progressive_accuracy", "accuracy"), ("progressive_log_loss", "log_loss")
    best = {key: max(row[key] for row in rows if row[key] is not None) for key in shares}
    best |= {key: min(row[key] for row in rows if row[key] is not None) for key in losses}

    def cell(row: dict[str, Any], key: str) -> str:
        if row[key] is None:
            return ""
        shown = f"{row[key]:.1%}".replace("%", " %") if key in shares else f"{row[key]:.3f}"
        return f"**{shown}**" if row[key] == best[key] else shown

    head = ["method", "progressive accuracy", "progressive log loss", "held-out accuracy", "held-out log loss", "time"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows:
        cells = [cell(row, key) for pair in zip(shares, losses, strict=True) for key in pair]
        lines.append(f"| {row['method']} | {' | '.join(cells)} | {row['seconds']:.0f} s |")
    return "\n".join(lines)


def by_products(rows: list[dict[str, Any]]) -> str:
    """Losses with and without products relative to those of before, and times; tables first, with the mean of their ratios."""
    head = (
        "stream",
        "before",
        "÷ before, without products",
        "with products",
        "µs for an event without",
        "with",
        "ratio",
    )
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    tables = [row for row in rows if row["table"]]
    ratios = {name: [row["losses"][name] / row["losses"]["before"] for row in tables] for name in ("without", "with")}
    for row in (*tables, None, *(row for row in rows if not row["table"])):
        if row is None:
            means = (f"{statistics.mean(each):.3f}" for each in ratios.values())
            lines.append(f"| *mean of these tables* | | {' | '.join(means)} | | | |")
            continue
        losses, times = row["losses"], row["microseconds"]
        cells = [
            f"{losses['before']:,.4g}",
            *(f"{losses[name] / losses['before']:.3f}" for name in ("without", "with")),
        ]
        cells += [f"{times['without']:.2f}", f"{times['with']:.2f}", f"{times['with'] / times['without']:.2f}"]
        lines.append(f"| {row['stream']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def before_and_after(kind: str, unit: str, factor: float) -> Callable[[list[dict[str, Any]]], str]:
    """Return a table of what one build takes beside another, in a unit that is 1/factor of what was measured."""

    def lines_of(rows: list[dict[str, Any]]) -> str:
        lines = [f"| {unit} | before | after | ratio |", "|---|---|---|---|"]
        for row in rows:
            if row["kind"] == kind:
                cells = (f"{factor * row[who]:,.{0 if kind == 'memory' else 2}f}" for who in ("before", "after"))
                lines.append(f"| {row['work']} | {' | '.join(cells)} | {row['ratio']:.2f} |")
        return "\n".join(lines)

    return lines_of


def _of_levels(rows: list[dict[str, Any]], head: list[str], cells: Callable[[dict[str, Any], str], list[str]]) -> str:
    """A line for each stream; the cells of 90 %, then of 50 % and 99 %."""
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows:
        name = row["stream"] if row["group"] == "development" else f"*{row['stream']}*"
        lines.append(f"| {' | '.join([name, *cells(row, '0.9'), *cells(row, '0.5'), *cells(row, '0.99')])} |")
    return "\n".join(lines)


def _held(found: dict[str, Any]) -> list[str]:
    least, most = found["windows"]
    return [f"{100 * found['coverage']:.1f}", f"{100 * least:.1f} … {100 * most:.1f}"]


def coverage(rows: list[dict[str, Any]]) -> str:
    """In short: what intervals and sets of 90 % held, of the automatic mode and of a linear model, and their size."""
    lines = [
        "| stream | held | least … most | size ÷ best fixed | linear model: held | least … most |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        found, (least, most) = row["levels"]["0.9"], row["linear"]["blocks"]
        cells = [*_held(found), f"{found['size'] / found['best_fixed']:.2f}", f"{100 * row['linear']['coverage']:.1f}"]
        if row["group"] == "development":
            lines.append(f"| {row['stream']} | {' | '.join(cells)} | {100 * least:.1f} … {100 * most:.1f} |")
    return "\n".join(lines)


def widths(rows: list[dict[str, Any]]) -> str:
    """Coverage and widths of intervals."""
    head = ["stream"]
    for level in ("90", "50", "99"):
        head += [f"{level} %: held", "least … most", "width ÷ best fixed", "labels stop"]
    return _of_levels(
        [row for row in rows if row["task"] == "number"],
        head,
        lambda row, level: [
            *_held(row["levels"][level]),
            f"{row['levels'][level]['size'] / row['levels'][level]['best_fixed']:.2f}",
            f"{100 * row['labels_stop'][level]:.1f}",
        ],
    )


def sets(rows: list[dict[str, Any]]) -> str:
    """Coverage and sizes of sets."""
    head = ["stream"]
    for level in ("90", "50", "99"):
        head += [f"{level} %: held", "least … most", "size (best fixed)", "labels stop"]
    return _of_levels(
        [row for row in rows if row["task"] != "number"],
        head,
        lambda row, level: [
            *_held(row["levels"][level]),
            f"{row['levels'][level]['size']:.2f} ({row['levels'][level]['best_fixed']:.2f})",
            f"{100 * row['labels_stop'][level]:.1f}",
        ],
    )


def by_loss(rows: list[dict[str, Any]]) -> str:
    """The losses of every method, by stream and loss."""
    names = list(dict.fromkeys(name for row in rows for name in row["losses"]))
    lines = [f"| stream | loss | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for row in rows:
        cells = [f"{row['losses'][name]:.4g}" if name in row["losses"] else "" for name in names]
        lines.append(f"| {row['stream']} | {row['loss']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def loss_times(rows: list[dict[str, Any]]) -> str:
    """What an event costs with each loss, relative to squared error."""
    of_streams: dict[str, dict[str, float]] = {}
    for row in rows:
        if "microseconds" in row:
            of_streams.setdefault(row["stream"], {"squared error": row["microseconds"]["squared"]})
            of_streams[row["stream"]][row["loss"]] = row["microseconds"]["auto"]
    names = list(dict.fromkeys(name for times in of_streams.values() for name in times))
    lines = [f"| stream | µs for an event, {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for stream, times in of_streams.items():
        cells = [f"{times[names[0]]:.2f}"]
        cells += [f"{times[name] / times[names[0]]:.2f} ×" if name in times else "" for name in names[1:]]
        lines.append(f"| {stream} | {' | '.join(cells)} |")
    return "\n".join(lines)


def parts(rows: list[dict[str, Any]]) -> str:
    """What the automatic mode is without each of its parts, and what the part costs."""
    head = ("without", "mean", "largest", "smallest", "steady answer, mean", "largest", "smallest")
    costs = ("time of tables", "of sparse rows", "bytes for a feature", "elec2", "letter")
    lines = [f"| {' | '.join((*head, *costs))} |", "|---" * (len(head) + len(costs)) + "|"]
    for row in rows:
        found = row["summary"]
        cells = []
        for what in ("loss", "steady"):
            ends = [
                f"{ratio:.3f} {stream}" if abs(ratio - 1.0) > 5e-4 else ""
                for stream, ratio in (found[what]["most"], found[what]["least"])
            ]
            cells += [f"{found[what]['mean']:.4f}", *ends]
        cells += [f"{round(100.0 * (ratio - 1.0)):+d} %" for ratio in found["time"].values()]
        cells += [f"{round(count):,}" for count in found["bytes"].values()]
        lines.append(f"| {row['part']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def choices(rows: list[dict[str, Any]]) -> str:
    """On which streams the choices inside each part were made."""
    lines = ["| part | its choices were made on |", "|---|---|"]
    return "\n".join([*lines, *(f"| {row['part']} | {row['chosen_on']} |" for row in rows)])


def ece(rows: list[dict[str, Any]]) -> str:
    """Calibration errors of everybody."""
    known = [row for row in rows if "ece" in row]
    who = list(dict.fromkeys(name for row in known for name in row["ece"]))
    lines = [f"| stream | {' | '.join(who)} |", "|---" * (len(who) + 1) + "|"]
    for row in known:
        best = min(row["ece"].values())
        cells = [
            f"**{row['ece'][name]:.4f}**" if row["ece"][name] == best else f"{row['ece'][name]:.4f}" for name in who
        ]
        lines.append(f"| {row['stream']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def share_explained(r2: float) -> str:
    """R², where it is worth its digits."""
    return f"{round(r2, 3) + 0.0:.3f}" if r2 > -1.0 else "< -1"  # no -0.000


def harmed(part: str, figures: str, *of: str) -> Callable[[list[dict[str, Any]]], str]:
    """Return a part of what wild labels and generated streams cost, by method."""

    def lines(rows: list[dict[str, Any]]) -> str:
        some = [row for row in rows if row["part"] == part]
        names = list(some[0][figures])
        head = [*of, *names]
        out = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        for row in some:
            cells = [*(row[name] for name in of), *(f"{row[figures][name]:.4g}" for name in names)]
            out.append(f"| {' | '.join(cells)} |")
        return "\n".join(out)

    return lines


KINDS: dict[str, Callable[[list[dict[str, Any]]], str]] = {
    "full": full,
    "beside_vw": beside_vw,
    "beside_trees": beside_trees,
    "drift": drift,
    "changes_noticed": changes_noticed,
    "alarms_shuffled": alarms_shuffled,
    "columns_noticed": columns_noticed,
    "experts": experts,
    "appearing": appearing,
    "late": late,
    "merged": merged,
    "schemes": worker_tables.schemes,
    "rounds": worker_tables.rounds,
    "on_spark": worker_tables.on_spark,
    "one_step_ahead": one_step_ahead,
    "raw_text": raw_text,
    "by_products": by_products,
    "wild_labels": harmed("wild", "ratios", "stream", "harm"),
    "generated": harmed("generated", "losses", "stream"),
    "by_loss": by_loss,
    "loss_times": loss_times,
    "parts": parts,
    "choices": choices,
    "without_labels": without_labels,
    "event_times": before_and_after("time", "µs for an event", 1e6),
    "feature_memory": before_and_after("memory", "bytes for a feature", 1.0),
    "coverage": coverage,
    "widths": widths,
    "sets": sets,
    "ece": ece,
    "noted": noted,
    "goals": goals,
    "times": times,
    "defaults": scores("defaults"),
    "tuned": scores("tuned"),
    "calibration": calibration,
    "options": options,
    "log_loss": by_stream("log_loss", "{:.3f}".format),
    "error": by_stream("error", "{:.1%}".format),
    "r2": by_stream("r2", share_explained, best=max),
    "absolute_error": by_stream("absolute_error", "{:.3g}".format),
}


def filled(text: str, rows: dict[str, list[dict[str, Any]]]) -> str:
    """Return a page with its tables as the results have them."""
    return re.sub(
        rf"(<!-- ({'|'.join(RESULTS)}): (\w+) -->\n).*?((?<=\n)<!-- end -->)",
        lambda found: f"{found[1]}{KINDS[found[3]](rows[found[2]])}\n{found[4]}",
        text,
        flags=re.DOTALL,
    )


def main() -> None:
    """Fill in the tables, or check them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is not up to date")
    check = parser.parse_args().check
    rows = {
        name: json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))["rows"]
        for name in RESULTS
    }
    stale = []
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = filled(before, rows)
        if after != before:
            stale.append(page.name)
            if not check:
                page.write_text(after, encoding="utf-8")
    if check and stale:
        sys.exit(f"not up to date: {', '.join(stale)}. Run `python -m benchmarks.tables`.")


if __name__ == "__main__":
    main()
