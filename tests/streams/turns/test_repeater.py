"""Repeating terminal frames: for everybody who asks, beside the loop, and never in the way of anything."""

from __future__ import annotations

import asyncio

import pytest

from streams.turns.plan import Done
from streams.turns.repeater import Repeater
from tests.memory.broker import Broker
from tests.memory.ports import MemoryProducer, MemoryReader
from tests.memory.power import Power
from tests.memory.simtime import settled, simulate
from tests.streams.turns.desks import key
from tests.streams.turns.simulation import NAMES, RELEASED


class _LateReader(MemoryReader):
    async def fetch(self, *_: object) -> bytes | None:
        raise TimeoutError


def done(offset: int) -> Done:
    """Return what is kept of a turn that was closed with a frame at `offset`."""
    return Done("completed", 0, offset, 0.0)


@pytest.mark.parametrize("reader", [MemoryReader, _LateReader])
def test_a_frame_that_is_gone_is_passed_over(reader: type[MemoryReader], caplog: pytest.LogCaptureFixture) -> None:
    """Nobody is told anything, the log says it, and the next one who asks is served."""

    async def main() -> None:
        broker = Broker()
        broker.append(RELEASED, 0, b"k", b"the end")
        repeater = Repeater(0, NAMES, MemoryProducer(broker, Power()), reader(broker))
        running = asyncio.create_task(repeater.run())
        repeater.put([(key("gone"), done(5))])
        repeater.put([(key("there"), done(0))])
        await settled()
        assert not running.done()
        expected = [b"the end"] * (1 if reader is _LateReader else 2)
        assert broker.values(RELEASED) == expected
        running.cancel()

    simulate(main())
    assert "gone" in caplog.text


def test_who_asks_several_times_at_once_is_answered_once() -> None:
    """A caller in a loop must not multiply what everybody reads."""

    async def main() -> None:
        broker = Broker()
        broker.append(RELEASED, 0, b"k", b"the end")
        repeater = Repeater(0, NAMES, MemoryProducer(broker, Power()), MemoryReader(broker))
        repeater.put([(key(), done(0))] * 5)
        running = asyncio.create_task(repeater.run())
        await settled()
        assert broker.values(RELEASED) == [b"the end", b"the end"]
        assert [one.key for one in broker.read(RELEASED)][1] == b"default/h"
        running.cancel()

    simulate(main())


class _BusyReader(MemoryReader):
    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.let_go = asyncio.Event()

    async def fetch(self, topic: str, partition: int, offset: int) -> bytes | None:
        await self.let_go.wait()
        return await super().fetch(topic, partition, offset)


def test_who_asks_again_and_again_while_another_is_served_is_answered_once_more() -> None:
    """Reading back is slow, and what waits for it must not grow with how often it is asked for."""

    async def main() -> None:
        broker = Broker()
        broker.append(RELEASED, 0, b"k", b"the end")
        reader = _BusyReader(broker)
        repeater = Repeater(0, NAMES, MemoryProducer(broker, Power()), reader)
        running = asyncio.create_task(repeater.run())
        for _ in range(50):
            repeater.put([(key(), done(0))])
            await settled()
        reader.let_go.set()
        await settled()
        assert broker.values(RELEASED) == [b"the end"] * 3, (
            "its own, the one that was under way, and one for all others"
        )
        running.cancel()

    simulate(main())
