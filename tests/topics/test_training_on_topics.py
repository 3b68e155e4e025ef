"""`odca train` and `odca.train` on topics: as on files, and resumed where the model stopped."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import odca
from brokers import Kafka, redis_server
from odca.stream.checkpoint import Checkpoint
from serving import events


@pytest.fixture(scope="module")
def kafka() -> Kafka:
    return Kafka()


def lines(n: int, seed: int = 0) -> list[bytes]:
    return [json.dumps(each).encode() for each in events(n, seed=seed)]


def train(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "odca", "train", *words]
    return subprocess.run(command, capture_output=True, text=True, check=check, timeout=120)


def test_a_topic_gives_the_model_of_a_file_with_the_same_lines(kafka: Kafka, tmp_path: Path) -> None:
    data = lines(3000)
    kafka.send("visits", data)
    (tmp_path / "visits.jsonl").write_bytes(b"\n".join(data) + b"\n")
    train(kafka.address("visits"), "--label", "label", "-o", str(tmp_path / "topic.safetensors"))
    train(str(tmp_path / "visits.jsonl"), "--label", "label", "-o", str(tmp_path / "file.safetensors"))
    assert (tmp_path / "topic.safetensors").read_bytes() == (tmp_path / "file.safetensors").read_bytes()
    with redis_server(tmp_path / "redis") as redis:
        redis.send("visits", data)
        model = odca.train(redis.address("visits"), label="label")
        model.save(tmp_path / "redis.safetensors")
    assert (tmp_path / "redis.safetensors").read_bytes() == (tmp_path / "file.safetensors").read_bytes()


def test_a_training_that_is_killed_again_and_again_goes_on_where_its_model_stopped(
    kafka: Kafka, tmp_path: Path
) -> None:
    data = lines(30_000, seed=1)
    kafka.send("killed", data)
    whole, parts, state = (
        str(tmp_path / name) for name in ("whole.safetensors", "parts.safetensors", "state.safetensors")
    )
    train(kafka.address("killed"), "--label", "label", "-o", whole)
    command = [sys.executable, "-m", "odca", "train", kafka.address("killed"), "--label", "label", "-o", parts]
    command += ["--checkpoint", state, "--resume", "--every", "2000", "--quiet"]
    kills, before = 0, 0.0
    while not Path(parts).exists():
        process = subprocess.Popen(command)
        while process.poll() is None:
            changed = Path(state).stat().st_mtime_ns if Path(state).exists() else 0.0
            if changed > before and not Path(parts).exists() and kills < 5:
                before, kills = changed, kills + 1
                process.kill()
            time.sleep(0.001)
        assert process.returncode in {0, -signal.SIGKILL}
    assert kills >= 2
    assert Path(parts).read_bytes() == Path(whole).read_bytes()
    assert Checkpoint.load(state).position.places == dict.fromkeys("0123", "7499")


def test_a_followed_topic_is_learned_until_the_signal_and_resumed_behind_it(kafka: Kafka, tmp_path: Path) -> None:
    kafka.send("followed", lines(400))
    state = tmp_path / "state.safetensors"
    words = [kafka.address("followed"), "--label", "label", "-o", str(tmp_path / "m.safetensors"), "--follow"]
    words += ["--checkpoint", str(state), "--resume", "--every", "1"]
    process = subprocess.Popen([sys.executable, "-m", "odca", "train", *words], stdout=subprocess.DEVNULL)
    end = time.monotonic() + 60.0
    while not state.exists() or Checkpoint.load(state).model.metrics.events < 400:
        assert time.monotonic() < end
        time.sleep(0.05)
    kafka.send("followed", lines(100, seed=2), begin=400)
    while Checkpoint.load(state).model.metrics.events < 500:
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    kafka.send("followed", lines(50, seed=3), begin=500)
    words.remove("--follow")
    assert "Resuming after 500 events" in train(*words).stdout
    assert odca.load(tmp_path / "m.safetensors").metrics.events == 550


def test_a_bad_message_is_named_by_its_place_and_can_be_skipped(kafka: Kafka, tmp_path: Path) -> None:
    data: list[bytes | None] = [*lines(200)]
    data[41], data[83], data[124] = b'{"price": }', None, b"  \n "
    data[7] = (data[7] or b"").replace(b", ", b",\n ")
    kafka.send("bad", data)
    refused = train(kafka.address("bad"), "--label", "label", "-o", str(tmp_path / "m.safetensors"), check=False)
    assert refused.returncode != 0
    assert f"{kafka.address('bad')}, message 1:10, character" in refused.stderr
    skipped = train(
        kafka.address("bad"), "--label", "label", "-o", str(tmp_path / "m.safetensors"), "--on-error", "skip"
    )
    assert "3 lines" in skipped.stderr, skipped
    assert odca.load(tmp_path / "m.safetensors").metrics.events == 197


def test_a_message_that_is_too_long_is_left_out_and_the_training_resumes_behind_it(
    kafka: Kafka, tmp_path: Path
) -> None:
    data = lines(300)
    data[150] = json.dumps({"price": 1, "note": "x" * 100_000, "label": "yes"}).encode()
    kafka.send("long", data)
    words = [kafka.address("long"), "--label", "label", "-o", str(tmp_path / "m.safetensors"), "--on-error", "skip"]
    words += ["--max-line", "5000", "--checkpoint", str(tmp_path / "c.safetensors"), "--resume"]
    train(*words)
    assert odca.load(tmp_path / "m.safetensors").metrics.events == 299
    kafka.send("long", lines(10, seed=9), begin=300)
    train(*words)
    assert odca.load(tmp_path / "m.safetensors").metrics.events == 309


def test_what_does_not_go_with_a_topic_is_refused(kafka: Kafka, tmp_path: Path) -> None:
    kafka.send("alone", lines(10))
    with pytest.raises(ValueError, match="for itself"):
        odca.train([kafka.address("alone"), "x.csv"], label="label")
    with pytest.raises(ValueError, match="lines of text"):
        odca.train(kafka.address("alone"), label="label", format="parquet")
    refused = train(kafka.address("alone"), "--label", "label", "--shards", "2", "-o", str(tmp_path / "m"), check=False)
    assert "a topic" in refused.stderr
    with pytest.raises(ValueError, match="Unknown topic"):
        odca.train(kafka.address("nosuch"), label="label")


def test_messages_that_were_deleted_before_they_were_read_are_reported(tmp_path: Path) -> None:
    words = (
        "--label",
        "label",
        "-o",
        str(tmp_path / "m.safetensors"),
        "--checkpoint",
        str(tmp_path / "state.safetensors"),
        "--resume",
    )
    with redis_server(tmp_path / "redis") as redis:
        redis.send("visits", lines(200))
        assert "no longer there" not in train(redis.address("visits"), *words).stderr
        redis.send("visits", lines(300, seed=1))
        redis.trim("visits", 10)
        assert "no longer there: later ones may have been deleted, too" in train(redis.address("visits"), *words).stderr
