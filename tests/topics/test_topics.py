"""Topics are read from a position, in an order that depends on the position alone, through every failure of the broker."""

import contextlib
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from brokers import Kafka, redis_server
from odca.topics import Address, Following, Message, TopicError, UnreachableError
from odca.topics import kafka as kafka_module


@pytest.fixture(scope="module")
def kafka() -> Kafka:
    return Kafka()


def numbers(n: int, begin: int = 0) -> list[bytes]:
    return [str(k).encode() for k in range(begin, begin + n)]


def read_all(topic: Following, most: int = 1000) -> list[Message]:
    topic.open()
    found = []
    while not topic.is_at_end:
        found += topic.read(most, 5.0)
    return found


@contextlib.contextmanager
def opened(address: str, position: dict[str, str] | None = None, **how: bool) -> Iterator[Following]:
    topic = Following(Address.of(address), position or {}, **how)
    try:
        yield topic
    finally:
        topic.close()


def read_until(topic: Following, count: int, seconds: float = 20.0) -> list[Message]:
    found: list[Message] = []
    end = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < end:
        found += topic.read(1000, 0.5)
    return found


def test_partitions_are_merged_by_time_wherever_the_reader_starts_again(kafka: Kafka) -> None:
    kafka.send("merged", numbers(10_000))
    rng, position, found = random.Random(3), {}, list[Message]()
    while len(found) < 10_000:
        with opened(kafka.address("merged"), position, follow=rng.random() < 0.5) as topic:
            for _ in range(rng.randrange(1, 5)):
                found += topic.read(rng.randrange(1, 700), 5.0)
            position = topic.position
    assert [int(each.data or b"") for each in found] == list(range(10_000))
    assert position == dict.fromkeys("0123", "2499")


def test_a_partition_far_ahead_waits_without_being_held_in_memory(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_module, "MOST_HELD", 50)
    monkeypatch.setattr(kafka_module, "AT_ONCE", 20)
    kafka.send("skewed", numbers(2000), partitions=1)
    kafka.send("skewed", numbers(3, begin=2001), begin=2001)  # partitions 1, 2 and 3 begin after all others
    with opened(kafka.address("skewed"), follow=False) as topic:
        topic.open()
        found, held = list[Message](), 0
        while not topic.is_at_end:
            found += topic.read(100, 5.0)
            held = max(held, *(len(each.waiting) for each in topic._source._partitions.values()))
    assert [int(each.data or b"") for each in found] == [*range(2000), *range(2001, 2004)]
    assert held <= 50 + 20 + 1


def test_what_comes_later_is_read_as_it_arrives_and_nothing_behind_the_end_unless_followed(kafka: Kafka) -> None:
    kafka.send("later", numbers(100))
    with opened(kafka.address("later"), follow=False) as ends, opened(kafka.address("later")) as follows:
        ends.open()
        kafka.send("later", numbers(10, begin=100), begin=100)
        assert len(read_until(follows, 110)) == 110
        found = []
        while not ends.is_at_end:
            found += ends.read(1000, 5.0)
        assert len(found) == 100
        assert ends.read(10, 0.1) == []


def test_a_topic_is_read_from_its_end_if_the_address_says_so(kafka: Kafka, tmp_path: Path) -> None:
    kafka.send("tail", numbers(40))
    address = kafka.address("tail") + "?start=end"
    with opened(address) as topic:
        topic.open()
        kafka.send("tail", numbers(1, begin=40), begin=40)
        found = read_until(topic, 1)
        assert [each.data for each in found] == [b"40"]
        position = topic.position
    kafka.send("tail", numbers(3, begin=41), begin=41)  # while nobody reads
    with opened(address, position) as topic:
        assert [each.data for each in read_until(topic, 3)] == numbers(3, begin=41)
    with redis_server(tmp_path) as redis:
        redis.send("tail", numbers(5))
        with opened(redis.address("tail") + "?start=end") as topic:
            topic.open()
            redis.send("tail", numbers(2, begin=5))
            assert [each.data for each in read_until(topic, 2)] == numbers(2, begin=5)


def test_a_stream_of_redis_is_read_from_any_position(tmp_path: Path) -> None:
    with redis_server(tmp_path) as redis:
        redis.send("visits", numbers(3000))
        rng, position, found = random.Random(4), {}, list[Message]()
        while len(found) < 3000:
            with opened(redis.address("visits"), position, follow=False) as topic:
                for _ in range(rng.randrange(1, 5)):
                    found += topic.read(rng.randrange(1, 400), 5.0)
                position = topic.position
        assert [int(each.data or b"") for each in found] == list(range(3000))
        redis.send("visits", [b"no"], field="other")
        with opened(redis.address("visits"), position) as topic:
            last = read_until(topic, 1)[0]
            assert (last.data, last.fault) == (None, "the entry has no field 'event'.")
        with opened(redis.address("visits") + "?field=other", position) as topic:
            assert read_until(topic, 1)[0].data == b"no"


def test_redis_may_go_and_come_back(tmp_path: Path) -> None:
    with redis_server(tmp_path) as redis:
        redis.send("visits", numbers(10))
        with opened(redis.address("visits")) as topic:
            assert len(read_until(topic, 10)) == 10
            redis.stop()
            end = time.monotonic() + 20.0
            while topic.problem is None and time.monotonic() < end:
                assert topic.read(10, 0.2) == []
            assert not topic.is_connected
            assert topic.problem is not None
            assert "127.0.0.1" in topic.problem
            redis.start()
            redis.send("visits", numbers(5, begin=10))
            assert [each.data for each in read_until(topic, 5)] == numbers(5, begin=10)
            assert (topic.problem, topic.is_connected) == (None, True)


