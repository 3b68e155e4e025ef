"""One Spark session for all tests, and tables to learn from."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest

MISSING = None
if which("java") is None and "JAVA_HOME" not in os.environ:
    MISSING = "Spark needs Java: apt-get install openjdk-17-jre-headless"
try:
    import pyspark  # noqa: F401 - whether it is there
except ImportError:
    MISSING = "PySpark is missing: pip install 'odca[spark]'"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.spark)
            # PySpark leaves sockets to the garbage collector, and looks at what its dependencies deprecate.
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning:pyspark"))
            if MISSING:
                item.add_marker(pytest.mark.skip(reason=MISSING))


def new_session(master: str = "local[2]", **config: Any) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("odca")
    settings = {
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        **config,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    session = new_session()
    yield session
    session.stop()


Row = tuple[float, str, list[str], str, float, float, float]
COLUMNS = "size double, kind string, words array<string>, grade string, label double, cost double, weight double"


def made_rows(count: int = 2000, seed: int = 0) -> list[Row]:
    """Events with a number, a category, words; a class of two, a class of three with names, and a number to predict."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        size, kind = float(rng.normal()), str(rng.choice(["A", "B", "C"]))
        words = [str(word) for word in rng.choice(list("uvwxyz"), 2)]
        score = size + (kind == "A") - ("u" in words) + 0.3 * float(rng.normal())
        grade = "low" if score < -0.5 else "high" if score > 0.8 else "middle"
        rows.append((size, kind, words, grade, float(score > 0.2), score, 1.0 + float(rng.integers(2))))
    return rows


@pytest.fixture(scope="session")
def table(spark: Any) -> Any:
    """The rows in two partitions."""
    made = spark.createDataFrame(made_rows(), COLUMNS).repartition(2).cache()
    made.count()
    return made
