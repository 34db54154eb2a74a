"""The ingest loop: the numbered order is what really happens, and nothing is acknowledged after something broke."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from processors import Deps
from streams.gate import events
from streams.gate.policy import Policy
from streams.journal.keys import RowKey
from streams.sources import Source
from streams.turns.loop import PartitionLoop
from streams.turns.threads import subject_of
from tests.memory.ports import replay_of
from tests.memory.power import Power
from tests.memory.simtime import jump, settled, simulate
from tests.streams.turns.desks import frame, key
from tests.streams.turns.scenarios import INCREMENTAL, STORY
from tests.streams.turns.simulation import (
    DEAD_LETTERS,
    FRAMES,
    JOURNAL,
    PROMPTS,
    RELEASED,
    REQUESTS,
    USAGE,
    Process,
    Said,
    Scenario,
    World,
    cancel,
    turn,
)
from topics import codec, names
from topics.names import Topic
from topics.records import Record


class Bench:
    """A worker with one partition, fed by hand; `trace` is what it does to the outside world, in order."""

    def __init__(self, deps: Deps | None = None, policy: Policy | None = None) -> None:
        scenario = Scenario("", (), {}, deps or Deps(), policy or Policy())
        self.trace: list[str] = []
        self.process = Process(World(scenario), Power(), trace=self.trace.append)
        self.broker = self.process.world.broker
        self._offset = 0

    @property
    def loop(self) -> PartitionLoop:
        """The loop of the only partition."""
        return self.process.worker.partitions.loops[0]

    async def start(self) -> None:
        """Claim and restore, and forget the trace of it."""
        assert await self.process.start()
        self.trace.clear()

    def source(self, record: Record | bytes, topic: Topic = names.REQUESTS) -> Source:
        """Return the next source record."""
        self._offset += 1
        offset = self._offset
        value = codec.encode(record) if isinstance(record, Record) else record
        return Source(topic, 0, offset, value, lambda: self.trace.append(f"ack {offset}"))

    async def deliver(self, *records: Record | bytes, topic: Topic = names.REQUESTS) -> list[str]:
        """Deliver records as one batch; return what happened because of them."""
        before = len(self.trace)
        for record in records:
            await self.loop.deliver(self.source(record, topic))
        await settled()
        return self.trace[before:]


def on_a_bench(
    test: Callable[[Bench], Awaitable[None]], deps: Deps | None = None, policy: Policy | None = None
) -> None:
    """Run `test` with a worker that is fed by hand."""

    async def main() -> None:
        bench = Bench(deps, policy)
        await bench.start()
        await test(bench)
        await bench.process.end()

    simulate(main())


def position(trace: list[str], what: str, *, last: bool = False) -> int:
    """Return where in a trace something happens, the first time or the last."""
    found = [place for place, done in enumerate(trace) if done.startswith(what)]
    assert found, f"{what} is not in {trace}"
    return found[-1] if last else found[0]


def test_a_batch_is_journaled_then_refused_then_acknowledged_and_published() -> None:
    """The order that a crash at any place is mended by."""

    async def test(bench: Bench) -> None:
        trace = await bench.deliver(turn("a"), b"not json", turn("b", "other"))
        journaled = position(trace, f"durable {JOURNAL}", last=True)
        refused = position(trace, f"durable {DEAD_LETTERS}", last=True)
        assert journaled < position(trace, f"send {DEAD_LETTERS}")
        assert refused < position(trace, "ack"), "a refused record is acknowledged once its dead letter is durable"
        assert [done for done in trace if done.startswith("ack")] == ["ack 1", "ack 2", "ack 3"]
        assert journaled < position(trace, f"send {PROMPTS}")
        assert len([done for done in trace if done == f"send {JOURNAL}"]) == 4, "two records for each of two turns"

    on_a_bench(test)


def test_nothing_is_acknowledged_or_published_before_the_journal_is_durable() -> None:
    """The producer may be slow; the loop waits."""

    async def test(bench: Bench) -> None:
        bench.process.producer.holding = True
        trace = await bench.deliver(turn())
        assert trace == [f"send {JOURNAL}", f"send {JOURNAL}"]
        bench.process.producer.deliver(JOURNAL)
        await settled()
        assert not [done for done in bench.trace if done.startswith("ack") or PROMPTS in done]
        bench.process.producer.deliver(JOURNAL)
        await settled()
        assert bench.trace[-2:] in (["ack 1", f"send {PROMPTS}"], [f"send {PROMPTS}", "ack 1"])

    on_a_bench(test)


def test_acknowledging_does_not_wait_for_publishing() -> None:
    """What is journaled is owed, so the source may go."""

    async def test(bench: Bench) -> None:
        await bench.deliver(turn())
        bench.process.producer.holding = True
        await bench.deliver(frame(0, text="one"), topic=names.FRAMES)
        bench.process.producer.deliver(JOURNAL)
        await settled()
        assert "ack 2" in bench.trace
        assert bench.process.producer.under_way(RELEASED) == 1

    on_a_bench(test)


def test_records_that_come_while_a_batch_is_under_way_are_the_next_batch() -> None:
    """One batch in flight; all that waits is taken together: one record and one release."""

    async def test(bench: Bench) -> None:
        await bench.deliver(turn())
        bench.process.producer.holding = True
        for seq, text in enumerate(("one ", "two ", "three")):
            await bench.deliver(frame(seq, text=text), topic=names.FRAMES)
        assert bench.process.producer.under_way(JOURNAL) == 1
        bench.process.producer.holding = False
        bench.process.producer.deliver(JOURNAL)
        await settled()
        # The release of the first batch went out with the producer held no longer.
        texts = [codec.decode(raw, names.RELEASED) for raw in bench.broker.values(RELEASED)]
        assert [getattr(one, "text", "") for one in texts] == ["one ", "two three"]

    on_a_bench(test)


def test_usage_is_durable_before_the_end_is_sent_and_the_end_before_closed_is_journaled() -> None:
    """And only then is the rest of the turn's journal cleared."""

    async def test(bench: Bench) -> None:
        await bench.deliver(turn())
        trace = await bench.deliver(frame(0, text="one", finish_reason="stop"), topic=names.FRAMES)
        journal = [place for place, done in enumerate(trace) if done == f"durable {JOURNAL}"]
        assert position(trace, f"durable {USAGE}") < position(trace, f"send {RELEASED}", last=True)
        assert position(trace, f"durable {RELEASED}", last=True) < journal[2]
        assert len(journal) == 3 + 3, "the answer, what the thread remembers, `closed`, and three tombstones"
        rows = [one.key for one in bench.broker.read(JOURNAL) if one.value is None]
        assert rows == [RowKey(str(key()), n, 0).encode() for n in range(3)]

    on_a_bench(test)


