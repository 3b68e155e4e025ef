"""Models that follow topics: every message is learned exactly once, whatever is killed, full, bad or gone."""

import asyncio
import json
import random
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from brokers import Kafka, Redis, redis_server
from odca.serve import follower
from service_logs import KEEP, require_same_as_in_order
from serving import Client, Server, events, serving

DECLARED = {"task": "classes", "classes": ["no", "yes"], "columns": {"price": "number"}}


@pytest.fixture(scope="module")
def kafka() -> Kafka:
    return Kafka()


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    with redis_server(tmp_path / "redis") as server:
        yield server


def lines(n: int, seed: int = 0) -> list[bytes]:
    return [json.dumps(each).encode() for each in events(n, seed=seed)]


def wait_for(client: Client, seen: Callable[[dict[str, Any]], bool], name: str = "m", seconds: float = 60.0) -> Any:
    """The description of a model, once it is as it should be."""
    end = time.monotonic() + seconds
    while True:
        about = client.get(f"/v1/models/{name}")
        if seen(about):
            return about
        assert time.monotonic() < end, about
        time.sleep(0.02)


def has_read(count: int) -> Callable[[dict[str, Any]], bool]:
    return lambda about: sum(each["messages"] for each in about["sources"]) == count


def followed_without_interruption(folder: Path, address: str, count: int) -> bytes:
    with serving(folder, "--follow", f"m={address}") as server:
        client = server.client()
        client.put("m", **DECLARED)
        wait_for(client, has_read(count), seconds=300.0)
        found = client.ask("GET", "/v1/models/m/snapshot").body
        client.close()
    return found


class Sending(threading.Thread):
    """Sends messages in bursts, until it is told to stop."""

    def __init__(self, send: Callable[[list[bytes], int], None]) -> None:
        super().__init__(daemon=True)
        self._send, self.ends, self.sent = send, threading.Event(), 0

    def run(self) -> None:
        rng = random.Random(5)
        while not self.ends.is_set():
            burst = rng.randrange(1, 40)
            self._send(lines(burst, seed=self.sent), self.sent)
            self.sent += burst
            self.ends.wait(rng.uniform(0.0, 0.1))


@pytest.mark.parametrize("broker", ["kafka", "redis"])
@pytest.mark.parametrize("kills", [3, pytest.param(25, marks=pytest.mark.long)])
def test_kills_at_any_instant_learn_every_message_exactly_once(
    kills: int, broker: str, kafka: Kafka, redis: Redis, tmp_path: Path
) -> None:
    topic, rng = f"killed-{kills}", random.Random(kills)

    def send(messages: list[bytes], begin: int) -> None:
        if broker == "kafka":  # one partition: the order of arrival is the order of sending
            kafka.send(topic, messages, partitions=1, begin=begin)
        else:
            redis.send(topic, messages)

    address = kafka.address(topic) if broker == "kafka" else redis.address(topic)
    send(lines(5), 0)
    sending = Sending(lambda some, begin: send(some, begin + 5))
    options = ("--follow", f"m={address}", *KEEP, "--snapshot-seconds", "1")
    server = Server(tmp_path / "models", *options)
    server.wait_until_ready()
    client = server.client()
    client.put("m", **DECLARED)
    wait_for(client, has_read(5))
    sending.start()
    reached = []
    for _ in range(kills):
        time.sleep(rng.uniform(0.0, 0.5))
        server.kill()
        client.close()
        server = Server(tmp_path / "models", *options)
        server.wait_until_ready()
        client = server.client()
        before = sum(each["messages"] for each in client.get("/v1/models/m")["sources"])
        about = wait_for(client, lambda about, before=before: not has_read(before)(about))
        reached.append(about["sources"][0]["messages"])
    sending.ends.set()
    sending.join()
    total = sending.sent + 5
    about = wait_for(client, has_read(total))
    found = client.ask("GET", "/v1/models/m/snapshot").body
    client.close()
    assert server.stop() == 0
    assert reached == sorted(set(reached))
    assert (about["events"], about["sources"][0]["refused"]) == (total, 0)
    assert found == followed_without_interruption(tmp_path / "whole", address, total)
    state = require_same_as_in_order(tmp_path / "models")
    assert state.followed[about["sources"][0]["source"]].messages == total


def test_all_partitions_are_followed_and_give_the_same_model_after_kills(kafka: Kafka, tmp_path: Path) -> None:
    kafka.send("four", lines(40_000))
    options = ("--follow", f"m={kafka.address('four')}", *KEEP)
    server, kills, rng = Server(tmp_path / "models", *options), 0, random.Random(1)
    server.wait_until_ready()
    client = server.client()
    client.put("m", **DECLARED)
    while kills < 3 and not has_read(40_000)(client.get("/v1/models/m")):
        before = client.get("/v1/models/m")["events"]
        wait_for(client, lambda about, before=before: about["events"] > before)
        time.sleep(rng.uniform(0.0, 0.1))
        server.kill()
        client.close()
        kills += 1
        server = Server(tmp_path / "models", *options)
        server.wait_until_ready()
        client = server.client()
    about = wait_for(client, has_read(40_000))
    assert about["events"] == 40_000
    assert about["sources"][0]["position"] == dict.fromkeys("0123", "9999")
    found = client.ask("GET", "/v1/models/m/snapshot").body
    client.close()
    assert server.stop() == 0
    assert kills >= 2
    assert found == followed_without_interruption(tmp_path / "whole", kafka.address("four"), 40_000)


