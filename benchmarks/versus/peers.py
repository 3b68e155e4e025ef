"""What runs in a process of its own for a peer that has no command.

    python -m benchmarks.versus.peers sklearn|river FILE MODEL [--blocks BYTES] [--rows N] [--held FILE]
    python -m benchmarks.versus.peers csv-odca|csv-pyarrow FILE

With --held it prints what its quality is, and is not timed.
"""

import argparse
import itertools
import json
import pickle
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FEATURES = 47_001  # names count from 1, and column 0 stays empty


def sklearn(options: argparse.Namespace) -> dict[str, Any]:
    """`load_svmlight_file` and `partial_fit`: the file at once, or in blocks. In the order of the file, as all others."""
    import numpy as np
    from sklearn.datasets import load_svmlight_file
    from sklearn.linear_model import SGDClassifier

    def load(file: str, **part: int) -> tuple[Any, Any]:
        X, y = load_svmlight_file(file, n_features=FEATURES, zero_based=True, **part)
        # SGDClassifier refuses the 64-bit indices that the loader makes.
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X, y

    def parts() -> Iterator[tuple[Any, Any]]:
        if not options.blocks:
            yield load(options.file)
            return
        for offset in range(0, Path(options.file).stat().st_size, options.blocks):
            # A block ends with the line that crosses its end, and the next one drops that line.
            yield load(options.file, offset=offset, length=options.blocks)

    model = SGDClassifier(loss="log_loss", shuffle=False, random_state=0)
    rows = seen = right = 0
    for X, y in parts():
        if options.held and rows:
            seen, right = seen + len(y), right + int((model.predict(X) == y).sum())
        model.partial_fit(X, y, classes=np.array([-1.0, 1.0]))
        rows += len(y)
    Path(options.model).write_bytes(pickle.dumps(model))
    if not options.held:
        return {"rows": rows}
    held = float(model.score(*load(options.held)))
    return {"rows": rows, "progressive_accuracy": right / seen if seen else None, "held_accuracy": held}


def river(options: argparse.Namespace) -> dict[str, Any]:
    """`iter_libsvm` and `LogisticRegression.learn_one`."""
    from river.linear_model import LogisticRegression
    from river.stream import iter_libsvm

    model = LogisticRegression()
    rows = right = 0
    for x, y in itertools.islice(iter_libsvm(options.file, target_type=int), options.rows):
        if options.held:
            right += model.predict_one(x) == (y > 0)
        model.learn_one(x, y > 0)
        rows += 1
    Path(options.model).write_bytes(pickle.dumps(model))
    if not options.held:
        return {"rows": rows}
    hits = [model.predict_one(x) == (y > 0) for x, y in iter_libsvm(options.held, target_type=int)]
    return {"rows": rows, "progressive_accuracy": right / rows, "held_accuracy": sum(hits) / len(hits)}


def csv_odca(options: argparse.Namespace) -> dict[str, Any]:
    """All blocks of our reader: a matrix and labels each."""
    import odca.stream

    def read() -> tuple[int, float]:
        rows, total = 0, 0.0
        for block in odca.stream.open(options.file, label="y"):
            rows += len(block.y)
            total += float(block.X[-1, 0])
        return rows, total

    return timed(read)


def csv_pyarrow(options: argparse.Namespace) -> dict[str, Any]:
    """All batches of Arrow's streaming reader, on two threads."""
    import pyarrow as pa
    from pyarrow import csv

    pa.set_cpu_count(2)

    def read() -> tuple[int, float]:
        rows, total = 0, 0.0
        for batch in csv.open_csv(options.file):
            rows += batch.num_rows
            total += batch.column(0)[-1].as_py()
        return rows, total

    return timed(read)


def timed(read: Any) -> dict[str, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    rows, _ = read()
    return {"rows": rows, "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


PEERS = {"sklearn": sklearn, "river": river, "csv-odca": csv_odca, "csv-pyarrow": csv_pyarrow}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versus.peers", description=__doc__.split("\n", 1)[0])
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("file")
    parser.add_argument("model", nargs="?")
    parser.add_argument("--blocks", type=int, help="bytes of a block (default: the whole file)")
    parser.add_argument("--rows", type=int, help="how many rows (default: all)")
    parser.add_argument("--held", help="rows to be judged by")
    options = parser.parse_args()
    print(json.dumps(PEERS[options.peer](options)))
