"""The results of studies as files: report.md, claims.csv, and a CSV file with the curves of each panel."""

import csv
import math
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from odca import __version__
from odca.research.experiments.intervals import Interval
from odca.research.experiments.study import Claim, Panel, Study

HEAD = """\
# The paper's experiments, reproduced and extended

Written by `odca reproduce` (odca {version}, Python {python}, NumPy {numpy}). The same seeds give the same numbers.

A claim **holds** if the whole 95 % confidence interval of the difference (ours minus theirs) is where the claim says: on the claimed side of zero, or
within the stated margin. It **needs smoothing** if that is true only of our smoothed weights, compared with theirs unsmoothed; other rows compare smoothed
with smoothed. Otherwise it **does not hold**, which includes differences that are too uncertain with so few seeds. Differences are paired: both sides saw the
same events in the same order.

Unless a study says otherwise, intervals are over seeds, that is, over orders of the events, for fixed test rows. For test errors at the end of a pass, the
column before the verdict has a wider interval that allows for other test rows as well. The source of a claim is "paper" if the paper states it in words or
equations (its figures are not part of its source text), and "odca" otherwise.
"""


def write(studies: Sequence[Study], folder: Path, left_out: Sequence[str] = ()) -> list[Path]:
    """Write all files except the figures; return them. left_out: experiments that could not be run, and why."""
    paths = [folder / "report.md", folder / "claims.csv"]
    head = HEAD.format(version=__version__, python=platform.python_version(), numpy=np.__version__)
    missing = [
        f"**Left out**: {each}\n" for each in (*left_out, *(each for study in studies for each in study.left_out))
    ]
    paths[0].write_text("\n".join([head, *missing, _contents(studies), *map(_section, studies)]), encoding="utf-8")
    _write_rows(
        paths[1],
        [
            *("study", "claim", "source", "verdict", "unit", "good", "margin"),
            *(f"{name}{part}" for name in ("difference", "smoothed", "wider") for part in ("", " low", " high")),
        ],
        ([study.name, *_claim_cells(claim)] for study in studies for claim in study.claims),
    )
    for study in studies:
        for panel in study.panels:
            paths.append(folder / f"{panel.name}.csv")
            _write_rows(paths[-1], ["line", panel.x_label, panel.y_label, "low", "high"], _points(panel))
    return paths


def shown(number: float) -> str:
    """A number with three significant digits."""
    return "" if math.isnan(number) else f"{number:.3g}" if abs(number) < 1000 else f"{number:,.0f}"


def signed(interval: Interval) -> str:
    """A difference and its interval."""
    if interval.is_point:
        return f"{interval.mean:+.3g} (all seeds agree)"
    return f"{interval.mean:+.3g} [{interval.low:+.3g}, {interval.high:+.3g}]"


def _contents(studies: Sequence[Study]) -> str:
    rows = [
        f"| {study.name} | {claim.statement} | {claim.source} | {signed(claim.difference)} {claim.unit} | "
        f"{signed(claim.smoothed) if claim.smoothed else ''} | {signed(claim.wider) if claim.wider else ''} | **{claim.verdict}** |"
        for study in studies
        for claim in study.claims
    ]
    return "\n".join(
        [
            "| study | claim | claimed by | difference [95 %] | smoothed | with other test rows | verdict |",
            "|---|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _section(study: Study) -> str:
    seeds = f"seeds {', '.join(map(str, study.seeds))}" if study.seeds else "one history"
    lines = [
        f"## {study.title}",
        "",
        f"![{study.title}]({study.name}.png)",
        "",
        f"Data: {study.data}",
        "",
        f"Seeds: {seeds}.",
        "",
    ]
    lines += [f"- {key}: {value}" for key, value in study.parameters.items()]
    lines += ["", f"| | {' | '.join(study.columns)} |", "|---" * (len(study.columns) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(map(_cell, cells))} |" for name, cells in study.results.items()]
    lines += ["", *study.notes, *([""] if study.notes else [])]
    lines += [f"Curves: {', '.join(f'[{panel.name}.csv]({panel.name}.csv)' for panel in study.panels)}.", ""]
    return "\n".join(lines)


def _cell(value: Interval | float) -> str:
    if isinstance(value, Interval) and value.is_point:
        return f"{shown(value.mean)} (all seeds agree)"
    if isinstance(value, Interval):
        return f"{shown(value.mean)} [{shown(value.low)}, {shown(value.high)}]"
    return shown(value)


def _claim_cells(claim: Claim) -> list[object]:
    nothing = Interval(*[float("nan")] * 3)
    spreads = [claim.difference, claim.smoothed or nothing, claim.wider or nothing]
    return [
        claim.statement,
        claim.source,
        claim.verdict,
        claim.unit,
        claim.good,
        claim.margin,
        *(number for each in spreads for number in (each.mean, each.low, each.high)),
    ]


def _points(panel: Panel) -> Iterator[list[object]]:
    for line in panel.lines:
        nothing = np.full(len(line.x), np.nan)
        low = nothing if line.low is None else line.low
        high = nothing if line.high is None else line.high
        for x, y, least, most in zip(line.x, line.y, low, high, strict=True):
            yield [line.label, float(x), float(y), float(least), float(most)]


def _write_rows(path: Path, header: Sequence[str], rows: Iterator[list[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for row in rows:
            writer.writerow(["" if isinstance(each, float) and math.isnan(each) else each for each in row])
