"""Whatever happens, what was acknowledged is learned exactly once, and recovery gives the same bits."""

import contextlib
import http.client
import json
import random
import resource
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count as count_from
from pathlib import Path

import pytest

from odca.serve.entries import Asking
from odca.serve.log import Log
from odca.serve.saved_state import SavedState
from odca.serve.state import State
from service_logs import KEEP, bytes_of, logged, require_same_as_in_order, saved
from serving import Client, Server, events, serving


def create(server: Server) -> None:
    client = server.client()
    assert client.put("m", first_events=50).status == 201
    client.close()


class Sender(threading.Thread):
    """A client that sends all kinds of requests, each with a key, and each again until it is acknowledged."""

    def __init__(self, number: int, port: int, ends: threading.Event) -> None:
        super().__init__(daemon=True)
        self.number, self._ends = number, ends
        self._client = Client(port, timeout=20.0)
        self._rng = random.Random(number)
        self.acknowledged: dict[str, int] = {}
        """The keys of acknowledged requests, and how many events each has learned."""
        self.fault: str | None = None

    def run(self) -> None:
        data = (each for seed in count_from(100 * self.number) for each in events(100, seed=seed))
        count = 0
        while not self._ends.is_set() and self.fault is None:
            count += 1
            kind = self._rng.randrange(10)
            if kind < 5:
                self._send("learn", [next(data)], f"{self.number}-{count}")
            elif kind < 8:
                self._send("learn", [next(data) for _ in range(self._rng.randrange(2, 20))], f"{self.number}-{count}")
            else:
                event = next(data)
                label, own = event.pop("label"), f"c{self.number}-{count}"
                self._send("predict", [{**event, "id": own}], f"{own}-p")
                self._send("label", [{"id": own, "label": label}], f"{own}-l")
        self._client.close()

    def _send(self, route: str, lines: list[dict], key: str) -> None:
        while self.fault is None:
            try:
                reply = self._client.post_lines(f"/v1/models/m/{route}", lines, Idempotency_Key=key)
            except (OSError, http.client.HTTPException):
                if self._ends.is_set():
                    return
                time.sleep(0.02)
                continue
            if reply.status == 200:
                self.acknowledged[key] = 0 if route == "predict" else len(lines)
                return
            if reply.status not in {429, 503, 504, 507}:
                self.fault = f"{route} {key}: {reply.status} {reply.body!r}"
            if self._ends.is_set():
                return
            time.sleep(0.05)


@contextlib.contextmanager
def load(port: int, clients: int = 8) -> Iterator[list[Sender]]:
    ends = threading.Event()
    senders = [Sender(number, port, ends) for number in range(clients)]
    for each in senders:
        each.start()
    try:
        yield senders
    finally:
        ends.set()
        for each in senders:
            each.join(60.0)
    assert [each.fault for each in senders] == [None] * clients


def require_exactly_once(folder: Path, senders: list[Sender]) -> None:
    entries = logged(folder)
    assert [entry.position for entry in entries] == list(range(1, len(entries) + 1))
    keys = [entry.key for entry in entries]
    assert len(set(keys)) == len(keys)
    acknowledged = {key: count for each in senders for key, count in each.acknowledged.items()}
    assert acknowledged.keys() <= set(keys)
    state = require_same_as_in_order(folder)
    learned = sum(entry.body.count(b"\n") + 1 for entry in entries if entry.kind != "predict")
    assert state.model is not None
    assert state.model.metrics.events == learned
    assert state.refused == 0


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.long)])
def test_kills_at_any_instant_under_load_lose_nothing_and_learn_nothing_twice(kills: int, tmp_path: Path) -> None:
    folder, rng = tmp_path / "models", random.Random(kills)
    options = (*KEEP, "--snapshot-seconds", "1")
    server = Server(folder, *options)
    server.wait_until_ready()
    create(server)
    with load(server.port) as senders:
        for _ in range(kills):
            time.sleep(rng.uniform(0.0, 0.7))
            server.kill()
            server = Server(folder, *options, port=server.port)
        server.wait_until_ready()
        time.sleep(1.0)
    assert server.stop() == 0
    assert sum(sum(each.acknowledged.values()) for each in senders) > 20 * kills
    require_exactly_once(folder, senders)


def test_sigterm_works_off_what_waits_saves_and_exits_with_0(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    server = Server(folder, *KEEP)
    server.wait_until_ready()
    create(server)
    with load(server.port, clients=4) as senders:
        time.sleep(1.5)
        assert server.stop() == 0
    require_exactly_once(folder, senders)
    assert saved(folder).state.position == len(logged(folder))


def test_a_full_disk_refuses_to_learn_goes_on_predicting_and_recovers(tmp_path: Path) -> None:
    folder = tmp_path / "models"

    def limit() -> None:  # SQLite's files cannot grow beyond this
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))

    with serving(folder, *KEEP, preexec=limit) as server:
        client = server.client()
        client.put("m", task="numbers", columns={"x": "number"})
        assert client.post("/v1/models/m/learn", {"x": 1, "label": 2}).status == 200
        text, learned = "x" * 20_000, 1
        while (reply := client.post("/v1/models/m/learn", {"x": learned, "note": text, "label": 2})).status == 200:
            learned += 1
            assert learned < 200
        assert (reply.status, reply.kind) == (507, "disk-full")
        assert "retry-after" in reply.headers
        assert client.post("/v1/models/m/predict", {"x": 1}).status == 200
        glance = client.get("/v1/models")["models"][0]
        assert glance["problem"] is not None
        assert glance["events"] == learned
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert client.post("/v1/models/m/learn", {"x": 1, "label": 2}).status == 200
        glance = client.get("/v1/models")["models"][0]
        assert (glance["problem"], glance["events"]) == (None, learned + 1)
        client.close()
    require_same_as_in_order(folder)


