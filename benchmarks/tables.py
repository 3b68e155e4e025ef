"""Put the figures of benchmarks/results into README.md and docs/speed.md, so that they cannot disagree.

    python -m benchmarks.tables [--check]

Each table lies between two comments, `<!-- engine: … -->` or `<!-- fit: … -->` and `<!-- end -->`. With --check nothing is written, and the
exit code says whether they are up to date.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "speed.md")
# The README shows the hinge, and log loss beside other libraries: the first rows that a reader asks for, met or not.
IN_SHORT = re.compile(r"hinge(, l2, infinite|, times faster)?$|log(, l2, infinite|, times faster)$|lanes, log$")


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


def short(rows: list[dict[str, Any]]) -> str:
    """Return the rows that are shown first, and how many goals are met in all."""
    with_goal = [row for row in rows if row["goal"]]
    met = sum(bool(row["met"]) for row in with_goal)
    chosen = [row for row in with_goal if IN_SHORT.search(row["work"])]
    return f"{full(chosen)}\n\n{met} of all {len(with_goal)} goals are met."


def noted(rows: list[dict[str, Any]]) -> str:
    """Return every row with its note: the times themselves."""
    lines = ["| problem | against | ratio | of medians | times | met |", "|---|---|---|---|---|---|"]
    for row in rows:
        met = "yes" if row["met"] else "**no**"
        figures = f"{row['ratio']:.2f} | {row['ratio_of_medians']:.2f} | {row['note']}"
        lines.append(f"| {row['work']} | {row['against']} | {figures} | {met} |")
    return "\n".join(lines)


KINDS: dict[str, Callable[[list[dict[str, Any]]], str]] = {"full": full, "short": short, "noted": noted}


def filled(text: str, rows: dict[str, list[dict[str, Any]]]) -> str:
    """Return a page with its tables as the results have them."""
    return re.sub(
        r"(<!-- (engine|fit): (\w+) -->\n).*?(\n<!-- end -->)",
        lambda found: found[1] + KINDS[found[3]](rows[found[2]]) + found[4],
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
        for name in ("engine", "fit")
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