def test_chains_run_after_the_acknowledgement() -> None:
    """Nothing slow ever holds one."""

    async def test(bench: Bench) -> None:
        await bench.deliver(turn())
        trace = await bench.deliver(frame(0, text="one two three"), topic=names.FRAMES)
        assert trace == [
            f"send {JOURNAL}",
            f"durable {JOURNAL}",
            "ack 2",
            f"send {JOURNAL}",
            f"durable {JOURNAL}",
            f"send {RELEASED}",
            f"durable {RELEASED}",
        ]

    on_a_bench(test, INCREMENTAL)


@pytest.mark.parametrize("topic", [JOURNAL, DEAD_LETTERS, PROMPTS])
def test_a_broken_producer_ends_the_process_and_nothing_is_acknowledged_after_it(topic: str) -> None:
    """Whichever record it is that cannot be sent."""

    async def test(bench: Bench) -> None:
        send = bench.process.producer.send

        async def break_down(where: str, *record: Any) -> asyncio.Future[int]:
            if where == topic:
                raise ConnectionError("gone")
            return await send(where, *record)

        bench.process.producer.send = break_down  # type: ignore[method-assign, assignment]
        await bench.deliver(turn("a"), b"not json")
        assert [type(exc) for exc in bench.process.fatal] == [ConnectionError]
        if topic != PROMPTS:
            assert not [done for done in bench.trace if done.startswith("ack")]
        before = len(bench.trace)
        await bench.loop.deliver(bench.source(turn("b")))
        await settled()
        assert bench.process.power.off
        assert not [done for done in bench.trace[before:] if not done.startswith("ack")]

    on_a_bench(test)


def test_a_superseded_worker_stops_before_it_publishes_or_acknowledges() -> None:
    """What it journaled under its old claim is void."""

    async def test(bench: Bench) -> None:
        successor = Process(bench.process.world, Power())
        assert await successor.start()
        trace = await bench.deliver(turn())
        assert [type(exc).__name__ for exc in bench.process.fatal] == ["SupersededError"]
        assert {done.split()[1] for done in trace} == {JOURNAL}
        assert replay_of(bench.broker, JOURNAL, 0).rows == {}
        await successor.end()

    on_a_bench(test)


def test_what_is_owed_is_published_before_anything_new() -> None:
    """In order, with the same bytes, and the turns go on where they were."""

    async def main() -> None:
        world = World(Scenario("", (Said(turn()),), {"t": [STORY[:3]]}))
        first = Process(world, Power())
        assert await first.start()
        first.producer.holding = True
        while await first.work_a_little():
            first.producer.deliver(JOURNAL, count=2)
            await settled()
        assert world.broker.values(PROMPTS) == []
        await first.end()

        trace: list[str] = []
        second = Process(world, Power(), trace=trace.append)
        assert await second.start()
        assert trace.count(f"durable {PROMPTS}") == 1
        assert await second.work()
        view = world.views()[0]
        assert view.text == "Call me at 555-0"
        await second.end()

    simulate(main())


def test_a_stopped_loop_does_nothing_more_whatever_is_told_to_it() -> None:
    """Its partition belongs to somebody else."""

    async def test(bench: Bench) -> None:
        await bench.deliver(turn())
        loop = bench.loop
        await loop.stop()
        before = list(bench.trace)
        await loop.deliver(bench.source(turn("b")))
        loop.tell(key(), events.Cancel())
        await asyncio.sleep(60)
        assert bench.trace == before

    on_a_bench(test)


