"""Asking the workers of a pipeline to erase threads, and hearing what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from topics import codec, names
from topics.connection import Connection
from topics.errors import WireError
from topics.ids import ThreadKey
from topics.names import JournalRole, Names
from topics.records import AuditRecord, Erase, Erased

_POLL_MS = 200


@dataclass(frozen=True, slots=True)
class Patience:
    """How long answers are waited for, in seconds: those of turn workers, then those of runners."""

    turns_s: float = 30.0
    runners_s: float = 10.0


class Erasing:
    """Erases in the pipeline that `topic_names` describes, which has so many `partitions`."""

    def __init__(self, connection: Connection, topic_names: Names, partitions: int) -> None:
        self._connection = connection
        self._names = topic_names
        self._partitions = partitions
        self._topic = topic_names.topic(names.ERASURES)

    def partitions_of(self, wish: Erase) -> Sequence[int]:
        """Return the partitions that a wish concerns: a thread's own, or all of them, since users have none."""
        if wish.thread_id is None:
            return range(self._partitions)
        return (ThreadKey(wish.tenant, wish.thread_id).partition(self._partitions),)

    async def runner_roles(self) -> list[JournalRole]:
        """Return the roles, but for turn workers, that have ever kept a journal here."""
        roles: list[JournalRole] = [role for role in get_args(JournalRole) if role != "turns"]
        async with self._connection.consumer() as consumer:
            places = {role: [TopicPartition(self._names.journal(role), n) for n in self._all] for role in roles}
            ends = await consumer.end_offsets([place for those in places.values() for place in those])
        return [role for role, those in places.items() if any(ends[place] for place in those)]

    async def audit(self, record: AuditRecord) -> None:
        """Write down who does what.

        Raises:
            BrokerUnreachableError: nobody answers.
        """
        async with self._connection.producer() as producer:
            topic, key = self._names.topic(names.AUDIT), record.key.encode()
            await producer.send_and_wait(topic, codec.encode(record), key=key, partition=0)

    async def erase(self, wish: Erase, runners: Iterable[JournalRole], patience: Patience) -> AsyncIterator[Erased]:
        """Publish a wish and yield the answers as they come, until all have come or nobody is waited for any longer.

        Raises:
            BrokerUnreachableError: nobody answers.
        """
        missing = {("turns", partition) for partition in self.partitions_of(wish)}
        later = set(runners)
        async with self._connection.producer() as producer, self._connection.consumer() as consumer:
            places = [TopicPartition(self._topic, partition) for partition in self.partitions_of(wish)]
            consumer.assign(places)
            # From where they end now, also as the embedded broker tells it, which is too low: that only gives more to read.
            for place, end in (await consumer.end_offsets(places)).items():
                consumer.seek(place, end)
            await self._publish(producer, wish)
            loop = asyncio.get_running_loop()
            deadline = loop.time() + patience.turns_s
            while missing and loop.time() < deadline:
                for answer in await self._read(consumer, wish):
                    if (answer.role, answer.partition) not in missing and answer.role == "turns":
                        continue
                    missing.discard((answer.role, answer.partition))
                    if answer.role == "turns" and answer.threads:
                        # Only now does a runner know what to do.
                        missing |= {(role, answer.partition) for role in later}
                    yield answer
                if not any(role == "turns" for role, _ in missing):
                    deadline = min(deadline, loop.time() + patience.runners_s)

    @property
    def _all(self) -> range:
        return range(self._partitions)

    async def _publish(self, producer: AIOKafkaProducer, wish: Erase) -> None:
        for partition in self.partitions_of(wish):
            await producer.send_and_wait(self._topic, codec.encode(wish), key=wish.id.encode(), partition=partition)

    @staticmethod
    async def _read(consumer: AIOKafkaConsumer, wish: Erase) -> list[Erased]:
        found: list[Erased] = []
        for batch in (await consumer.getmany(timeout_ms=_POLL_MS)).values():
            for one in batch:
                try:
                    record = codec.decode(one.value, names.ERASURE)
                except WireError:
                    continue  # others' words: workers have dead-lettered them
                if isinstance(record, Erased) and record.id == wish.id:
                    found.append(record)
        return found
