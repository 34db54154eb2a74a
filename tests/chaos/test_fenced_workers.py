"""Fencing as readers see it, on Apache Kafka with its log cleaner at work: whole workers, and records of dead ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from streams.gate import entries
from streams.gate.records import JournalRecord
from streams.journal.keys import RowKey, is_claim
from tests.brokers.broker import Broker
from tests.chaos import compaction
from tests.chaos.compaction import Found
from tests.chaos.crew import eventually
from tests.integration.pipeline import Pipeline, Worker
from topics import codec, names
from topics.connection import Connection
from topics.fold import TurnView, fold
from topics.ids import TurnKey
from topics.names import Names
from topics.records import CompletedFrame, TurnRequest

pytestmark = [pytest.mark.chaos, pytest.mark.only_brokers("apache")]

ZOMBIE = "text of a zombie"


class Bench:
    """One partition, turn workers that come one after the other, and no model runner: the test writes the frames."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.journal = pipeline.names.journal("turns")
        self._seq: dict[TurnKey, int] = {}

    async def say(self, turn: TurnKey, text: str, *, end: bool = False) -> None:
        """Write the next frame of the model's answer."""
        seq = self._seq.setdefault(turn, 0)
        self._seq[turn] += 1
        finish = b',"finish_reason":"stop"' if end else b""
        await self.pipeline.send_raw(names.FRAMES, turn, b'{"seq":%d,"text":"%s"%s}' % (seq, text.encode(), finish))

    async def released(self, turn: TurnKey, text: str) -> None:
        """Return once `text` is all that readers have of `turn`."""

        def there(found: list[Any]) -> bool:
            view = TurnView(turn)
            for frame in found:
                view = fold(view, frame)
            return view.text == text

        await self.pipeline.wait_for_records(names.RELEASED_FRAMES, there)

    async def log(self) -> list[Found]:
        """Return what is in the journal."""
        return await compaction.records(self.pipeline.connection, self.journal)

    async def until(self, there: Callable[[list[Found]], bool]) -> list[Found]:
        """Return the journal once `there` is true of it."""
        async with asyncio.timeout(compaction.LIMIT_S):
            while not there(found := await self.log()):  # noqa: ASYNC110 - a log has no event to wait for
                await asyncio.sleep(0.1)
        return found

    async def write(self, key: RowKey, value: bytes) -> None:
        """Append a row to the journal as a worker would that does not know, or no longer cares, who owns it."""
        async with self.pipeline.connection.producer() as producer:
            await producer.send_and_wait(self.journal, value, key=key.encode(), partition=0)

    async def successor(self, worker: Worker | None, *, kill: bool = False) -> Worker:
        """Start a worker in the place of `worker`, which is killed or told to stop, and return it at work."""
        if worker is not None:
            await asyncio.to_thread(worker.kill if kill else worker.stop)
        (fresh,) = self.pipeline.start("turns")
        await eventually(lambda: "restored: " in fresh.log.read_text(encoding="utf-8"), "the partition is restored")
        return fresh

    async def cleaned(self, gone: Callable[[list[Found]], bool], write: Callable[[], Awaitable[object]]) -> None:
        """Have the log cleaner work until what was to go is `gone`."""
        await compaction.cleaned(self.pipeline.connection, self.journal, gone, write)  # type: ignore[arg-type]


