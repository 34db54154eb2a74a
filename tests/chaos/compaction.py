"""A compacted topic whose log cleaner can be watched at work: on real Kafka it takes minutes unless it is told to hurry."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from topics.connection import Connection

LIMIT_S = 90.0
#: A segment lasts no longer than this, and the cleaner takes every closed one with anything to clean in it.
_SEGMENT_MS = 50
_HURRY = {
    "cleanup.policy": "compact",
    "segment.ms": str(_SEGMENT_MS),
    "min.cleanable.dirty.ratio": "0.0",
    "max.compaction.lag.ms": "1",
    # What every worker asks of a journal: tombstones stay for an hour.
    "delete.retention.ms": "3600000",
}


class Found(NamedTuple):
    """A record that is still in the log."""

    offset: int
    key: bytes
    value: bytes | None


async def create(connection: Connection, topic: str) -> None:
    """Create `topic`, with one partition, for a cleaner in a hurry."""
    admin = AIOKafkaAdminClient(**connection.arguments())
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, 1, 1, topic_configs=_HURRY)])
    finally:
        await admin.close()


async def end_of(connection: Connection, topic: str) -> int:
    """Return the offset that the next record gets."""
    place = TopicPartition(topic, 0)
    async with connection.consumer() as consumer:
        return int((await consumer.end_offsets([place]))[place])


async def records(connection: Connection, topic: str) -> list[Found]:
    """Return all records that are in the log now."""
    place = TopicPartition(topic, 0)
    found: list[Found] = []
    async with connection.consumer() as consumer, asyncio.timeout(LIMIT_S):
        consumer.assign([place])
        consumer.seek(place, 0)
        end = (await consumer.end_offsets([place]))[place]
        while await consumer.position(place) < end:
            batches = await consumer.getmany(place, timeout_ms=200)
            found += (Found(one.offset, one.key, one.value) for one in batches.get(place, ()))
    return found


async def cleaned(
    connection: Connection,
    topic: str,
    gone: Callable[[Sequence[Found]], bool],
    write: Callable[[], Awaitable[object]],
) -> list[Found]:
    """Return the log once the cleaner has been there and what was to go is `gone`; `write` appends something.

    The segment that is written to is never cleaned, so records have to follow for it to be closed.
    """
    async with asyncio.timeout(LIMIT_S):
        while True:
            await write()
            await asyncio.sleep(2 * _SEGMENT_MS / 1000)
            found = await records(connection, topic)
            if gone(found):
                return found
