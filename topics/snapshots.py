"""Reading everything that is on some partitions now, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from topics.connection import Connection

_POLL_MS = 200


async def to_the_end(
    connection: Connection,
    consumer: AIOKafkaConsumer,
    places: Sequence[TopicPartition],
    starts: Mapping[TopicPartition, int] | None = None,
) -> AsyncIterator[ConsumerRecord]:
    """Assign `places` to the consumer, one of `connection`'s, and yield every record that is there now.

    Of a place in `starts` only those from that offset on.

    The end that the broker tells is only where to stop waiting: the embedded one tells it too low, so whatever still comes
    after it is taken too.

    Raises:
        BrokerUnreachableError: records that are there do not come.
    """
    consumer.assign(places)
    ends = await consumer.end_offsets(places)
    await consumer.seek_to_beginning()
    for place, offset in (starts or {}).items():
        consumer.seek(place, offset)
    deadline = asyncio.get_running_loop().time() + connection.limit_s
    while True:
        batches = await consumer.getmany(timeout_ms=_POLL_MS)
        for records in batches.values():
            for record in records:
                yield record
        if batches:
            deadline = asyncio.get_running_loop().time() + connection.limit_s
            continue
        if all([await consumer.position(place) >= ends[place] for place in places]):
            return
        if asyncio.get_running_loop().time() > deadline:
            raise connection.unreachable("records that should be there do not come")
