"""What studies found, as files: report.md, claims.csv, a CSV of every panel's curves."""

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

A claim **holds** if the difference, ours less theirs, lies with its whole 95 % confidence interval where the claim says: on its side of zero, or
within the margin that it names. It **needs smoothing** if that is so for our smoothed weights only, against theirs as they are; rows that compare smoothed with
smoothed stand beside. Else it **does not hold**, also where so few seeds cannot tell. Differences are paired: both sides saw the same events in the same order.

Intervals are over seeds unless a study says otherwise: over orders of the events, given these test rows. Where test errors are compared at the end of a pass, the last
column but one has the wider interval that covers other test rows as well. The paper's figures cannot be seen in its source;
"paper" is the source of what it says in words or equations, "odca" of all else.
"""


def write(studies: Sequence[Study], folder: Path, left_out: Sequence[str] = ()) -> list[Path]:
    """Write all files but the figures; return them. left_out: experiments that could not be done, and why."""
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
    """With three digits that matter."""
    return "" if math.isnan(number) else f"{number:.3g}" if abs(number) < 1000 else f"{number:,.0f}"


def signed(interval: Interval) -> str:
    """A difference and its interval."""
    if interval.is_point:
        return f"{interval.mean:+.3g} (all seeds agree)"
    return f"{interval.mean:+.3g} [{interval.low:+.3g}, {interval.high:+.3g}]"


def _contents(studies: Sequence[Study]) -> str:
    rows = [
        f"| {study.name} | {claim.says} | {claim.source} | {signed(claim.difference)} {claim.unit} | "
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
        claim.says,
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
