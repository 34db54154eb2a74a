"""Publishing effects: in order, all at once, and the end of a turn only when everything before it is durable."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from streams.gate.effects import Publish
from streams.turns.plan import Outgoing
from streams.turns.publisher import Publisher
from tests.memory.broker import Broker
from tests.memory.ports import MemoryProducer
from tests.memory.power import Power
from tests.memory.simtime import settled, simulate
from tests.streams.turns.desks import key
from tests.streams.turns.simulation import NAMES, PROMPTS, RELEASED, USAGE
from topics import codec, names
from topics.content import Usage
from topics.ids import TurnKey
from topics.records import CompletedFrame, TextFrame, UsageRecord


def text(turn_id: str, offset: int, words: str) -> Publish:
    """Return a text to release."""
    return Publish(names.RELEASED_FRAMES, TextFrame(turn_id=turn_id, thread_id="h", offset=offset, text=words))


def usage(turn_id: str) -> Publish:
    """Return the usage of a call."""
    record = UsageRecord(
        id=turn_id, turn_id=turn_id, thread_id="h", agent="a", usage=Usage(), outcome="completed", at=0.0
    )
    return Publish(names.USAGE, record)


def end(turn_id: str) -> Publish:
    """Return a terminal frame."""
    frame = CompletedFrame(turn_id=turn_id, thread_id="h", length=0, finish_reason="stop")
    return Publish(names.RELEASED_FRAMES, frame)


class Desk:
    """A publisher at work, and what it reports."""

    def __init__(self) -> None:
        self.broker = Broker()
        self.producer = MemoryProducer(self.broker, Power())
        self.confirmed: list[tuple[TurnKey, int, int | None]] = []
        self.publisher = Publisher(0, NAMES, self.producer, lambda *what: self.confirmed.append(what))
        self.running = asyncio.create_task(self.publisher.run())

    def released(self) -> list[str]:
        """Return the kinds or texts on `released`, in order."""
        frames = [codec.decode(raw, names.RELEASED) for raw in self.broker.values(RELEASED)]
        return [frame.text if isinstance(frame, TextFrame) else frame.kind for frame in frames]


def publishing(test: Callable[[Desk], Awaitable[None]]) -> None:
    """Run `test` with a publisher that runs."""

    async def main() -> None:
        desk = Desk()
        await test(desk)
        desk.running.cancel()
        await asyncio.gather(desk.running, return_exceptions=True)

    simulate(main())


def test_effects_go_out_in_order_under_the_threads_key() -> None:
    """Of several turns, as they were put."""

    async def test(desk: Desk) -> None:
        desk.publisher.put([Outgoing(key("a"), 1, (text("a", 0, "one"), text("a", 3, "two")))])
        desk.publisher.put([Outgoing(key("b"), 1, (text("b", 0, "other"),))])
        await settled()
        assert desk.released() == ["one", "two", "other"]
        assert {one.key for one in desk.broker.read(RELEASED)} == {b"default/h"}
        assert desk.confirmed == [(key("a"), 1, None), (key("b"), 1, None)]

    publishing(test)


def test_an_end_waits_until_everything_before_it_is_durable() -> None:
    """Usage is on another topic, and text of the same batch may be on its way: both first."""

    async def test(desk: Desk) -> None:
        desk.producer.holding = True
        desk.publisher.put([Outgoing(key("a"), 4, (text("a", 0, "one"), usage("a"), end("a")))])
        await settled()
        desk.producer.deliver(RELEASED)
        await settled()
        assert desk.producer.under_way(RELEASED) == 0, "the end was sent before the usage was durable"
        desk.producer.deliver(USAGE)
        await settled()
        assert desk.producer.under_way(RELEASED) == 1
        assert desk.confirmed == []
        desk.producer.deliver(RELEASED)
        await settled()
        assert desk.released() == ["one", "completed"]
        assert desk.confirmed == [(key("a"), 4, 1)], "with the offset of the end"

    publishing(test)


def test_nothing_overtakes_what_is_still_on_its_way() -> None:
    """What is put meanwhile goes out after it."""

    async def test(desk: Desk) -> None:
        desk.producer.holding = True
        desk.publisher.put([Outgoing(key("a"), 1, (text("a", 0, "one"),))])
        await settled()
        desk.publisher.put([Outgoing(key("a"), 2, (text("a", 3, "two"),))])
        await settled()
        assert desk.producer.under_way(RELEASED) == 1
        desk.producer.deliver(RELEASED)
        await settled()
        assert desk.confirmed == [(key("a"), 1, None)]
        desk.producer.deliver(RELEASED)
        await settled()
        assert desk.confirmed[-1] == (key("a"), 2, None)

    publishing(test)


def test_a_turns_last_record_counts_and_records_without_effects_count_too() -> None:
    """One report for each turn of a batch."""

    async def test(desk: Desk) -> None:
        desk.publisher.put(
            [Outgoing(key("a"), 1, (text("a", 0, "one"),)), Outgoing(key("a"), 2, ()), Outgoing(key("b"), 7, ())]
        )
        await settled()
        assert desk.confirmed == [(key("a"), 2, None), (key("b"), 7, None)]

    publishing(test)


def test_ends_of_several_turns_are_told_apart() -> None:
    """Each with the offset of its own frame."""

    async def test(desk: Desk) -> None:
        desk.publisher.put(
            [Outgoing(key("a"), 3, (usage("a"), end("a"))), Outgoing(key("b"), 5, (usage("b"), end("b")))]
        )
        await settled()
        assert desk.confirmed == [(key("a"), 3, 0), (key("b"), 5, 1)]

    publishing(test)


def test_a_failed_send_ends_the_publisher_and_confirms_nothing() -> None:
    """The effects stay owed."""

    async def test(desk: Desk) -> None:
        desk.producer.failure = ConnectionError("gone")
        desk.publisher.put([Outgoing(key("a"), 1, (text("a", 0, "one"), end("a")))])
        with pytest.raises(ConnectionError):
            await desk.running
        assert desk.confirmed == []

    publishing(test)


def test_nothing_to_publish_wakes_nobody() -> None:
    """An empty list is no batch."""

    async def test(desk: Desk) -> None:
        desk.publisher.put([])
        await settled()
        assert (desk.confirmed, desk.broker.values(PROMPTS)) == ([], [])

    publishing(test)


def test_who_plans_more_waits_while_too_much_is_not_confirmed_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is under way counts too: it is kept until the broker has it."""
    monkeypatch.setattr("streams.turns.publisher.BACKLOG", 2)

    async def test(desk: Desk) -> None:
        await desk.publisher.room()
        desk.producer.holding = True
        desk.publisher.put([Outgoing(key(), n, (text("t", n, "x"),)) for n in range(2)])
        await settled()
        await desk.publisher.room()
        desk.publisher.put([Outgoing(key(), 2, (text("t", 2, "x"),))])
        waiting = asyncio.create_task(desk.publisher.room())
        await settled()
        assert desk.publisher.backlog == 3
        assert not waiting.done()
        desk.producer.deliver(RELEASED, count=2)
        await settled()
        assert waiting.done()
        assert desk.publisher.backlog == 1
        desk.producer.deliver(RELEASED)
        await settled()
        assert desk.publisher.backlog == 0

    publishing(test)
