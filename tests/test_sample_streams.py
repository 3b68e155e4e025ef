"""The generated streams of `odca.datasets` and `odca sample`."""

import csv
import hashlib
import json
from pathlib import Path

import pytest

import odca
from odca import datasets
from odca.cli import main
from odca.cli.commands.sample import NAMES

LABELS = {"clicks": "click", "payments": "fraud", "load": "load", "messages": "kind"}
DIGESTS = {
    "clicks": "ef7cbcf06cf78afb",
    "payments": "727afc410510a5a1",
    "load": "c16407a0c7cf5565",
    "messages": "db3f038dbabeb1ff",
}


def test_the_command_has_all_streams_and_no_others() -> None:
    assert set(NAMES) == set(datasets.STREAMS) == set(LABELS)


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_is_the_same_each_time_and_another_with_another_seed(name: str) -> None:
    stream = datasets.STREAMS[name]
    assert stream(events=500) == stream(events=500)
    assert stream(events=500) != stream(events=500, seed=1)
    assert len(stream(events=500)) == 500
    assert stream(events=0) == []


def test_the_streams_have_not_changed_since_the_tutorials_were_written() -> None:
    digests = {}
    for name, stream in datasets.STREAMS.items():
        text = json.dumps(stream(events=1000)).encode()
        digests[name] = hashlib.sha256(text).hexdigest()[:16]
    assert digests == DIGESTS


@pytest.mark.parametrize("name", NAMES)
def test_the_command_writes_the_events_as_csv(name: str, tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    assert main(["sample", name, "--events", "50", "--seed", "3", "-o", str(path)]) == 0
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = datasets.STREAMS[name](events=50, seed=3)
    assert rows == [{key: str(value) for key, value in event.items()} for event in expected]


def test_the_change_of_the_clicks_is_noticed_soon() -> None:
    model = odca.train(datasets.clicks(), label="click")
    assert any(10_000 < alarm.event < 10_200 for alarm in model.drift.rises)
    assert model.metrics.accuracy > 0.82


def test_frauds_are_reported_after_they_happen_and_become_more_frequent() -> None:
    events = datasets.payments()
    assert all(event["time"] < event["reported"] for event in events)
    early, late = (sum(event["fraud"] for event in half) for half in (events[:10_000], events[10_000:]))
    assert 200 < early < late < 1000


def test_the_past_helps_to_forecast_the_load() -> None:
    events = datasets.load()
    alone = odca.train(events, label="load")
    with_past = odca.train(events, label="load", history=["y by station: lag 1,24"])
    assert with_past.metrics.loss < 0.7 * alone.metrics.loss
