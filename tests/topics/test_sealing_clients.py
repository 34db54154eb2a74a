"""Sealing through real clients, on every broker: what is sent, what comes, and what stops a reader."""

from __future__ import annotations

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.topics.places import Place
from topics.errors import SealedRecordError
from topics.key_ring import KeyRing
from topics.key_use import require_keys
from topics.names import FRAMES, RELEASED_FRAMES
from topics.sealing import AsStored, Sealing
from topics.unreadable import Unreadable

OLD = KeyRing({"old": bytes(32)}, "old")
BOTH = KeyRing({"old": bytes(32), "new": bytes(range(32))}, "new")


async def test_values_are_sealed_on_the_way_and_keys_and_tombstones_are_not(frames: Place) -> None:
    """Whoever has the keys sees what was sent; whoever looks at what is kept does not."""
    await frames.send(Sealing(OLD), b"one", None, b"two")
    await frames.send(Sealing(BOTH), b"three")
    opened = await frames.read(Sealing(BOTH), 4)
    assert [(one.key, one.value) for one in opened] == [(b"k", b"one"), (b"k", None), (b"k", b"two"), (b"k", b"three")]
    kept = await frames.read(AsStored(), 4)
    assert [one.key for one in kept] == [b"k"] * 4
    assert kept[1].value is None
    assert not any(word in (one.value or b"") for one in kept for word in (b"one", b"two", b"three"))


async def test_topics_that_anybody_reads_are_not_sealed(frames: Place) -> None:
    """Readers have no keys."""
    released = Place(frames.bootstrap, frames.topic.replace(FRAMES.name, RELEASED_FRAMES.name))
    await released.send(Sealing(BOTH), b"for everybody")
    assert [one.value for one in await released.read(Sealing(), 1)] == [b"for everybody"]


async def test_plain_records_come_as_they_are_or_not_at_all(frames: Place) -> None:
    """As the keys' use says."""
    await frames.send(Sealing(), b"plain")
    assert isinstance((await frames.read(Sealing(BOTH), 1))[0].value, Unreadable)
    assert [one.value for one in await frames.read(Sealing(BOTH, use="write"), 1)] == [b"plain"]


async def until_something_comes(consumer: AIOKafkaConsumer) -> None:
    """Ask for records until there are some."""
    while not await consumer.getmany(timeout_ms=200):
        pass


async def test_a_reader_that_lacks_a_key_gets_no_further(frames: Place) -> None:
    """However often it asks: not past the record, and not around it. One that has the key does."""
    await frames.send(Sealing(OLD), b"one")
    await frames.send(Sealing(BOTH), b"two")
    await frames.send(Sealing(OLD), b"three")
    async with frames.connection(Sealing(OLD)).consumer() as consumer:
        place = TopicPartition(frames.topic, 0)
        consumer.assign([place])
        await consumer.seek_to_beginning(place)
        for _ in range(3):
            with pytest.raises(SealedRecordError, match="at offset 1: the record is sealed with the key new"):
                await until_something_comes(consumer)
        assert await consumer.position(place) == 0
    assert [one.value for one in await frames.read(Sealing(BOTH), 3)] == [b"one", b"two", b"three"]


async def test_a_first_look_finds_that_a_key_is_missing(frames: Place) -> None:
    """At the last record, and only where there is one."""
    await require_keys(frames.connection(Sealing(OLD)), [frames.topic], 1)
    await frames.send(Sealing(BOTH), b"one")
    with pytest.raises(SealedRecordError, match="the key new"):
        await require_keys(frames.connection(Sealing(OLD)), [frames.topic], 1)
    await require_keys(frames.connection(Sealing(BOTH)), [frames.topic], 1)


async def test_batches_that_were_made_elsewhere_are_not_sent(frames: Place) -> None:
    """They would go out as they are."""
    async with frames.connection(Sealing(BOTH)).producer() as producer:
        with pytest.raises(RuntimeError, match="send_all"):
            await producer.send_batch(producer.create_batch(), frames.topic, partition=0)
