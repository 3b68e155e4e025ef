"""Models: create, describe, merge, freeze, delete; what is seen of them; and that it survives restarts."""

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import pytest

import odca
from odca import cli
from odca.serve.history import MOST_POINTS, History, Point
from odca.serve.views import _when
from serving import FILE, JSON, Client, Server, events, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("serve") / "models", "--max-models", "14") as found:
        yield found


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    found = server.client()
    yield found
    found.close()


def test_creating_a_model_twice_is_the_same_and_with_other_options_a_conflict(client: Client) -> None:
    assert client.put("a", task="numbers").status == 201
    assert client.put("a", task="numbers").status == 200
    assert client.put("a", task="classes").kind == "exists"
    assert client.ask("DELETE", "/v1/models/a").status == 204
    assert client.ask("DELETE", "/v1/models/a").kind == "no-model"
    assert client.put("a", task="classes").status == 201
    client.ask("DELETE", "/v1/models/a")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"task": "ranks"}, "task"),
        ({"classes": ["a"]}, "two or more"),
        ({"task": "numbers", "classes": ["a", "b"]}, "no classes"),
        ({"columns": {"x": "numeral"}}, "numeral"),
        ({"columns": {"label": "number"}}, "label"),
        ({"label": "x", "id": "x"}, "two roles"),
        ({"options": {"learning_rate": 0.1}}, "learning_rate"),
        ({"options": {"loss": "hinge", "memory": "time"}}, "automatic"),
        ({"options": {"loss": "no such loss"}}, "loss"),
        ({"options": {"rho": "much"}}, "rho"),
        ({"options": {"bits": 99}}, "bits"),
        ({"options": {"keep": 5}}, "keep"),
        ({"options": {"window": {"a": 1}}}, ""),
        ({"first_events": 0}, "first_events"),
        ({"limits": {"max_pending": -1}}, "max_pending"),
        ({"limits": {"wrong": 1}}, "wrong"),
        ({"surprise": 1}, "surprise"),
        ([], "object"),
    ],
)
def test_a_model_that_cannot_be_is_refused_with_the_reason(spec: object, said: str, client: Client) -> None:
    reply = client.ask("PUT", "/v1/models/wrong", json.dumps(spec), JSON)
    assert (reply.status, reply.kind) == (422, "invalid-model"), reply.body
    assert said in reply.json["detail"]


@pytest.mark.parametrize("name", ["A", "-a", "a" * 65, "a.b", "%2e%2e", "a%2fb", "..", "a%00", "ä", ""])
def test_a_name_that_could_be_a_path_is_refused(name: str, client: Client) -> None:
    quoted = name.encode().decode("latin-1") if name == "ä" else name
    path = f"/v1/models/{quoted.replace('Ã¤', '%C3%A4')}"
    assert client.ask("PUT", path, "{}", JSON).status in {400, 404, 405}
    assert client.ask("GET", path + "/history").status in {400, 404}


def test_what_was_collected_is_shown_until_the_model_begins(client: Client) -> None:
    client.put("first", first_events=5)
    client.post_lines("/v1/models/first/learn", [{"x": k, "label": "a"} for k in range(6)])
    about = client.get("/v1/models/first")
    assert about["state"] == "collecting"
    assert about["collecting"]["events"] == 6
    assert "two classes" in about["collecting"]["why"]
    assert client.ask("GET", "/v1/models/first/weights").kind == "collecting"
    asked = client.post("/v1/models/first/predict", {"x": 3, "id": "early"}).json
    assert asked == {"prediction": None, "id": "early"}
    client.post("/v1/models/first/learn", {"x": 9, "label": "b"})
    assert client.get("/v1/models/first")["state"] == "ready"
    assert client.post("/v1/models/first/label", {"id": "early", "label": "a"}).json["prediction"] is None
    assert client.get("/v1/models/first")["events"] == 8


def test_an_event_that_turns_out_to_be_faulty_does_not_keep_a_model_from_beginning(client: Client) -> None:
    client.put("faulty", task="numbers", first_events=3)
    client.post("/v1/models/faulty/learn", {"x": 1, "label": "odd"})
    client.post_lines("/v1/models/faulty/learn", [{"x": 1, "label": 1}, {"x": 2, "label": 2}, {"x": 3, "label": 3}])
    assert client.get("/v1/models/faulty")["events"] == 3
    refused = client.post("/v1/models/faulty/learn", {"x": 1, "label": "odd"})
    assert (refused.status, refused.json["line"]) == (422, 1)


