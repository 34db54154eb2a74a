"""A runner's process in memory, of whichever kind: started, fed, killed at any boundary."""

from __future__ import annotations

import asyncio
from typing import Any

from streams.runner.worker import Runner
from tests.memory.broker import Broker
from tests.memory.ports import Feed, MemoryProducer
from tests.memory.power import Power, PowerCut
from tests.memory.simtime import settled
from tests.streams.turns.simulation import NAMES
from topics import names
from topics.names import Topic


class KilledRunner:
    """One runner process, from its start to its death; its kinds make the `runner` that reads `requests`."""

    requests: Topic
    runner: Runner[Any]

    def __init__(self, broker: Broker, power: Power, *, commits: bool) -> None:
        self.broker = broker
        self.power = power
        self.fatal: list[BaseException] = []
        self.producer = MemoryProducer(broker, power)
        self._commits = commits
        self._feed: Feed | None = None
        self._starting: asyncio.Task[None] | None = None

    def die(self, exc: BaseException) -> None:
        """End the process, as the real one does."""
        self.fatal.append(exc)
        self.power.cut()

    async def start(self) -> bool:
        """Claim, replay, restore; return whether the process came through."""
        self._starting = asyncio.create_task(self._take_over())
        await settled()
        if not self._starting.done() or isinstance(self._starting.exception(), PowerCut):
            return False
        self._starting.result()
        topics = {NAMES.topic(topic): topic for topic in (self.requests, names.CANCELS, names.ERASURES)}
        self._feed = Feed(self.broker, self.power, topics, commits=self._commits)
        return not self.power.off

    async def _take_over(self) -> None:
        await self.runner.partitions.claim({0})
        await self.runner.partitions.restore()

    async def take_in(self) -> bool:
        """Take in the next record; return whether there was one."""
        if self._feed is None or self.power.off:
            return False
        source = self._feed.take()
        if source is not None:
            await self.runner.deliver(source)
        await settled()
        return source is not None

    async def end(self) -> None:
        """Clear away what is left of the process."""
        self.power.cut()
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await self.runner.partitions.lose()
        for exc in self.fatal:
            if not isinstance(exc, PowerCut):
                raise exc
