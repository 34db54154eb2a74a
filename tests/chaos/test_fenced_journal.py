"""The journal's fence on Apache Kafka, before and after its log cleaner has run: nothing late changes what is replayed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.protocol.produce import ProduceRequest

from streams.faust_shell.kafka import KafkaLogs, KafkaReader
from streams.journal.claims import Claim
from streams.journal.errors import SupersededError
from streams.journal.keys import RowKey
from streams.journal.replay import Replay
from streams.journal.runs import Handed, Run
from streams.journal.writer import JournalWriter, Row
from tests.brokers.broker import Broker
from tests.chaos import compaction
from topics.connection import Connection

pytestmark = [pytest.mark.chaos, pytest.mark.only_brokers("apache")]

#: Kafka's error code for a sequence number that is not the next one of its producer.
OUT_OF_ORDER = 45


class Process:
    """As much of a worker's process as writing a journal takes: an idempotent producer, as workers have it.

    It remembers the requests it sent, so that the network can deliver them once more.
    """

    def __init__(self, connection: Connection, topic: str, producer: AIOKafkaProducer) -> None:
        self.sent: list[tuple[int, ProduceRequest]] = []
        self.topic = topic
        self._producer = producer
        self._logs = KafkaLogs(topic, self, KafkaReader(connection))  # type: ignore[arg-type] # it needs `send_all` alone
        pass_on = producer.client.send

        async def send(node: int, request: Any, **rest: Any) -> Any:
            if isinstance(request, ProduceRequest):
                self.sent.append((node, request))
            return await pass_on(node, request, **rest)

        producer.client.send = send

    async def send_all(self, topic: str, partition: int, records: Sequence[Handed]) -> list[Run]:
        """Send each record alone."""
        sent = [await self._producer.send(topic, value, key, partition) for key, value, _ in records]
        return [Run(asyncio.ensure_future(self._offset(metadata)), 1) for metadata in sent]

    async def claim(self, unique: str) -> JournalWriter:
        """Claim the journal's partition."""
        return await JournalWriter.claim(self._logs.partition(0), Claim(unique, 1), unique=unique, place=self.topic)

    async def deliver_again(self) -> list[int]:
        """Send every request once more, as it was, and return the brokers' error codes."""
        answers = [await self._producer.client.send(node, request) for node, request in list(self.sent)]
        return [partition[1] for answer in answers for _, partitions in answer.topics for partition in partitions]

    @staticmethod
    async def _offset(metadata: asyncio.Future[Any]) -> int:
        return int((await metadata).offset)


def replayed(found: list[compaction.Found]) -> Replay:
    """Return the replay of a log."""
    replay = Replay()
    for one in found:
        replay.apply(one.offset, one.key, one.value)
    return replay


def rows_of(replay: Replay) -> dict[str, list[bytes]]:
    """Return the values of the rows that hold, by subject."""
    return {subject: [value for _, (_, value) in sorted(rows.items())] for subject, rows in replay.rows.items()}


async def test_nothing_late_changes_a_journal_that_was_cleaned(broker: Broker, prefix: str) -> None:
    """A superseded writer's rows, and its producer's requests delivered twice, before and after the cleaner ran."""
    connection, topic = Connection(broker.bootstrap), f"{prefix}journal"
    await compaction.create(connection, topic)
    options = {"enable_idempotence": True, "max_batch_size": 1}  # a request for each row, as under light load
    async with connection.producer(**options) as first, connection.producer(**options) as second:
        zombie, owner = Process(connection, topic, first), Process(connection, topic, second)
        old = await zombie.claim("zombie")
        for n in range(8):
            await old.append([Row("open", n, b"%d" % n), Row("over", n, b"%d" % n)])
        await old.append((), [RowKey("over", n, old.epoch).encode() for n in range(7)])
        # Everything up to here is valid: this is what the successor reads, and what must stay so.
        before = rows_of(replayed(await compaction.records(connection, topic)))
        assert before == {"open": [b"%d" % n for n in range(8)], "over": [b"7"]}

        new = await owner.claim("owner")
        end = await compaction.end_of(connection, topic)
        answers = await zombie.deliver_again()
        assert len(answers) > 16
        assert set(answers) == {OUT_OF_ORDER, 0}, (
            "the last few are known to the broker as repeats, older ones are refused"
        )
        assert await compaction.end_of(connection, topic) == end, "a retry was appended"
        # First deliveries that were late: rows that no predecessor had, of a subject that is open, over, or unknown.
        for subject in ("open", "over", "never"):
            with pytest.raises(SupersededError):
                await old.append([Row(subject, 8, b"from a zombie")])
        await new.append([Row("open", 8, b"8")])
        expected = {**before, "open": [*before["open"], b"8"]}

        count = 9

        async def write() -> None:
            nonlocal count
            await new.append([Row("open", count, b"%d" % count)])
            expected["open"].append(b"%d" % count)
            count += 1

        def over_is_clean(found: list[compaction.Found]) -> bool:
            keys = [one.key for one in found]
            return all(keys.count(RowKey("over", n, old.epoch).encode()) == 1 for n in range(7))

        log = await compaction.cleaned(connection, topic, over_is_clean, write)  # type: ignore[arg-type]
        replay = replayed(log)
        assert rows_of(replay) == expected
        assert len(replay.void) == 3

        # The next owner throws out what is void, then the claims; after the cleaner nothing says any more who was first.
        third = await owner.claim("third")
        await third.append((), replayed(await compaction.records(connection, topic)).litter(third.own_claim))
        new = third

        def litter_is_clean(found: list[compaction.Found]) -> bool:
            return sum(one.value is not None and one.key.startswith(b"\x00claim/") for one in found) == 1

        await compaction.cleaned(connection, topic, litter_is_clean, write)  # type: ignore[arg-type]
        with pytest.raises(SupersededError):
            await old.append([Row("open", 8, b"from a zombie")])
        end = await compaction.end_of(connection, topic)
        await zombie.deliver_again()
        assert await compaction.end_of(connection, topic) == end, "a retry was appended after the cleaner had run"
        replay = replayed(await compaction.records(connection, topic))
        assert rows_of(replay) == expected
        assert replay.void == [RowKey("open", 8, old.epoch).encode()]