def test_kafka_may_go_and_what_cannot_be_reached_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_module, "SECONDS", 2.0)
    cluster = Kafka()
    cluster.send("visits", numbers(10))
    with opened(cluster.address("visits")) as topic:
        assert len(read_until(topic, 10)) == 10
        address = cluster.address("visits")
        del cluster  # with the cluster in it
        end = time.monotonic() + 20.0
        while topic.problem is None and time.monotonic() < end:
            topic.read(10, 0.2)
        assert topic.problem is not None
        assert not topic.is_connected
    with opened(address) as gone, pytest.raises(UnreachableError):
        gone.open()
    with opened(address, insists=True) as insistent:
        assert insistent.read(10, 1.0) == []
        assert insistent.problem is not None


def test_secrets_come_from_a_file_and_are_never_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "redis.settings"
    settings.write_text("# of the shop\nusername = default\npassword=s3cr=et\n")
    monkeypatch.setenv("ODCA_REDIS_CONFIG", str(settings))
    with redis_server(tmp_path / "data", "--requirepass", "s3cr=et") as redis:
        redis.send("visits", numbers(3), password="s3cr=et")
        with opened(redis.address("visits"), follow=False) as topic:
            assert len(read_all(topic)) == 3
        assert "s3cr" not in repr(topic.address)
        settings.write_text("password=wr0ng\n")
        with opened(redis.address("visits")) as topic:
            with pytest.raises(TopicError) as refused:
                topic.open()
            assert "wr0ng" not in str(refused.value)
    settings.write_text("pasword=wr0ng\n")
    with pytest.raises(TopicError, match="Did you mean 'password'") as refused, opened("redis://127.0.0.1/x") as topic:
        topic.open()
    assert "wr0ng" not in str(refused.value)


def test_settings_that_decide_what_is_read_are_refused(kafka: Kafka, tmp_path: Path) -> None:
    settings = tmp_path / "kafka.settings"
    settings.write_text("enable.auto.commit=true\n")
    with (
        pytest.raises(TopicError, match=r"enable\.auto\.commit is not for you to set"),
        opened(f"{kafka.address('x')}?config={settings}") as topic,
    ):
        topic.open()
    settings.write_text("no.such.setting=1\n")
    with (
        pytest.raises(TopicError, match="No such configuration property"),
        opened(f"{kafka.address('x')}?config={settings}") as topic,
    ):
        topic.open()
    settings.write_text("client.id=shop\n")
    kafka.send("settings", numbers(2))
    with opened(f"{kafka.address('settings')}?config={settings}", follow=False) as topic:
        assert len(read_all(topic)) == 2


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://x/y", "begins with kafka://"),
        ("kafka://user:pa55@host/topic", "no user and no password"),
        ("kafka://host:x/topic", "host:port"),
        ("kafka:///topic", "host:port"),
        ("kafka://host", "name of a topic"),
        ("kafka://host/a/b", "name of a topic"),
        ("kafka://host/topic?begin=end", "no 'begin'"),
        ("kafka://host/topic?start=middle", "start must be"),
        ("kafka://host/topic?db=1", "no 'db'"),
        ("redis://a,b/stream", "one server"),
        ("redis://a/stream?db=x", "number of a database"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_what_it_may_hide(address: str, said: str) -> None:
    with pytest.raises(TopicError, match=said) as refused:
        Address.of(address)
    assert "pa55" not in str(refused.value)


def test_an_address_says_what_it_means() -> None:
    found = Address.of("kafka://a:9093,b/visits?start=end&as=first")
    assert (found.servers, found.name, found.start, found.label) == (("a:9093", "b:9092"), "visits", "end", "first")
    assert str(found) == "kafka://a:9093,b:9092/visits"
    found = Address.of("rediss://[::1]:7000/a%2Fb?db=2")
    assert (found.servers, found.name, found.db, found.label) == (("[::1]:7000",), "a/b", 2, "redis:a/b")


def test_a_topic_that_is_another_one_is_not_mistaken_for_the_one_that_was_read(kafka: Kafka, tmp_path: Path) -> None:
    kafka.send("short", numbers(8))
    with (
        pytest.raises(TopicError, match="not the topic that was read before"),
        opened(kafka.address("short"), {"0": "99"}) as topic,
    ):
        topic.open()
    with pytest.raises(TopicError, match="Unknown topic"), opened(kafka.address("nosuch")) as topic:
        topic.open()
    with redis_server(tmp_path) as redis:
        redis.send("visits", numbers(3))
        later = f"{10**15}-0"
        with (
            pytest.raises(TopicError, match="not the stream that was read before"),
            opened(redis.address("visits"), {"": later}) as topic,
        ):
            topic.open()
        with opened(redis.address("visits"), {"": "1-1"}) as topic:
            topic.open()
            assert topic.note is not None
            assert "1-1" in topic.note


def test_a_reader_that_began_at_the_end_of_an_empty_topic_misses_nothing_that_comes_while_the_broker_is_gone(
    tmp_path: Path,
) -> None:
    with redis_server(tmp_path) as redis, opened(f"{redis.address('late')}?start=end") as topic:
        assert topic.read(10, 0.1) == []  # open, and nothing is there
        topic.close()
        redis.send("late", numbers(3))
        assert [each.data for each in read_until(topic, 3, 5.0)] == numbers(3)