def test_a_clock_that_is_set_back_expires_nothing_twice_and_replays_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from odca.serve.limits import Limits, ModelLimits
    from odca.serve.spec import Spec
    from odca.serve.writer import Outcome, Request, Told, Writer, recovered, write_snapshot

    class Silent(Told):
        outcomes: list[Outcome]

        def answered(self, outcomes: object) -> None:
            self.outcomes = [outcome for _, outcome in outcomes]  # type: ignore[attr-defined]

        def committed(self, name: str, requests: int, seconds: float) -> None:
            pass

    folder = tmp_path / "models" / "m"
    folder.mkdir(parents=True)
    spec = Spec(task="numbers", columns={"x": "number"}, limits=ModelLimits(max_pending_age=100.0))
    state = State(spec)
    write_snapshot(folder, SavedState(state).saved())
    log, told = Log(folder / "log.sqlite"), Silent()
    writer = Writer("m", folder, state, log, Limits(), told)
    clocks = []
    for k, now in enumerate((1000.0, 1050.0, 20.0, 30.0, 1110.0, 500.0)):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        body = json.dumps({"x": k, "id": f"p{k}"}).encode()
        writer._handle([Request("predict", None, Asking(), body, None)])
        assert told.outcomes[0].answer.status == 200
        clocks.append(state.clock)
    assert clocks == [1000.0, 1050.0, 1050.0, 1050.0, 1110.0, 1110.0]
    assert (len(state.pending), state.pending.expired) == (5, 1)
    assert bytes_of(recovered(folder, log)) == bytes_of(state)
    log.close()


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """The folder of a service that was killed, with a snapshot and a log behind it."""
    folder = tmp_path / "models"
    server = Server(folder, *KEEP, "--snapshot-seconds", "1")
    server.wait_until_ready()
    client = server.client()
    client.put("m", task="classes", classes=["no", "yes"], columns={"price": "number"})
    data = events(400, seed=7)
    for k in range(0, 300, 10):
        client.post_lines("/v1/models/m/learn", data[k : k + 10])
    end = time.monotonic() + 30.0
    while client.get("/v1/models/m")["storage"]["snapshot_position"] < 30 and time.monotonic() < end:
        time.sleep(0.1)
    for k in range(300, 400, 10):
        client.post_lines("/v1/models/m/learn", data[k : k + 10])
    server.kill()
    client.close()
    return folder


def half_a_page_behind_the_log(folder: Path) -> None:
    with (folder / "models" / "m" / "log.sqlite-wal").open("ab") as file:
        file.write(random.Random(1).randbytes(2500))


def half_a_snapshot(folder: Path) -> None:
    whole = (folder / "models" / "m" / "snapshot.safetensors").read_bytes()
    (folder / "models" / "m" / ".snapshot.safetensors.odca0").write_bytes(whole[: len(whole) // 2])


def half_a_model(folder: Path) -> None:
    (folder / "models" / ".new-other").mkdir()
    (folder / "models" / ".new-other" / "spec.json").write_text("{")


@pytest.mark.parametrize("damage", [half_a_page_behind_the_log, half_a_snapshot, half_a_model])
def test_what_a_crash_leaves_half_written_is_ignored(damage: Callable[[Path], None], killed: Path) -> None:
    damage(killed)
    with serving(killed, *KEEP) as server:
        client = server.client()
        assert client.get("/v1/models/m")["events"] == 400
        assert client.post_lines("/v1/models/m/learn", events(10, seed=8)).status == 200
        client.close()
    require_same_as_in_order(killed)


def test_a_damaged_entry_is_reported_and_the_other_models_go_on(killed: Path) -> None:
    with contextlib.closing(sqlite3.connect(killed / "models" / "m" / "log.sqlite")) as log, log:
        log.execute("UPDATE log SET body = CAST(body || 'x' AS BLOB) WHERE position = (SELECT max(position) FROM log)")
    with serving(killed) as server:
        client = server.client()
        client.put("other", task="numbers", columns={"x": "number"})
        models = {each["name"]: each for each in client.get("/v1/models")["models"]}
        assert models["m"]["state"] == "failed"
        assert "entry 40" in models["m"]["problem"]
        assert client.post_lines("/v1/models/m/learn", events(1)).status == 503
        assert client.post("/v1/models/other/learn", {"x": 1, "label": 1}).status == 200
        client.close()


def test_a_folder_is_served_by_one_process(tmp_path: Path) -> None:
    with serving(tmp_path / "models"), pytest.raises(AssertionError, match="another process"):
        Server(tmp_path / "models")
