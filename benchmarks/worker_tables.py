"""Tables of what several workers do: merging, exact fits across shards, and on Spark."""

from typing import Any

import numpy as np

INTERVALS = (10, 100, 1000)
LOSS = {"hinge": "hinge", "log_loss": "log loss"}


def schemes(rows: list[dict[str, Any]]) -> str:
    """Mean test losses over the seeds, the worst in brackets, by data set, loss, workers and scheme."""
    head = ["data, loss", "workers", "in sequence", "merged at the end"]
    head += [f"{scheme}, every {each:,}" for scheme in ("parts", "naive") for each in INTERVALS]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows:
        found = row["losses"]
        for workers in row["workers"]:
            names = ["in sequence", f"{workers} merged at the end"]
            names += [f"{workers} {scheme} every {each}" for scheme in ("split", "naively") for each in INTERVALS]
            cells = [mean_and_worst(found.get(name)) for name in names]
            lines.append(f"| {row['data']}, {LOSS[row['loss']]} | {workers} | {' | '.join(cells)} |")
    return "\n".join(lines)


def mean_and_worst(losses: list[float] | None) -> str:
    """Nothing if a scheme would not exchange even once."""
    return "" if losses is None else f"{np.mean(losses):.3g} ({max(losses):.3g})"


def megabytes(size: int) -> str:
    """Two digits, or all before the point."""
    return f"{size / 1e6:.2g}" if size < 1e7 else f"{size / 1e6:.0f}"


def rounds(rows: list[dict[str, Any]]) -> str:
    """Rounds and megabytes of exact fits across shards of one process."""
    counts = sorted({row["shards"] for row in rows})
    lines = [f"| | {' | '.join(f'{each} shards' for each in counts)} |", "|---" * (len(counts) + 1) + "|"]
    found = {(row["data"], row["loss"], row["shards"]): row for row in rows}
    for data, loss in dict.fromkeys((row["data"], row["loss"]) for row in rows):
        those = [found[data, loss, each] for each in counts]
        cells = [f"{each['rounds']} rounds, {megabytes(each['bytes'])} MB" for each in those]
        lines.append(f"| {data}, {LOSS[loss]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def on_spark(rows: list[dict[str, Any]]) -> str:
    """Exact fits on Spark, and what MLlib needs for the same objective."""
    head = ["data, loss", "partitions", "rounds", "prototype", "MB", "seconds", "gap", "objective", "of `fit`", "MLlib"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows:
        cells = [
            f"{row['data']}, {LOSS[row['loss']]}",
            f"{row['partitions']}",
            f"{row['rounds']}",
            f"{row['prototype'] or ''}",
            megabytes(row["bytes"]),
            f"{row['seconds']:.0f}",
            f"{row['gap']:.1e}",
            f"{row['objective']:.5f}",
            f"{row['objective_of_fit']:.5f}",
            of_mllib(row),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def of_mllib(row: dict[str, Any]) -> str:
    """The seconds of the first run that came as low, or how low the last one came."""
    if "mllib" not in row:
        return ""
    last = row["mllib"][-1]
    reached = "" if last["objective"] <= row["objective"] else f", only {last['objective']:.5f}"
    return f"{last['iterations']} iterations, {last['seconds']:.0f} s{reached}"
