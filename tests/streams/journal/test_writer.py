"""The fence: an append that lands anywhere but at the next offset is explained, or the writer stops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from streams.journal.claims import Claim
from streams.journal.errors import SupersededError, UnreadableGapError
from streams.journal.keys import RowKey, claim_key
from streams.journal.runs import Handed, Run
from streams.journal.writer import JournalWriter, Row
from tests.memory.broker import Broker
from tests.memory.ports import MemoryLog, MemoryProducer
from tests.memory.power import Power
from tests.memory.simtime import settled, simulate


class Place:
    """A journal partition, and a writer that has claimed it."""

    def __init__(self, broker: Broker, producer: MemoryProducer, writer: JournalWriter) -> None:
        self.broker = broker
        self.producer = producer
        self.writer = writer

    def keys(self) -> list[bytes | None]:
        """Return the keys in the log."""
        return [one.key for one in self.broker.read("journal")]

    def others_write(self, key: bytes, value: bytes | None) -> None:
        """Let somebody else append a record."""
        self.broker.append("journal", 0, key, value)


def at_a_place(test: Callable[[Place], Awaitable[None]]) -> None:
    """Run `test` at a partition that was claimed at offset 1, after a claim at 0."""

    async def main() -> None:
        broker = Broker()
        broker.append("journal", 0, claim_key("first"), Claim("first", 1).encode())
        producer = MemoryProducer(broker, Power())
        log = MemoryLog(producer, "journal", 0)
        writer = await JournalWriter.claim(log, Claim("second", 1), unique="second", place="journal[0]")
        await test(Place(broker, producer, writer))

    simulate(main())


def test_the_epoch_is_the_claims_offset_and_rows_carry_it() -> None:
    """Rows follow the claim without a gap, in order, under its offset."""

    async def test(place: Place) -> None:
        assert place.writer.epoch == 1
        await place.writer.append([Row("s", 0, b"a"), Row("s", 1, b"b")])
        assert place.keys()[2:] == [RowKey("s", 0, 1).encode(), RowKey("s", 1, 1).encode()]

    at_a_place(test)


def test_append_returns_only_when_everything_is_durable() -> None:
    """The last acknowledgement counts, not the first."""

    async def test(place: Place) -> None:
        place.producer.holding = True
        appending = asyncio.create_task(place.writer.append([Row("s", 0, b"a"), Row("s", 1, b"b")]))
        await settled()
        assert place.producer.under_way("journal") == 2, "rows are sent without waiting for each other"
        place.producer.deliver("journal")
        await settled()
        assert not appending.done()
        place.producer.deliver("journal")
        await appending

    at_a_place(test)


def test_a_newer_claim_stops_the_writer_with_its_place() -> None:
    """The message says where, and which claim is newer than which."""

    async def test(place: Place) -> None:
        place.others_write(claim_key("third"), Claim("third", 1).encode())
        with pytest.raises(SupersededError, match=r"journal\[0\]: .*offset 3, 2 was expected: the claim at 2 .*at 1"):
            await place.writer.append([Row("s", 0, b"a")])

    at_a_place(test)


def test_a_row_of_a_newer_epoch_stops_the_writer_too() -> None:
    """The claim it was written under may have been compacted away; that it was there is enough."""

    async def test(place: Place) -> None:
        place.others_write(RowKey("s", 0, 2).encode(), b"x")
        with pytest.raises(SupersededError, match="row at 2 has a newer epoch than 1"):
            await place.writer.append([Row("s", 0, b"a")])

    at_a_place(test)


def test_void_rows_and_foreign_tombstones_change_nothing() -> None:
    """A predecessor that does not know yet may go on writing in vain; the writer goes on too, and stays contiguous."""

    async def test(place: Place) -> None:
        place.others_write(RowKey("s", 7, 0).encode(), b"void")
        place.others_write(RowKey("s", 6, 0).encode(), None)
        place.others_write(claim_key("first"), None)
        await place.writer.append([Row("s", 0, b"a")])
        place.others_write(RowKey("s", 8, 0).encode(), b"void")
        await place.writer.append([Row("s", 1, b"b")])
        assert place.writer.void == 2
        assert place.keys()[-3:] == [RowKey("s", 0, 1).encode(), RowKey("s", 8, 0).encode(), RowKey("s", 1, 1).encode()]

    at_a_place(test)


def test_an_own_retry_that_was_written_twice_changes_nothing() -> None:
    """Its epoch is the writer's own."""

    async def test(place: Place) -> None:
        place.others_write(RowKey("s", 0, 1).encode(), b"a")
        await place.writer.append([Row("s", 1, b"b")])
        assert place.writer.void == 0

    at_a_place(test)


