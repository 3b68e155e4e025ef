"""Brokers on loopback: librdkafka's own mock of a Kafka cluster, and a Redis server."""

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest


class Kafka:
    """A cluster that lives as long as this object. Its topics have four partitions."""

    PARTITIONS = 4

    def __init__(self) -> None:
        from confluent_kafka import Producer

        self._producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none:1", "log_level": 0})
        brokers = self._producer.list_topics(timeout=20).brokers.values()
        self.servers = ",".join(f"{each.host}:{each.port}" for each in brokers)

    def address(self, topic: str) -> str:
        return f"kafka://{self.servers}/{topic}"

    def send(
        self, topic: str, messages: Sequence[bytes | None], *, partitions: int = PARTITIONS, begin: int = 0
    ) -> None:
        """Send messages to partitions in turn, a millisecond after another."""
        for k, each in enumerate(messages, begin):
            while True:
                try:
                    self._producer.produce(topic, each, partition=k % partitions, timestamp=1_700_000_000_000 + k)
                    break
                except BufferError:
                    self._producer.poll(0.1)
        assert self._producer.flush(60) == 0


class Redis:
    """A server with a folder of its own, which can be stopped and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._folder, self._options = folder, options
        folder.mkdir(parents=True, exist_ok=True)
        self.start()

    def start(self) -> None:
        program = shutil.which("redis-server")
        assert program is not None
        words = (
            program,
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--dir",
            str(self._folder),
            "--appendonly",
            "yes",
            "--save",
            "",
        )
        self._process = subprocess.Popen([*words, *self._options], stdout=subprocess.DEVNULL)
        end = time.monotonic() + 20.0
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1.0):
                return
            time.sleep(0.02)
        raise AssertionError("redis-server does not start")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(20.0)

    def address(self, stream: str) -> str:
        return f"redis://127.0.0.1:{self.port}/{stream}"

    def send(self, stream: str, messages: Sequence[bytes], *, field: str = "event", **login: str) -> None:
        import redis

        with contextlib.closing(redis.Redis(port=self.port, protocol=2, **login)) as client:
            for begin in range(0, len(messages), 1000):
                pipe = client.pipeline(transaction=False)
                for each in messages[begin : begin + 1000]:
                    pipe.xadd(stream, {field: each})
                pipe.execute()

    def trim(self, stream: str, count: int) -> None:
        """Delete all entries but the last ones."""
        import redis

        with contextlib.closing(redis.Redis(port=self.port, protocol=2)) as client:
            client.xtrim(stream, maxlen=count, approximate=False)


@contextlib.contextmanager
def redis_server(folder: Path, *options: str) -> Iterator[Redis]:
    if shutil.which("redis-server") is None:
        pytest.skip("needs redis-server")
    server = Redis(folder, *options)
    try:
        yield server
    finally:
        server.stop()