def test_bad_messages_are_counted_shown_with_their_offset_and_skipped(kafka: Kafka, tmp_path: Path) -> None:
    data: list[bytes | None] = [*lines(300)]
    data[40], data[81], data[122], data[163] = b'{"price": ', None, b" ", b'["no", "object"]'
    data[204], data[245] = b'{"price": 1}', json.dumps({"price": 1, "note": "x" * 3000, "label": "yes"}).encode()
    kafka.send("bad", data)
    with serving(tmp_path / "models", "--follow", f"m={kafka.address('bad')}", "--max-line", "2000") as server:
        client = server.client()
        client.put("m", **DECLARED)
        about = wait_for(client, has_read(300))
        source = about["sources"][0]
        assert (about["events"], source["refused"]) == (294, 6)
        assert source["last_refused"]["place"] in {"1:61", "0:51"}
        errors = client.get("/v1/models/m/errors")["errors"]
        shown = " ".join(each["detail"] for each in errors)
        for place, what in {
            "0:10": "", "1:20": "no value", "2:30": "empty", "3:40": "object in braces", "0:51": "no label", "1:61": "2,000",
        }.items():  # fmt: skip
            assert any(each["detail"].startswith(f"message {place}: ") and what in each["detail"] for each in errors), (
                shown
            )
        metrics = client.ask("GET", "/metrics").body.decode()
        assert 'odca_source_refused{model="m",source="kafka:bad"} 6.0' in metrics
        assert 'odca_source_messages{model="m",source="kafka:bad"} 300.0' in metrics
        assert 'odca_source_connected{model="m",source="kafka:bad"} 1.0' in metrics
        assert 'odca_source_lag{model="m",source="kafka:bad"} 0.0' in metrics
        kafka.send(
            "bad", lines(10, seed=1), partitions=1, begin=300
        )  # what comes later comes in no order but its partition's
        assert wait_for(client, has_read(310))["events"] == 304
        client.close()
    sound = [each for place, each in enumerate(data) if place not in {40, 81, 122, 163, 204, 245}]
    kafka.send("sound", [*sound, *lines(10, seed=1)], partitions=1)
    with serving(tmp_path / "models", "--follow", f"m={kafka.address('bad')}") as server:
        client = server.client()
        followed = client.ask("GET", "/v1/models/m/snapshot").body
        source = client.get("/v1/models/m")["sources"][0]
        assert (source["messages"], source["refused"]) == (310, 6)
        client.close()
    assert followed == followed_without_interruption(tmp_path / "sound", kafka.address("sound"), 304)


def test_a_broker_that_is_gone_is_shown_and_followed_again_when_it_is_back(redis: Redis, tmp_path: Path) -> None:
    redis.send("visits", lines(100))
    with serving(tmp_path / "models", "--follow", f"m={redis.address('visits')}") as server:
        client = server.client()
        client.put("m", **DECLARED)
        about = wait_for(client, has_read(100))
        assert (about["sources"][0]["state"], about["sources"][0]["problem"]) == ("following", None)
        redis.stop()
        about = wait_for(client, lambda about: about["sources"][0]["state"] == "disconnected")
        assert "127.0.0.1" in about["sources"][0]["problem"]
        assert client.get("/v1/models")["models"][0]["sources"][0]["state"] == "disconnected"
        assert (
            'odca_source_connected{model="m",source="redis:visits"} 0.0' in client.ask("GET", "/metrics").body.decode()
        )
        assert client.post("/v1/models/m/learn", events(1)[0]).status == 200  # the model is not concerned
        redis.start()
        redis.send("visits", lines(50, seed=1))
        about = wait_for(client, has_read(150))
        assert about["events"] == 151
        wait_for(client, lambda about: about["sources"][0]["problem"] is None)
        client.close()


def test_a_fault_that_nobody_expected_is_shown_and_the_topic_is_followed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []

    class Faulty:
        def __init__(self, address: object, *_: object, **__: object) -> None:
            self.address, self.before = address, {}
            self.problem, self.note, self.lag, self.is_connected = None, None, 0, True

        def read(self, *how: float) -> list[Any]:
            reads.append(how)
            if len(reads) == 1:
                raise RuntimeError("the library is in a bad mood")
            time.sleep(0.01)
            return []

        def close(self) -> None: ...

    monkeypatch.setattr(follower, "Following", Faulty)
    monkeypatch.setattr(follower, "AGAIN", 0.05)
    hosted = SimpleNamespace(writer=object(), is_closing=False, links={}, state=SimpleNamespace(followed={}))
    service = SimpleNamespace(models={"m": hosted}, state="ready")
    states = []

    async def watch() -> None:
        task = asyncio.create_task(follower.Follower(service, follower.Wish.of("m=redis://127.0.0.1:1/x")).run())
        while len(states) < 2 and not task.done():
            await asyncio.sleep(0.002)
            for link in hosted.links.values():
                if link.problem and not states:
                    states.append((link.state, link.problem))
                if states and link.state == "following":
                    states.append((link.state, link.problem))
        task.cancel()

    asyncio.run(asyncio.wait_for(watch(), 20.0))
    assert states == [("disconnected", "RuntimeError: the library is in a bad mood"), ("following", None)]