def late_rows(turn: TurnKey, closed: TurnKey, epoch: int, rows_of: Callable[[TurnKey], int]) -> dict[RowKey, bytes]:
    """Return rows as a worker of `epoch` could still have on their way: it has lost the partition since.

    More text for `turn`, which is open, its end, the end's confirmation; more text for one that is `closed`, and the
    beginning of a turn that nobody else has heard of. `rows_of` says how many rows a turn has had so far.
    """
    n = rows_of(turn)
    now = round(time.time(), 3)
    text = entries.Llm(seq=100, text=ZOMBIE, live=len(ZOMBIE))
    failed = entries.Failed(error="ModelFailedError", message=ZOMBIE)
    over = entries.Closed(outcome="failed", partition=0, offset=0)
    request = TurnRequest.model_validate({"turn_id": "late", "thread_id": "late", "message": ZOMBIE})
    begun = entries.Accepted(request=request, partition=0, order=10**6, deadline_at=now + 600)
    rows: dict[tuple[str, int], entries.AnyEntry] = {
        (str(turn), n): text,
        (str(turn), n + 1): failed,
        (str(turn), n + 2): over,
        (str(closed), rows_of(closed)): text,
        (str(request.turn), 0): begun,
        (str(request.turn), 1): entries.Started(),
    }
    return {
        RowKey(subject, number, epoch): JournalRecord(number, now, number - 1, entry).encode()
        for (subject, number), entry in rows.items()
    }


async def test_late_records_of_a_dead_worker_change_nothing(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """Before and after the cleaner ran, before and after a replay: readers and journal are as if they had never come."""
    await compaction.create(Connection(broker.bootstrap), Names(prefix).journal("turns"))
    async with Pipeline(broker.bootstrap, prefix, tmp_path, None, partitions=1) as pipeline:
        bench = Bench(pipeline)
        worker = await bench.successor(None)
        turn, closed = await pipeline.open_turn("stays-open"), await pipeline.open_turn("closes")
        await bench.say(closed, "over", end=True)
        await bench.say(turn, "one ")
        await bench.released(turn, "one ")
        first = await pipeline.read([closed])

        def is_over(found: list[Found]) -> bool:
            return any(one.value is None and one.key.startswith(str(closed).encode()) for one in found)

        before = await bench.until(is_over)
        epoch = next(one.offset for one in reversed(before) if is_claim(one.key))
        written = [RowKey.parse(one.key) for one in before if not is_claim(one.key)]
        retried = {
            one.key: one.value
            for one in before
            if one.value is not None and one.key.startswith(f"{closed}/".encode()) and b"/0/" in one.key
        }
        late = late_rows(
            turn, closed, epoch, lambda whose: 1 + max(row.n for row in written if row.subject == str(whose))
        )

        worker = await bench.successor(worker, kill=True)
        for key, value in late.items():
            await bench.write(key, value)
        for raw, old in retried.items():  # and one that was valid once, and has been cleared since
            await bench.write(RowKey.parse(raw), old)
        await bench.say(turn, "two ")
        await bench.released(turn, "one two ")

        text = "one two "

        async def more() -> None:
            nonlocal text
            await bench.say(turn, ". ")
            text += ". "

        def only_late(found: list[Found]) -> bool:
            keys = [one.key for one in found]
            return all(keys.count(key) == 1 for key in retried)

        await bench.cleaned(only_late, more)  # the row and its tombstone are gone: the zombie's copy is what is left
        worker = await bench.successor(worker)
        await bench.released(turn, text)

        def litter_gone(found: list[Found]) -> bool:
            values = {one.key for one in found if one.value is not None}
            claims = sum(is_claim(key) for key in values)
            return claims == 1 and not values & {key.encode() for key in late} and not values & retried.keys()

        await bench.cleaned(litter_gone, more)
        # Once more, where nothing in the log tells any longer that their epoch is an old one.
        for key, value in late.items():
            await bench.write(key, value)
        worker = await bench.successor(worker)
        await bench.say(turn, "end", end=True)
        views = await pipeline.read([turn, closed])
        released = await pipeline.records(names.RELEASED_FRAMES)
    assert isinstance(views[turn].terminal, CompletedFrame)
    assert views[turn].text == text + "end"
    assert views[closed] == first[closed]
    assert {one.turn for one in released} == {turn, closed}
    assert all(ZOMBIE.encode() not in codec.encode(one) for one in released)
    assert "1 open turns, 1 closed" in worker.log.read_text(encoding="utf-8")
