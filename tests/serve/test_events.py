"""Predict, learn, label: what a client gets, and that the model is that of `odca train`."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import odca
from odca.serve.entries import Asking
from odca.serve.limits import Limits
from odca.serve.problems import Problem
from odca.serve.service import Service
from odca.serve.spec import Spec
from serving import FILE, JSON, Client, Server, events, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("serve") / "models") as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[Client]:
    client = server.client()
    yield client
    client.close()


def without_label(event: dict) -> dict:
    return {name: value for name, value in event.items() if name != "label"}


def test_the_model_is_that_of_odca_train_to_the_bit(client: Client, tmp_path: Path) -> None:
    data = events(1500, seed=1)
    client.put("train", first_events=1000)
    for first in range(0, 1500, 250):
        assert client.post_lines("/v1/models/train/learn", data[first : first + 250]).status == 200
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, data)) + "\n")
    (tmp_path / "served").write_bytes(client.ask("GET", "/v1/models/train/snapshot").body)
    served, trained = (
        odca.load(tmp_path / "served"),
        odca.train(tmp_path / "events.jsonl", label="label", progress=False),
    )
    assert served.learner == trained.learner
    assert served.metrics == trained.metrics
    assert served.names == trained.names


@pytest.mark.parametrize(
    "spec", [{"task": "classes", "classes": ["no", "yes"], "columns": {"price": "number"}}, {}, {"first_events": 3}]
)
def test_any_split_into_requests_gives_the_same_model_and_the_same_answers(client: Client, spec: dict) -> None:
    data = events(400, seed=2)
    for k in range(70):  # one class is not enough to begin with
        data[k]["label"] = "yes"
    answers, files = [], []
    for size in (1, 7, 97, 400):
        name = f"of-{size}-{len(spec)}"
        client.put(name, **spec)
        told = []
        for first in range(0, 400, size):
            told += client.post_lines(f"/v1/models/{name}/learn", data[first : first + size]).lines
        answers.append(told)
        files.append(client.ask("GET", f"/v1/models/{name}/snapshot").body)
    assert answers[0][-1]["prediction"] in {"no", "yes"}
    assert answers[0] == answers[1] == answers[2] == answers[3]
    assert files[0] == files[1] == files[2] == files[3]


def test_a_request_in_which_a_model_begins_is_learned_as_a_whole_or_not_at_all(client: Client) -> None:
    client.put("begins", first_events=20)
    data = events(60, seed=2)
    assert client.post_lines("/v1/models/begins/learn", data[:10]).status == 200
    bad = [*data[10:50], {"price": 1}, *data[50:]]
    refused = client.post_lines("/v1/models/begins/learn", bad)
    assert (refused.status, refused.json["line"]) == (422, 41)
    about = client.get("/v1/models/begins")
    assert (about["state"], about["collecting"]["events"]) == ("collecting", 10)
    told = client.post_lines("/v1/models/begins/learn?partial=true", bad).lines
    assert [place for place, each in enumerate(told) if "error" in each] == [40]
    client.put("whole", first_events=20)
    client.post_lines("/v1/models/whole/learn", data)
    files = [client.ask("GET", f"/v1/models/{name}/snapshot").body for name in ("begins", "whole")]
    assert files[0] == files[1]


def test_events_that_are_asked_about_at_once_get_the_answers_that_each_would_get(server: Server) -> None:
    client = server.client()
    client.put("together", task="classes", classes=["no", "yes"], columns={"price": "number"})
    client.post_lines("/v1/models/together/learn", events(300, seed=12))
    bodies = [json.dumps(without_label(each)).encode() for each in events(60, seed=13)]
    bodies[7], bodies[21], bodies[33] = b'{"price": "x"}', b'{"price": 1,\n"country":\r\n"A"}', b'{"price": '
    bodies[45], bodies[50] = b" ", b'{"price": 1, "id": "kept"}'
    alone = [client.ask("POST", "/v1/models/together/predict", each, JSON) for each in bodies]
    answers: dict[int, list[tuple[int, bytes]]] = {k: [] for k in range(len(bodies))}

    async def ask(place: int) -> None:
        head = "POST /v1/models/together/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for _ in range(5):
            writer.write(f"{head}Content-Length: {len(bodies[place])}\r\n\r\n".encode() + bodies[place])
            status = await reader.readuntil(b"\r\n\r\n")
            length = int(status.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            answers[place].append((int(status[9:12]), await reader.readexactly(length)))
        writer.close()
        await writer.wait_closed()

    async def ask_all() -> None:
        await asyncio.gather(*(ask(place) for place in range(len(bodies))))

    asyncio.run(ask_all())
    for place, each in enumerate(alone):
        for status, body in answers[place]:
            assert status == each.status
            if status == 200:
                assert body == each.body
            else:
                assert json.loads(body)["detail"] == each.json["detail"]
    assert [each.status for each in alone].count(200) == 57
    client.close()


def test_learn_returns_the_prediction_from_before(client: Client) -> None:
    client.put("before", task="classes", classes=["no", "yes"], columns={"price": "number"})
    data = events(300, seed=3)
    client.post_lines("/v1/models/before/learn", data)
    event = events(1, seed=4)[0]
    expected = client.post("/v1/models/before/predict", without_label(event)).json
    assert client.post("/v1/models/before/learn", event).json == expected
    assert set(expected["probabilities"]) == {"no", "yes"}
    assert expected["prediction"] in {"no", "yes"}


def test_a_label_that_comes_at_once_is_learned_like_an_event_with_its_label(client: Client) -> None:
    data = events(200, seed=5)
    for name in ("now", "late"):
        client.put(name, task="classes", classes=["no", "yes"], columns={"price": "number"})
    client.post_lines("/v1/models/now/learn", data)
    client.post_lines("/v1/models/late/learn", data[:1])
    for k, event in enumerate(data[1:]):
        asked = client.post("/v1/models/late/predict", {**without_label(event), "id": f"e{k}"}).json
        told = client.post("/v1/models/late/label", {"id": f"e{k}", "label": event["label"]}).json
        assert told["probabilities"] == asked["probabilities"]
        assert told["delay"] >= 0.0
    first, second = (client.get(f"/v1/models/{name}") for name in ("now", "late"))
    for name in ("events", "loss", "scores", "experts", "top_weights", "calibration"):
        assert first[name] == second[name], name
    assert second["labels"]["labelled"] == 199


def test_labels_of_several_moments_are_learned_together_or_not_at_all(client: Client) -> None:
    client.put("lates", task="classes", classes=["no", "yes"], columns={"price": "number"})
    data = events(60, seed=6)
    client.post_lines("/v1/models/lates/learn", data[:20])
    for k in range(20, 40):
        client.post("/v1/models/lates/predict", {**without_label(data[k]), "id": k})
        client.post("/v1/models/lates/learn", data[k + 20])
    labels = [{"id": k, "label": data[k]["label"]} for k in range(20, 40)]
    before = client.ask("GET", "/v1/models/lates/snapshot").body
    refused = client.post_lines("/v1/models/lates/label", [*labels[:5], {"id": 5000, "label": "no"}])
    assert (refused.status, refused.json["line"]) == (404, 6)
    assert client.ask("GET", "/v1/models/lates/snapshot").body == before
    assert len(client.post_lines("/v1/models/lates/label", labels).lines) == 20
    assert client.get("/v1/models/lates")["labels"]["pending"] == 0


def test_an_error_names_its_line_and_nothing_of_the_request_is_learned(client: Client) -> None:
    client.put("strict", task="numbers", columns={"x": "number"})
    client.post_lines("/v1/models/strict/learn", [{"x": k, "label": 2 * k} for k in range(50)])
    before = client.ask("GET", "/v1/models/strict/snapshot").body
    bad = [{"x": 1, "label": 2, "new": 3}, {"x": 2, "label": "many"}]
    reply = client.post_lines("/v1/models/strict/learn", bad)
    assert (reply.status, reply.kind, reply.json["line"]) == (422, "invalid-event", 2)
    assert "not a number" in reply.json["detail"]
    for text, line in (('{"x": 1, "label": 2}\n{"x":', 2), ('{"x": 1e999, "label": 2}', 1), ("\n[1]", 2)):
        reply = client.ask("POST", "/v1/models/strict/learn", text, "application/x-ndjson")
        assert (reply.status, reply.json.get("line")) == (422, line), reply.body
    assert client.post("/v1/models/strict/learn", {"x": 1}).json["line"] == 1
    assert client.ask("GET", "/v1/models/strict/snapshot").body == before


def test_what_was_refused_leaves_no_trace_in_later_features(client: Client) -> None:
    for name in ("clean", "tried"):
        client.put(name, task="numbers", columns={"x": "number"})
    for k in range(30):
        event = {"x": k, f"f{k}": 1.0, "label": k}
        for name in ("clean", "tried"):
            client.post(f"/v1/models/{name}/learn", event)
        client.post("/v1/models/tried/learn", {f"odd{k}": 1e200, "x": k, "label": 1e300})
    files = [client.ask("GET", f"/v1/models/{name}/snapshot").body for name in ("clean", "tried")]
    assert files[0] == files[1]


def test_partial_learns_the_sound_events(client: Client) -> None:
    client.put("partial", task="numbers", columns={"x": "number"})
    lines = '{"x": 1, "label": 2}\nnonsense\n{"x": 2}\n{"x": 2, "label": 4}'
    reply = client.ask("POST", "/v1/models/partial/learn?partial=true", lines, "application/x-ndjson")
    told = reply.lines
    assert ["error" in each for each in told] == [False, True, True, False]
    assert [told[k]["error"]["line"] for k in (1, 2)] == [2, 3]
    assert client.get("/v1/models/partial")["events"] == 2
    counted = client.ask(
        "POST", "/v1/models/partial/learn?partial=true&predictions=false", lines, "application/x-ndjson"
    ).json
    assert counted["learned"] == 2
    assert len(counted["errors"]) == 2


def test_the_same_key_gives_the_stored_answer_and_another_body_is_refused(client: Client) -> None:
    client.put("keys", task="numbers", columns={"x": "number"})
    first = client.post("/v1/models/keys/learn", {"x": 1, "label": 3}, Idempotency_Key="k1")
    again = client.post("/v1/models/keys/learn", {"x": 1, "label": 3}, Idempotency_Key="k1")
    assert (first.status, first.body) == (again.status, again.body)
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    client.post("/v1/models/keys/learn", {"x": 5, "label": 1}, Idempotency_Key="k2")
    later = client.post("/v1/models/keys/learn", {"x": 1, "label": 3}, Idempotency_Key="k1")
    positions = [each.headers["odca-position"] for each in (first, again, later)]
    assert positions == ["1", "1", "1"]
    other = client.post("/v1/models/keys/learn", {"x": 2, "label": 3}, Idempotency_Key="k1")
    assert (other.status, other.kind) == (422, "key-reused")
    assert client.get("/v1/models/keys")["events"] == 2


def test_an_event_with_an_id_is_learned_once(client: Client) -> None:
    client.put("ids", task="numbers", columns={"x": "number"})
    first = client.post("/v1/models/ids/learn", {"x": 1, "label": 3, "id": "a"})
    assert client.post("/v1/models/ids/learn", {"x": 1, "label": 3, "id": "a"}).body == first.body
    assert client.post("/v1/models/ids/learn", {"x": 2, "label": 3, "id": "a"}).kind == "key-reused"
    both = client.post_lines("/v1/models/ids/learn", [{"x": 1, "label": 3, "id": "a"}, {"x": 5, "label": 3, "id": "b"}])
    assert [each["id"] for each in both.lines] == ["a", "b"]
    assert client.post_lines("/v1/models/ids/learn", [{"x": 5, "label": 3, "id": "c"}] * 2).status == 422
    assert client.get("/v1/models/ids")["events"] == 2


def test_the_same_prediction_may_be_asked_for_twice_but_not_another_one(client: Client) -> None:
    client.put("twice", task="numbers", columns={"x": "number"})
    client.post("/v1/models/twice/learn", {"x": 1, "label": 3})
    asked = client.post("/v1/models/twice/predict", {"x": 2, "id": "p"}).json
    client.post("/v1/models/twice/learn", {"x": 1, "label": 9})
    assert client.post("/v1/models/twice/predict", {"x": 2, "id": "p"}).json == asked
    assert client.post("/v1/models/twice/predict", {"x": 3, "id": "p"}).kind == "key-reused"
    assert client.post("/v1/models/twice/learn", {"x": 3, "label": 1, "id": "p"}).status == 422
    told = client.post("/v1/models/twice/label", {"id": "p", "label": 6}).json
    assert told["prediction"] == asked["prediction"]
    assert client.post("/v1/models/twice/label", {"id": "p", "label": 6}).json == told
    assert client.post("/v1/models/twice/label", {"id": "p", "label": 7}).kind == "key-reused"


def test_pending_events_are_bounded_by_number_and_the_oldest_go_first(client: Client) -> None:
    client.put("few", task="numbers", columns={"x": "number"}, limits={"max_pending": 3})
    client.post("/v1/models/few/learn", {"x": 1, "label": 3})
    client.post_lines("/v1/models/few/predict", [{"x": k, "id": k} for k in range(5)])
    labels = client.get("/v1/models/few")["labels"]
    assert (labels["pending"], labels["dropped"]) == (3, 2)
    assert client.post("/v1/models/few/label", {"id": 1, "label": 1}).kind == "no-pending-event"
    assert client.post("/v1/models/few/label", {"id": 4, "label": 1}).status == 200


def test_new_classes_appear_while_it_learns(client: Client) -> None:
    client.put("grows", task="classes", classes=["a", "b"], columns={"x": "number"})
    client.post_lines("/v1/models/grows/learn", [{"x": k % 2, "label": "ab"[k % 2]} for k in range(50)])
    client.post("/v1/models/grows/predict", {"x": 9, "id": "w"})
    client.post_lines("/v1/models/grows/learn", [{"x": 9, "label": "c"}] * 20)
    told = client.post("/v1/models/grows/predict", {"x": 9}).json
    assert told["prediction"] == "c"
    assert set(told["probabilities"]) == {"a", "b", "c"}
    assert client.post("/v1/models/grows/label", {"id": "w", "label": "c"}).status == 200


def test_weights_times_and_offsets_count(client: Client) -> None:
    client.put("weighed", task="numbers", columns={"x": "number"}, weight="w", time="t", options={"memory": "time"})
    refused = client.post("/v1/models/weighed/learn", {"x": 1, "label": 3, "w": 1})
    assert "no time" in refused.json["detail"]
    assert client.post("/v1/models/weighed/learn", {"x": 1, "label": 3, "w": -1, "t": 5}).status == 422
    assert (
        client.post("/v1/models/weighed/learn", {"x": 1, "label": 3, "w": 2, "t": "2024-01-01T00:00:00Z"}).status == 200
    )
    client.put("counts", task="numbers", columns={"x": "number"}, offset="o", options={"loss": "poisson"})
    assert client.post("/v1/models/counts/learn", {"x": 1, "label": 3, "o": 0.5}).status == 200
    assert client.get("/v1/models/counts")["mode"] == "linear"


def test_intervals_and_sets_are_given_if_asked_for(client: Client) -> None:
    client.put("sure", task="numbers", columns={"x": "number"})
    assert client.post("/v1/models/sure/predict?coverage=0.9", {"x": 1}).json == {"prediction": None}
    client.post_lines("/v1/models/sure/learn", [{"x": k % 10, "label": 2 * (k % 10) + k % 3} for k in range(300)])
    low, high = client.post("/v1/models/sure/predict?coverage=0.9", {"x": 4}).json["interval"]
    assert low < 9.0 < high
    for wrong in ("1.5", "nan", "x", ""):
        assert client.post(f"/v1/models/sure/predict?coverage={wrong}", {"x": 1}).status == 400


def test_an_explanation_sums_to_the_margin(client: Client) -> None:
    client.put("why", task="classes", classes=["no", "yes"], columns={"price": "number"})
    client.post_lines("/v1/models/why/learn", events(300, seed=8))
    for answer in ("live", "steady"):
        found = client.post(f"/v1/models/why/explain?answer={answer}", {"price": 0.5, "country": "A", "hour": 3}).json
        assert found["outputs"] == ["yes"]
        assert sum(each["adds"][0] for each in found["parts"]) == pytest.approx(found["margin"][0], abs=1e-9)
        assert {"price", "country=A"} <= {each["feature"] for each in found["parts"]}


def test_a_single_event_may_be_written_over_several_lines(client: Client) -> None:
    client.put("pretty", task="numbers", columns={"x": "number"})
    text = json.dumps({"x": 1, "label": 2}, indent=2)
    assert client.ask("POST", "/v1/models/pretty/learn", text, JSON).status == 200
    assert client.ask("POST", "/v1/models/pretty/learn", "  \n", JSON).status == 400


def test_predictions_of_tensors_are_those_of_events(client: Client) -> None:
    client.put("tensors", task="classes", classes=["no", "yes"], columns={"price": "number"})
    client.post_lines("/v1/models/tensors/learn", events(200, seed=9))
    tensors = [
        {"name": "price", "shape": [2], "datatype": "FP64", "data": [0.5, -1.0]},
        {"name": "country", "shape": [2, 1], "datatype": "BYTES", "data": [["A"], ["B"]]},
    ]
    found = client.post("/v2/models/tensors/infer", {"id": "7", "inputs": tensors}).json
    lines = client.post_lines(
        "/v1/models/tensors/predict", [{"price": 0.5, "country": "A"}, {"price": -1.0, "country": "B"}]
    ).lines
    assert found["id"] == "7"
    assert found["outputs"][0]["data"] == [each["prediction"] for each in lines]
    assert found["outputs"][1]["data"] == [p for each in lines for p in each["probabilities"].values()]
    assert client.get("/v2/models/tensors")["platform"] == "odca"
    assert client.get("/v2/models/tensors/ready") == {"name": "tensors", "ready": True}


def test_a_model_of_a_table_is_uploaded_and_goes_on_learning(client: Client, tmp_path: Path) -> None:
    rows = events(300, seed=10)
    table = "\n".join(["price,country,hour,label", *(",".join(map(str, row.values())) for row in rows)])
    (tmp_path / "shop.csv").write_text(table + "\n")
    model = odca.train(tmp_path / "shop.csv", label="label", progress=False)
    model.save(tmp_path / "model")
    upload = client.ask("PUT", "/v1/models/table", (tmp_path / "model").read_bytes(), FILE)
    assert upload.status == 201, upload.body
    event = without_label(events(1, seed=11)[0])
    told = client.post("/v1/models/table/predict?answer=steady", event).json
    assert told["probabilities"]["yes"] == pytest.approx(model.predict_proba(event)[1], abs=1e-12)
    assert client.post_lines("/v1/models/table/learn", events(50, seed=12)).status == 200
    assert client.get("/v1/models/table")["events"] == 350


def test_dates_are_the_features_that_odca_train_makes_of_them(client: Client, tmp_path: Path) -> None:
    """Also a date that is missing, or beyond those learned: its trend is held within the learned days."""
    data = [
        {"at": None if hour % 40 == 5 else f"2024-03-{1 + hour // 24:02}T{hour % 24:02}:00:00Z", "label": hour / 40}
        for hour in range(600)
    ]
    client.put("dates", task="numbers", first_events=500)
    for first in range(0, 600, 150):
        assert client.post_lines("/v1/models/dates/learn", data[first : first + 150]).status == 200
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, data)) + "\n")
    trained = odca.train(tmp_path / "events.jsonl", label="label", task="numbers", progress=False)
    asked: list[dict] = [{"at": "2024-03-10T07:00:00Z"}, {"at": "2031-05-05T05:00:00Z"}, {"at": None}, {}]
    expected = trained.predict(asked, answer="steady").tolist()
    assert all(-1.0 < each < 16.0 for each in expected)  # the labels are from 0 to 15
    told = client.post_lines("/v1/models/dates/predict?answer=steady", asked).lines
    assert [each["prediction"] for each in told] == expected
    waiting = [{**event, "id": str(k)} for k, event in enumerate(asked)]
    told = client.post_lines("/v1/models/dates/predict?answer=steady", waiting).lines
    assert [each["prediction"] for each in told] == expected
    explained = [client.post("/v1/models/dates/explain?answer=steady", event).json for event in asked]
    assert [each["prediction"] for each in explained] == expected


def test_a_request_that_waits_too_long_is_answered_and_learned_once_though_it_is_sent_again(tmp_path: Path) -> None:
    async def sent() -> None:
        service = Service(tmp_path / "models", Limits(wait_seconds=0.2))
        await service.load()
        hosted, _ = await service.create("slow", Spec(task="numbers", columns={"x": "number"}))
        busy = threading.Event()
        blocked = asyncio.create_task(hosted.control(busy.wait))
        await asyncio.sleep(0)  # it is in the queue now
        with pytest.raises(Problem, match="it may still be learned") as problem:
            await hosted.submit("learn", "key-1", Asking(), b'{"x": 1.0, "label": 2.0}')
        assert problem.value.status == 504
        busy.set()
        await blocked
        outcome = await hosted.submit("learn", "key-1", Asking(), b'{"x": 1.0, "label": 2.0}')
        assert outcome.replayed
        assert (hosted.state.position, hosted.waiting, hosted.waiting_bytes) == (1, 0, 0)
        await service.close()

    asyncio.run(sent())