def test_a_full_disk_stops_the_topic_and_nothing_is_lost_when_space_returns(kafka: Kafka, tmp_path: Path) -> None:
    data = [json.dumps({**each, "note": "x" * 2000}).encode() for each in events(600, seed=3)]
    kafka.send("full", data, partitions=1)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))

    with serving(tmp_path / "models", "--follow", f"m={kafka.address('full')}", *KEEP, preexec=limit) as server:
        client = server.client()
        client.put("m", **DECLARED)
        about = wait_for(client, lambda about: about["sources"] and about["sources"][0]["state"] == "waiting")
        assert "cannot be stored" in about["sources"][0]["problem"]
        assert about["events"] < 600
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert wait_for(client, has_read(600))["events"] == 600
        wait_for(client, lambda about: about["sources"][0]["state"] == "following")
        client.close()
    require_same_as_in_order(tmp_path / "models")


def test_labels_and_the_events_that_wait_for_them_come_from_topics(kafka: Kafka, tmp_path: Path) -> None:
    data = events(300, seed=4)
    labels = [{"id": str(k), "label": each.pop("label")} for k, each in enumerate(data)]
    asked = [json.dumps({**each, "id": str(k)}).encode() for k, each in enumerate(data)]
    kafka.send("asked", [*asked, b'{"price": 1}'], partitions=1)
    follow = ("--follow", f"m/predict={kafka.address('asked')}", "--follow", f"m/label={kafka.address('labels')}")
    with serving(tmp_path / "models", *follow, *KEEP) as server:
        client = server.client()
        client.put("m", **DECLARED)
        about = wait_for(client, has_read(301))
        assert (about["pending"], about["events"]) == (300, 0)
        named = {each["source"]: each for each in about["sources"]}
        assert named["kafka:asked"]["refused"] == 1
        assert "no id" in named["kafka:asked"]["last_refused"]["detail"]
        assert named["kafka:labels"]["state"] == "disconnected"  # there is no such topic yet
        kafka.send("labels", [json.dumps(each).encode() for each in labels], partitions=1)
        kafka.send("labels", [b'{"id": "nobody", "label": "yes"}'], partitions=1)
        about = wait_for(client, has_read(602), seconds=90.0)
        assert (about["pending"], about["events"]) == (0, 300)
        client.close()
    require_same_as_in_order(tmp_path / "models")


def test_a_model_may_be_created_deleted_and_created_again(kafka: Kafka, tmp_path: Path) -> None:
    kafka.send("again", lines(120))
    with serving(tmp_path / "models", "--follow", f"m={kafka.address('again')}") as server:
        client = server.client()
        time.sleep(0.5)
        client.put("m", **DECLARED)
        wait_for(client, has_read(120))
        first = client.ask("GET", "/v1/models/m/snapshot").body
        assert client.ask("DELETE", "/v1/models/m").status == 204
        client.put("m", **DECLARED)
        wait_for(client, has_read(120))
        assert client.ask("GET", "/v1/models/m/snapshot").body == first
        assert client.ask("GET", "/v1/models/m/snapshot?frozen=true").status == 200
        client.close()
    with serving(tmp_path / "models") as server:  # it is remembered how far the topic was read
        client = server.client()
        source = client.get("/v1/models/m")["sources"][0]
        assert (source["state"], source["messages"]) == ("not followed", 120)
        client.close()


def test_a_client_cannot_let_the_service_connect_anywhere(tmp_path: Path) -> None:
    with serving(tmp_path / "models") as server:
        client = server.client()
        for name in ("source", "sources", "follow", "followed"):
            assert (
                client.ask(
                    "PUT", "/v1/models/m", json.dumps({name: "kafka://127.0.0.1:1/x"}), "application/json"
                ).status
                == 422
            )
        assert client.ask("PUT", "/v1/models/m/source", "{}", "application/json").status == 404
        client.close()


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        (("shop",), "NAME=ADDRESS"),
        (("shop/forget=kafka://h/t",), "NAME/label=ADDRESS"),
        (("Shop=kafka://h/t",), "lower-case letters"),
        (("shop=http://h/t",), "begins with kafka://"),
        (("shop=kafka://me:s3cret@h/t",), "no user and no password"),
        (("shop=kafka://h/t", "shop=kafka://other/t"), "both called kafka:t"),
    ],
)
def test_a_wish_that_cannot_be_fulfilled_is_refused_at_once(wishes: tuple[str, ...], said: str, tmp_path: Path) -> None:
    options = [word for each in wishes for word in ("--follow", each)]
    command = [sys.executable, "-m", "odca", "serve", str(tmp_path / "models"), "--port", "0", *options]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 1
    assert said in refused.stderr
    assert "s3cret" not in refused.stderr