def test_a_description_has_everything_that_the_interface_says(client: Client) -> None:
    client.put("seen", task="classes", classes=["no", "yes"], columns={"price": "number"})
    began = time.time()
    client.post_lines("/v1/models/seen/learn", events(3000, seed=1, flip=1500))
    client.post_lines("/v1/models/seen/predict", [{"price": 1, "id": k} for k in range(3)])
    about = client.get("/v1/models/seen")
    assert about["drift"]["count"] >= 1
    alarms = [*about["drift"]["rises"], *about["drift"]["columns"]]
    assert about["last_alarm"]["event"] == max(each["event"] for each in alarms)
    assert began <= about["last_alarm"]["time"] <= time.time()
    assert sum(each["weight"] for each in about["calibration"]) == 3000
    assert about["score"]["value"] > about["score"]["baseline_value"]
    assert about["labels"]["pending"] == 3
    assert sum(about["experts"]["groups"].values()) == pytest.approx(1.0)
    assert {"price", "country", "hour"} <= set(about["fields"])
    assert about["top_weights"][0]["feature"]
    found = client.get("/v1/models/seen/weights?contains=country&limit=2")
    assert all("country" in each["feature"] for each in found["weights"])
    assert found["found"] >= 3


def test_history_and_everything_else_survive_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path / "models") as server:
        client = server.client()
        client.put("m", task="classes", classes=["no", "yes"], columns={"price": "number"})
        client.post_lines("/v1/models/m/learn", events(500, seed=2))
        client.post("/v1/models/m/predict", {"price": 1, "id": "w"}, Idempotency_Key="p")
        about, history = client.get("/v1/models/m"), client.get("/v1/models/m/history?span=day")
        client.close()
    with serving(tmp_path / "models") as server:
        client = server.client()
        later = client.get("/v1/models/m")
        for name in set(about) - {"storage", "created", "events_per_second"}:
            assert later[name] == about[name], name
        assert client.get("/v1/models/m/history?span=day") == history
        again = client.post("/v1/models/m/predict", {"price": 1, "id": "w"}, Idempotency_Key="p")
        assert again.headers["idempotency-replayed"] == "true"
        assert client.post("/v1/models/m/label", {"id": "w", "label": "yes"}).status == 200
        client.close()


def test_merging_a_snapshot_is_the_merge_of_the_library_and_is_not_lost(tmp_path: Path) -> None:
    with serving(tmp_path / "models") as server:
        client = server.client()
        for name, seed in (("one", 1), ("two", 2)):
            client.put(name, task="classes", classes=["no", "yes"], columns={"price": "number"})
            client.post_lines(f"/v1/models/{name}/learn", events(300, seed=seed))
        files = {name: client.ask("GET", f"/v1/models/{name}/snapshot").body for name in ("one", "two")}
        for name, data in files.items():
            (tmp_path / name).write_bytes(data)
        expected = odca.load(tmp_path / "one").merge(odca.load(tmp_path / "two"))
        assert client.ask("POST", "/v1/models/one/merge", files["two"], FILE).json["events"] == 600
        assert client.ask("POST", "/v1/models/one/merge", b"nonsense", FILE).kind == "invalid-model"
        client.put("number", task="numbers", columns={"x": "number"})
        client.post("/v1/models/number/learn", {"x": 1, "label": 1})
        other = client.ask("GET", "/v1/models/number/snapshot").body
        assert client.ask("POST", "/v1/models/one/merge", other, FILE).kind == "cannot-merge"
        merged = client.ask("GET", "/v1/models/one/snapshot").body
        client.post_lines("/v1/models/one/learn", events(10, seed=3))
        final = client.ask("GET", "/v1/models/one/snapshot").body
        client.close()
        server.kill()
        server.process.returncode = 0
    (tmp_path / "merged").write_bytes(merged)
    assert odca.load(tmp_path / "merged").learner == expected.learner
    with serving(tmp_path / "models") as server:
        client = server.client()
        assert client.ask("GET", "/v1/models/one/snapshot").body == final
        client.close()


def test_a_frozen_model_predicts_the_steady_answer(client: Client, tmp_path: Path) -> None:
    client.put("big", task="classes", classes=["no", "yes"], columns={"price": "number"})
    client.post_lines("/v1/models/big/learn", events(500, seed=5))
    assert client.post("/v1/models/big/freeze", {"name": "small"}).status == 201
    assert client.post("/v1/models/big/freeze", {"name": "small"}).kind == "exists"
    assert client.post("/v1/models/big/freeze", {"name": "../small"}).status == 400
    event = {"price": 0.3, "country": "A", "hour": 4}
    told = [client.post(f"/v1/models/{name}/predict?answer=steady", event).json for name in ("big", "small")]
    assert told[0]["probabilities"]["yes"] == pytest.approx(told[1]["probabilities"]["yes"], abs=1e-9)
    (tmp_path / "file").write_bytes(client.ask("GET", "/v1/models/big/snapshot?frozen=true").body)
    assert odca.load(tmp_path / "file").frozen_after == 500


