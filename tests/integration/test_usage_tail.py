"""The tail of the usage topic on real brokers: read to its end first, then followed, and never silently behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer

from streams.faust_shell.usage_tail import UsageTail
from streams.faust_shell.watchdog import ConsumerStalledError
from tests.brokers.broker import Broker
from topics import codec, names
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.content import Usage
from topics.ids import ThreadKey
from topics.names import Names
from topics.records import UsageRecord

PARTITIONS = 2
WAIT_S = 30.0


class Topic:
    """The usage topic of a pipeline, what is written to it, and what a tail tells of it."""

    def __init__(self, broker: Broker, prefix: str) -> None:
        self.connection, self.names = Connection(broker.bootstrap), Names(prefix)
        self.topic = self.names.topic(names.USAGE)
        self.told: list[tuple[str, bool]] = []
        self.fatal: list[BaseException] = []

    def tail(self, window_s: float = 3600.0, **options: Any) -> UsageTail:
        """Return a tail that tells what it reads here."""

        def count(record: UsageRecord, news: bool) -> None:
            self.told.append((record.id, news))

        return UsageTail(
            self.connection, self.names, PARTITIONS, window_s, count, time.time, self.fatal.append, **options
        )

    async def write(self, *values: str | bytes, partition: int | None = None) -> None:
        """Write usage records of these ids, in one batch, or raw values."""
        async with self.connection.producer(linger_ms=100) as producer:
            sent = []
            for number, value in enumerate(values):
                raw = value if isinstance(value, bytes) else codec.encode(usage(value))
                key = ThreadKey("default", f"h{number}").encode()
                sent.append(await producer.send(self.topic, raw, key=key, partition=partition))
            await asyncio.gather(*sent)

    async def until(self, enough: Callable[[], bool]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(WAIT_S):
            while not enough():  # noqa: ASYNC110 - what is waited for is told by a callback
                await asyncio.sleep(0.02)


def usage(name: str) -> UsageRecord:
    """Return a usage record of the id `name`."""
    ids: dict[str, Any] = {"thread_id": "h", "turn_id": name, "step": 0, "attempt": 0}
    return UsageRecord(**ids, id=name, agent="a", usage=Usage(), outcome="completed", at=time.time())


async def opened(broker: Broker, prefix: str) -> Topic:
    """Return the topic of a new pipeline."""
    topic = Topic(broker, prefix)
    await TopicAdmin(topic.connection, topic.names).create(PARTITIONS)
    return topic


async def test_what_is_there_is_told_before_the_block_and_what_comes_after_as_news(broker: Broker, prefix: str) -> None:
    """Of all partitions; a record that cannot be read is passed over, those behind it are not."""
    topic = await opened(broker, prefix)
    await topic.write(*(f"old-{number}" for number in range(20)))
    await topic.write(b"{", b"\xff", "old-last")
    async with topic.tail().followed() as found:
        assert sorted(topic.told) == sorted((f"old-{name}", False) for name in [*range(20), "last"])
        assert found == 23
        await topic.write("new-0", partition=0)
        await topic.write("new-1", partition=1)
        await topic.until(lambda: len(topic.told) == 23)
    assert set(topic.told[-2:]) == {("new-0", True), ("new-1", True)}
    assert topic.fatal == []


async def test_an_empty_topic_is_read_at_once_and_followed_from_its_beginning(broker: Broker, prefix: str) -> None:
    """A partition that gets its first record later is followed like any other."""
    topic = await opened(broker, prefix)
    async with topic.tail().followed() as found:
        assert (found, topic.told) == (0, [])
        await topic.write("one", partition=1)
        await topic.until(lambda: topic.told == [("one", True)])


async def test_a_consumer_that_stands_still_is_fatal(
    broker: Broker, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says nothing by itself: that more is there and none is fetched is what tells."""
    topic = await opened(broker, prefix)

    async def nothing(*_: object, **__: object) -> dict[object, object]:
        await asyncio.sleep(0.05)
        return {}

    async with topic.tail(check_s=0.1, stall_s=1.0).followed():
        monkeypatch.setattr(AIOKafkaConsumer, "getmany", nothing)
        await topic.write("a", "b", partition=0)
        await topic.write("c", partition=0)
        await topic.until(lambda: bool(topic.fatal))
    assert isinstance(topic.fatal[0], ConsumerStalledError)


async def test_whatever_is_raised_while_following_is_fatal(
    broker: Broker, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tail that ended would leave the figures as they were."""
    topic = await opened(broker, prefix)

    async def broken(*_: object, **__: object) -> dict[object, object]:
        raise LookupError

    async with topic.tail().followed():
        monkeypatch.setattr(AIOKafkaConsumer, "getmany", broken)
        await topic.until(lambda: bool(topic.fatal))
    assert isinstance(topic.fatal[0], LookupError)