def test_a_claim_between_two_rows_of_one_append_is_noticed() -> None:
    """Every row's acknowledgement is looked at."""

    async def test(place: Place) -> None:
        place.producer.holding = True
        appending = asyncio.create_task(place.writer.append([Row("s", 0, b"a"), Row("s", 1, b"b")]))
        await settled()
        place.producer.deliver("journal")
        place.others_write(claim_key("third"), Claim("third", 1).encode())
        place.producer.deliver("journal")
        with pytest.raises(SupersededError):
            await appending

    at_a_place(test)


def test_tombstones_are_fenced_as_rows_are() -> None:
    """A superseded worker must not clear on and on."""

    async def test(place: Place) -> None:
        await place.writer.append((), [RowKey("s", 0, 0).encode()])
        place.others_write(claim_key("third"), Claim("third", 1).encode())
        with pytest.raises(SupersededError):
            await place.writer.append((), [RowKey("s", 1, 0).encode()])

    at_a_place(test)


def test_a_record_that_is_no_row_stops_the_writer() -> None:
    """Nobody but journal writers may write here; who did cannot be told."""

    async def test(place: Place) -> None:
        place.others_write(b"something else", b"x")
        with pytest.raises(UnreadableGapError, match="no journal row"):
            await place.writer.append([Row("s", 0, b"a")])

    at_a_place(test)


def test_an_offset_that_goes_back_stops_the_writer() -> None:
    """A topic that was deleted and made again begins at 0."""

    async def test(place: Place) -> None:
        await place.writer.append([Row("s", 0, b"a")])
        place.broker.logs.clear()
        with pytest.raises(UnreadableGapError, match="the log went back"):
            await place.writer.append([Row("s", 1, b"b")])

    at_a_place(test)


def test_a_failed_send_reaches_the_caller() -> None:
    """Whether the row is durable is unknown then, so nothing may follow."""

    async def test(place: Place) -> None:
        place.producer.failure = ConnectionError("the broker is gone")
        with pytest.raises(ConnectionError):
            await place.writer.append([Row("s", 0, b"a")])

    at_a_place(test)


class Together(MemoryLog):
    """Appends what is sent together as brokers do: all of it, or nothing, and answers for the first record."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(MemoryProducer(broker, Power()), "journal", 0)
        self.broker = broker
        #: What somebody else writes before the next run, and how often a run arrives.
        self.before: tuple[bytes, bytes | None] | None = None
        self.times = 1

    async def send_all(self, records: Sequence[Handed]) -> list[Run]:
        """Append all records, `times` over, and answer as for the last time."""
        if self.before is not None:
            self.broker.append("journal", 0, *self.before)
            self.before = None
        first = -1
        for _ in range(self.times):
            first, *_ = [self.broker.append("journal", 0, key, value) for key, value, _ in records]
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        done.set_result(first)
        return [Run(done, len(records))]


async def test_records_that_arrive_together_are_counted_one_by_one() -> None:
    """The next append must be at the offset after the last of them; a retry of all of them changes nothing."""
    log = Together(Broker())
    writer = await JournalWriter.claim(log, Claim("w", 1), unique="w", place="journal[0]")
    await writer.append([Row("s", 0, b"a"), Row("s", 1, b"b"), Row("s", 2, b"c")])
    log.times = 2
    await writer.append([Row("s", 3, b"d"), Row("s", 4, b"e")])
    log.times = 1
    await writer.append([Row("s", 5, b"f")])
    assert log.broker.logs["journal", 0].end == 9
    log.before = (claim_key("other"), Claim("other", 1).encode())
    with pytest.raises(SupersededError):
        await writer.append([Row("s", 6, b"g"), Row("s", 7, b"h")])
