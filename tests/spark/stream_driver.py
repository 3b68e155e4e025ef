"""A driver that learns from a folder of files, in a process of its own, and may be killed or lose an executor on the way.

stream_driver.py MASTER FOLDER CHECKPOINT RESULT [kill-driver N | kill-executor MARKER]

kill-driver N: after the model of batch N is saved, before Spark records that the batch is done.
kill-executor MARKER: the first task that reads the file named late.parquet kills its executor, unless the file MARKER exists.
"""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent))
from conftest import new_session

OPTIONS: dict[str, Any] = {"label": "label", "keep": ["size", "kind", "words"], "classes": [0, 1], "partitions": 2}


def learning(spark: Any, folder: str, checkpoint: str, **more: Any) -> Any:
    from odca.spark import learn_stream

    schema = spark.read.parquet(folder).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(folder)
    if marker := more.pop("kill_executor", None):
        stream = stream.mapInArrow(_kills_its_executor(marker), schema)
    return learn_stream(stream, checkpoint=checkpoint, trigger={"availableNow": True}, **OPTIONS, **more)


def _kills_its_executor(marker: str) -> Any:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not Path(marker).exists():
                Path(marker).touch()
                daemon = os.getppid()
                executor = int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
                os.kill(executor, signal.SIGKILL)
            yield batch

    return task


def main() -> None:
    master, folder, checkpoint, result, *how = sys.argv[1:]
    more: dict[str, Any] = {}
    if how[:1] == ["kill-driver"]:
        last = int(how[1])
        more["on_batch"] = lambda report: os.kill(os.getpid(), signal.SIGKILL) if report.batch == last else None
    if how[:1] == ["kill-executor"]:
        more["kill_executor"] = how[1]
    spark = new_session(master)
    found = learning(spark, folder, checkpoint, **more)
    found.query.awaitTermination()
    found.model.save(result)
    spark.stop()


if __name__ == "__main__":
    main()