def test_a_model_in_the_place_of_the_folder_gets_the_commands_that_serve_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "My model.safetensors"
    odca.train(events(200), label="label", progress=False).save(file)
    assert cli.main(["serve", str(file), "--port", "8123"]) == cli.REFUSED
    said = capsys.readouterr().err.splitlines()
    assert "is a model, and not the folder where the service keeps its models." in said[0]
    assert said[1] == "  odca serve models/"
    put = "  curl -X PUT {}/v1/models/my-model -H 'Content-Type: application/octet-stream' --data-binary '@{}'"
    assert said[2] == put.format("localhost:8123", file)
    (tmp_path / "data.csv").write_text("a,b\n")
    assert cli.main(["serve", str(tmp_path / "data.csv")]) == cli.REFUSED
    assert "data.csv is a file. Name the folder" in capsys.readouterr().err
    with serving(tmp_path) as server:
        assert put.format(server.address, file) in server.errors.read_text()
        assert "data.csv" not in server.errors.read_text()


def test_a_file_that_is_no_model_is_refused(client: Client, tmp_path: Path) -> None:
    assert client.ask("PUT", "/v1/models/bad", b"\x80\x04pickle", FILE).kind == "invalid-model"
    learner = odca.Learner(loss=odca.Hinge())
    learner.learn([[1.0]], [1.0])
    learner.save(tmp_path / "learner")
    assert client.ask("PUT", "/v1/models/bad", (tmp_path / "learner").read_bytes(), FILE).kind == "invalid-model"


def test_there_are_at_most_so_many_models(client: Client) -> None:
    names = [f"n{k}" for k in range(15)]
    replies = [client.put(name, task="numbers") for name in names]
    assert replies[-1].kind == "too-many-models"
    for name, reply in zip(names, replies, strict=True):
        if reply.status == 201:
            client.ask("DELETE", f"/v1/models/{name}")


def test_live_events_come_as_the_model_changes_and_end_with_it(server: Server, client: Client) -> None:
    client.put("live", task="numbers", columns={"x": "number"})
    client.post("/v1/models/live/learn", {"x": 1, "label": 1})
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20.0)
    connection.request("GET", "/v1/models/live/live")
    stream = connection.getresponse()
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert stream.readline() == b"event: model\n"
    assert json.loads(stream.readline()[6:])["events"] == 1
    seen: list[bytes] = []
    client.post("/v1/models/live/learn", {"x": 2, "label": 2})
    end = time.monotonic() + 20.0
    while time.monotonic() < end and not (seen and seen[-1].startswith(b"data:") and b'"events":2' in seen[-1]):
        seen.append(stream.readline())
    client.ask("DELETE", "/v1/models/live")
    while (line := stream.readline()) != b"event: end\n":
        assert line or time.monotonic() < end
    assert json.loads(stream.readline()[6:]) == {"reason": "deleted"}
    connection.close()


def test_metrics_have_the_events_the_queue_and_the_commits(client: Client) -> None:
    client.put("counted", task="numbers", columns={"x": "number"})
    client.post("/v1/models/counted/learn", {"x": 1, "label": 1})
    text = client.ask("GET", "/metrics").body.decode()
    assert 'odca_model_events{model="counted"} 1.0' in text
    for name in ("odca_commit_seconds_bucket", "odca_request_seconds_bucket", "odca_model_pending", "odca_model_queue"):
        assert name in text
    assert 'odca_requests_total{model="counted",route="learn",status="200"} 1.0' in text


def test_a_trace_is_passed_on_and_refused_requests_are_listed(client: Client) -> None:
    client.put("traced", task="numbers", columns={"x": "number"})
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    reply = client.post("/v1/models/traced/learn", {"x": 1}, traceparent=trace)
    assert reply.headers["traceparent"] == trace
    assert reply.json["request_id"] == "4bf92f3577b34da6a3ce929d0e0e4736"
    listed = client.get("/v1/models/traced/errors")
    assert listed["errors"][0]["request_id"] == reply.json["request_id"]
    assert listed["errors"][0]["line"] == 1


def test_when_an_alarm_came_is_known_as_precisely_as_the_history_reaches_back() -> None:
    history = History()
    for k in range(
        2_000
    ):  # a point every 10 seconds, 100 events each: the last hour, and every 4 minutes of five hours and a half
        history.add(Point(10.0 * k, (100.0 * k, 100.0 * k), 0, None, (), {}))
    state: Any = SimpleNamespace(lock=Lock(), history=history, clock=19_995.0)
    assert _when(199_850, state) == 19_990.0
    assert _when(199_950, state) == 19_995.0  # no point was made since
    assert _when(100_010, state) == 10_080.0  # longer ago than an hour: by the points of the day
    assert _when(1, state) == 240.0


def test_an_alarm_from_before_the_history_has_no_time() -> None:
    history = History()
    for points in history.points.values():
        points.extend(Point(float(k), (1_000.0 + k, 0.0), 0, None, (), {}) for k in range(MOST_POINTS))
    state: Any = SimpleNamespace(lock=Lock(), history=history, clock=1_000.0)
    assert _when(500, state) is None
