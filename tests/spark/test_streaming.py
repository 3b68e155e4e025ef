"""Streams: every event is learned exactly once, whatever crashes."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import odca

sys.path.insert(0, str(Path(__file__).parent))
from stream_driver import learning

from conftest import COLUMNS, made_rows

BATCHES, ROWS = 4, 400
NOON = 1_700_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that come one after another."""
    path = tmp_path_factory.mktemp("arriving")
    names = [column.split()[0] for column in COLUMNS.split(", ")]
    for number in range(BATCHES):
        rows = made_rows(ROWS, seed=number)
        file = path / f"{number}.parquet"
        pq.write_table(pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))), file)
        os.utime(file, (NOON + number, NOON + number))  # Spark reads files in the order of their times
    return path


def copied(file: Path, to: Path) -> None:
    """A copy that has the time of the file."""
    shutil.copy2(file, to / file.name)


@pytest.fixture(scope="module")
def uninterrupted(spark: Any, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    found = learning(spark, str(folder), str(tmp_path_factory.mktemp("uninterrupted")))
    found.query.awaitTermination()
    return found


def everything(model: Any) -> bytes:
    from odca.spark.parts import to_bytes

    return to_bytes(model)


def test_each_micro_batch_is_scored_and_learned(uninterrupted: Any, folder: Path) -> None:
    reports = list(uninterrupted.reports)
    assert [report.batch for report in reports] == [0, 1, 2, 3]
    assert [report.events for report in reports] == [ROWS] * BATCHES
    assert [report.total for report in reports] == [ROWS * (number + 1) for number in range(BATCHES)]
    assert reports[0].scores["accuracy"] < 0.7 < reports[-1].scores["accuracy"]
    model = uninterrupted.model
    assert model.learner.count == model.metrics.events == ROWS * BATCHES
    assert np.isclose(model.metrics.accuracy, np.mean([report.scores["accuracy"] for report in reports]))


def test_the_listener_adds_the_scores_to_sparks_own_progress(uninterrupted: Any) -> None:
    known = {each["batchId"]: each for each in uninterrupted.progress}
    assert {*known} >= {0, 1, 2}  # Spark reports when it likes
    assert known[1]["numInputRows"] == ROWS
    assert known[1]["odca"]["events"] == ROWS
    assert known[1]["odca"]["scores"] == uninterrupted.reports[1].scores


def test_scores_are_those_of_the_model_from_before_the_batch(spark: Any, uninterrupted: Any, folder: Path) -> None:
    from odca.spark.streaming import learned_batch

    after, scores = learned_batch(spark.read.parquet(str(folder / "3.parquet")), uninterrupted.model)
    from odca.stream.evaluation import Evaluation

    evaluation = Evaluation(uninterrupted.model, answer="live")
    for block in uninterrupted.model.blocks_of(pq.read_table(folder / "3.parquet")):
        evaluation.add(block)
    assert scores.scores() == evaluation.metrics.scores()
    assert after.learner.count == ROWS * (BATCHES + 1)


def test_a_batch_that_comes_again_is_skipped(spark: Any, uninterrupted: Any, folder: Path) -> None:
    before = everything(uninterrupted.model)
    uninterrupted.learn_batch(spark.read.parquet(str(folder / "3.parquet")), 3)
    assert everything(uninterrupted.model) == before


def test_the_files_are_ordinary_models_and_few_are_kept(uninterrupted: Any) -> None:
    names = sorted(Path(uninterrupted._checkpoint).glob("models/*/*.safetensors"))
    assert [name.stem for name in names] == ["000000000002", "000000000003"]
    assert everything(odca.load(names[-1])) == everything(uninterrupted.model)


def test_a_query_that_was_stopped_goes_on(spark: Any, uninterrupted: Any, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(BATCHES):
        if number == 2:
            first = learning(spark, str(tmp_path / "in"), str(tmp_path / "state"))
            first.query.awaitTermination()
            assert first.model.learner.count == 2 * ROWS
        copied(folder / f"{number}.parquet", tmp_path / "in")
    second = learning(spark, str(tmp_path / "in"), str(tmp_path / "state"))
    second.query.awaitTermination()
    assert [report.batch for report in second.reports] == [2, 3]
    assert everything(second.model) == everything(uninterrupted.model)


def driver(*words: object) -> subprocess.CompletedProcess[str]:
    script = Path(__file__).parent / "stream_driver.py"
    command = [sys.executable, str(script), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.parametrize(
    "options",
    [
        {"label": "label", "loss": "hinge", "rho": 1e-3, "classes": (0.0, 1.0)},
        {"label": "cost", "loss": "squared_error"},
        {"label": "grade", "loss": "log_loss", "rho": 1e-3, "window": "infinite", "classes": ("high", "low", "middle")},
    ],
    ids=lambda options: options["loss"],
)
def test_partitions_learn_parts_of_a_linear_model(table: Any, options: dict[str, Any]) -> None:
    from pyspark.sql import functions as F

    import odca.spark
    from odca.spark.streaming import learned_batch

    before = odca.spark.train(table.limit(300), keep=["size", "kind", "words"], **options)
    after, scores = learned_batch(table, before)
    numbered = table.withColumn("partition", F.spark_partition_id()).toArrow()
    parts = before.split(2)
    for place, part in enumerate(parts):
        part.learn(numbered.drop("partition").filter(numbered["partition"].to_numpy() == place))
    by_hand = parts[0].merge(parts[1])
    assert scores.events == 2000
    assert after.learner.count == by_hand.learner.count == 2300
    events = numbered.to_pylist()[:50]
    for wanted in ("margins", "probabilities") if after.classes else ("label",):
        assert np.allclose(after.predict(events, wanted), by_hand.predict(events, wanted), rtol=1e-12)


def test_a_driver_killed_between_save_and_commit_learns_every_event_once(
    spark: Any, uninterrupted: Any, folder: Path, tmp_path: Path
) -> None:
    killed = driver("local[2]", folder, tmp_path / "state", tmp_path / "never", "kill-driver", 1)
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-3000:]
    commits = sorted(path.name for path in (tmp_path / "state/query/commits").glob("[0-9]*"))
    saved = sorted(path.stem for path in (tmp_path / "state").glob("models/*/*.safetensors"))
    assert commits == ["0"]
    assert saved == ["000000000000", "000000000001"]
    resumed = learning(spark, str(folder), str(tmp_path / "state"))
    resumed.query.awaitTermination()
    assert [report.batch for report in resumed.reports] == [2, 3]
    assert everything(resumed.model) == everything(uninterrupted.model)


def test_an_executor_that_is_killed_changes_nothing(uninterrupted: Any, folder: Path, tmp_path: Path) -> None:
    result = tmp_path / "model.safetensors"
    done = driver(
        "local-cluster[2,1,1024]", folder, tmp_path / "state", result, "kill-executor", tmp_path / "was-killed"
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "was-killed").exists()
    assert everything(odca.load(result)) == everything(uninterrupted.model)


def test_an_invalid_event_stops_the_query_and_leaves_the_model(spark: Any, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    copied(folder / "0.parquet", tmp_path / "in")
    first = learning(spark, str(tmp_path / "in"), str(tmp_path / "state"))
    first.query.awaitTermination()
    table = pq.read_table(folder / "1.parquet")
    place = table.column_names.index("label")
    pq.write_table(table.set_column(place, "label", pa.array([np.inf] * ROWS)), tmp_path / "in/1.parquet")
    second = learning(spark, str(tmp_path / "in"), str(tmp_path / "state"))
    with pytest.raises(Exception, match=r"partition 0: .*the label in 'label' must be finite"):
        second.query.awaitTermination()
    assert everything(second.model) == everything(first.model)
