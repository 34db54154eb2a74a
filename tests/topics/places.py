"""Topics that tests write and read with keys of their choice."""

from __future__ import annotations

from collections.abc import Sequence

from aiokafka import ConsumerRecord, TopicPartition

from topics.connection import Connection
from topics.sealing import Sealing


class Place:
    """One topic of one partition, written and read with different keys."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.bootstrap = bootstrap
        self.topic = topic

    def connection(self, sealing: Sealing) -> Connection:
        """Return a connection with these keys."""
        return Connection(self.bootstrap, sealing=sealing)

    async def send(self, sealing: Sealing, *values: bytes | None) -> None:
        """Write records, each with the key `k`."""
        async with self.connection(sealing).producer() as producer:
            for value in values:
                await producer.send_and_wait(self.topic, value, key=b"k", partition=0)

    async def read(self, sealing: Sealing, count: int) -> Sequence[ConsumerRecord]:
        """Return the topic's first records."""
        found: list[ConsumerRecord] = []
        async with self.connection(sealing).consumer() as consumer:
            place = TopicPartition(self.topic, 0)
            consumer.assign([place])
            await consumer.seek_to_beginning(place)
            while len(found) < count:
                found += (await consumer.getmany(timeout_ms=200)).get(place, [])
        return found