def test_a_stopped_loop_lets_go_of_whoever_waits_to_deliver() -> None:
    """An agent that is stuck here would never read again."""

    async def test(bench: Bench) -> None:
        loop = bench.loop
        bench.process.producer.holding = True
        await bench.deliver(turn())

        async def flood() -> None:
            for _ in range(10_002):
                await loop.deliver(bench.source(b"x"))

        flooding = asyncio.create_task(flood())
        await settled()
        assert not flooding.done()
        await loop.stop()
        await settled()
        assert flooding.done()

    on_a_bench(test)


def test_time_ends_turns_that_wait_too_long() -> None:
    """The clock beside the loop notices; the decision is journaled before it has an effect."""

    async def test(bench: Bench) -> None:
        await bench.deliver(turn())
        before = len(bench.trace)
        await asyncio.sleep(9)
        assert bench.trace[before:] == []
        await asyncio.sleep(2)
        await settled()
        assert bench.trace[before] == f"send {JOURNAL}"
        frames = [codec.decode(raw, names.RELEASED) for raw in bench.broker.values(RELEASED)]
        assert [(one.kind, getattr(one, "error", None)) for one in frames] == [("failed", "TurnTimeoutError")]

    on_a_bench(test, policy=Policy(idle_timeout_s=10))


def test_ticks_do_not_heap_up_while_the_journal_is_slow() -> None:
    """A broker that is away for minutes must not find a tick for every turn and quarter of a second afterwards."""

    async def test(bench: Bench) -> None:
        await bench.deliver(*(turn(f"t{number}", f"h{number}") for number in range(20)))
        bench.process.producer.holding = True
        await bench.deliver(frame(0, "t0", "h0", text="one"), topic=names.FRAMES)
        await asyncio.sleep(300)
        assert len(bench.loop._inbox) == 20, "one for each turn that is overdue"
        bench.process.producer.holding = False
        while bench.process.producer.deliver_next():
            await settled()
        await asyncio.sleep(1)
        frames = [codec.decode(raw, names.RELEASED) for raw in bench.broker.values(RELEASED)]
        assert [one.kind for one in frames].count("failed") == 20

    on_a_bench(test, policy=Policy(idle_timeout_s=100))


def test_closed_turns_leave_the_journal_when_they_expire() -> None:
    """A day and an hour later nothing of them is left, and the request may come again; a month later the thread goes."""

    async def test(bench: Bench) -> None:
        await bench.deliver(turn())
        await bench.deliver(cancel())
        assert {len(rows) for rows in replay_of(bench.broker, JOURNAL, 0).rows.values()} == {1}
        jump(25 * 3600)
        await asyncio.sleep(61)
        await settled()
        assert set(replay_of(bench.broker, JOURNAL, 0).rows) == {subject_of(key().thread)}
        jump(31 * 24 * 3600)
        await asyncio.sleep(61)
        await settled()
        assert replay_of(bench.broker, JOURNAL, 0).rows == {}

    on_a_bench(test)


def test_a_closed_turns_end_is_repeated_for_who_asks_again() -> None:
    """The very bytes of it, read back from where they are."""

    async def test(bench: Bench) -> None:
        await bench.deliver(turn())
        await bench.deliver(cancel())
        (end,) = bench.broker.values(RELEASED)
        trace = await bench.deliver(turn())
        assert bench.broker.values(RELEASED) == [end, end]
        assert JOURNAL not in str(trace), "nothing is journaled for it"

    on_a_bench(test)


def test_a_dead_letter_says_where_and_why_and_not_what() -> None:
    """With the ids, if the record names them."""

    async def test(bench: Bench) -> None:
        raw = b'{"thread_id": "h", "turn_id": "t", "message": {"secret": "words"}}'
        await bench.deliver(raw)
        (letter,) = (codec.decode(one, names.DEAD_LETTER) for one in bench.broker.values(DEAD_LETTERS))
        assert (letter.id, letter.origin_topic, letter.origin_offset) == (f"{REQUESTS}/0/1", REQUESTS, 1)
        assert (letter.turn_id, letter.error, letter.size) == ("t", "MalformedRecordError", len(raw))
        assert b"words" not in codec.encode(letter)

    on_a_bench(test)


def test_frames_and_requests_of_one_batch_are_acknowledged_in_their_own_order() -> None:
    """Each topic's offsets ascend."""

    async def test(bench: Bench) -> None:
        await bench.deliver(turn())
        before = len(bench.trace)
        for record, topic in (
            (frame(0, text="a"), names.FRAMES),
            (cancel("nobody"), names.REQUESTS),
            (frame(1, text="b"), names.FRAMES),
        ):
            await bench.loop.deliver(bench.source(record, topic))
        await settled()
        assert [done for done in bench.trace[before:] if done.startswith("ack")] == ["ack 2", "ack 3", "ack 4"]
        assert FRAMES not in str(bench.trace)

    on_a_bench(test)
