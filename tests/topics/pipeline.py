"""A pipeline's topics on a real broker, and the part of its workers that tests of readers need to play."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.brokers.broker import Broker
from topics import codec
from topics.connection import Connection
from topics.names import RELEASED_FRAMES, Names, Topic
from topics.records import ReleasedFrame

PARTITIONS = 3


@dataclass(frozen=True)
class Pipeline:
    """Where the topics of one test are."""

    connection: Connection
    names: Names

    async def release(self, frames: Iterable[ReleasedFrame]) -> None:
        """Publish `frames` in order, as the turn worker does."""
        topic = self.names.topic(RELEASED_FRAMES)
        async with self.connection.producer() as producer:
            for frame in frames:
                thread = frame.turn.thread
                await producer.send_and_wait(
                    topic, codec.encode(frame), key=thread.encode(), partition=thread.partition(PARTITIONS)
                )

    async def send(self, topic: Topic, value: bytes, partition: int, key: bytes | None = None) -> int:
        """Publish raw bytes and return their offset."""
        async with self.connection.producer() as producer:
            sent = await producer.send_and_wait(self.names.topic(topic), value, key=key, partition=partition)
            return int(sent.offset)

    async def read(self, topic: Topic, count: int) -> list[ConsumerRecord]:
        """Return the first `count` records of a topic, or all there are if after a moment there are no more."""
        name = self.names.topic(topic)
        records: list[ConsumerRecord] = []
        async with self.connection.consumer() as consumer:
            consumer.assign([TopicPartition(name, number) for number in range(PARTITIONS)])
            await consumer.seek_to_beginning()
            while len(records) < count:
                batches = await consumer.getmany(timeout_ms=2000)
                if not batches:
                    break
                records += [record for batch in batches.values() for record in batch]
        return records


async def make(broker: Broker, name: str, partitions: int, **configs: str) -> None:
    """Create one topic behind the administration's back."""
    other = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await other.start()
    try:
        settings = {key.replace("_", "."): value for key, value in configs.items()}
        answer = await other.create_topics([NewTopic(name, partitions, 1, topic_configs=settings)])
        assert [code for _, code, _ in answer.topic_errors] == [0]
        # The controller is ahead of what the broker tells, and nothing here could set an event when it has caught up.
        while name not in await other.list_topics():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    finally:
        await other.close()
