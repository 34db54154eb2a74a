"""A runner with one partition that is fed by hand, of whichever kind: what it does to the outside world, in order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from streams.runner.worker import Runner
from streams.sources import Source
from tests.memory.broker import Broker
from tests.memory.power import Power
from tests.memory.simtime import settled, simulate
from topics import codec
from topics.names import Topic
from topics.records import Record


class FedByHand:
    """One runner; its kinds make the `runner` that reads `requests`, and note in `trace` what it does."""

    requests: Topic
    runner: Runner[Any]

    def __init__(self, broker: Broker | None = None) -> None:
        self.trace: list[str] = []
        self.fatal: list[BaseException] = []
        self.broker = broker or Broker()
        self.power = Power()
        self._offset = 0

    def die(self, exc: BaseException) -> None:
        """End the process, as the real one does."""
        self.fatal.append(exc)
        self.power.cut()

    async def start(self) -> None:
        """Claim and restore."""
        await self.runner.partitions.claim({0})
        await self.runner.partitions.restore()
        await settled()

    async def deliver(self, *records: Record | bytes, topic: Topic | None = None) -> list[str]:
        """Deliver records as one batch, requests unless another `topic` is given; return what happened because of them."""
        before = len(self.trace)
        for record in records:
            self._offset += 1
            value = codec.encode(record) if isinstance(record, Record) else record
            ack = self._acknowledgement(self._offset)
            await self.runner.deliver(Source(topic or self.requests, 0, self._offset, value, ack))
        await settled()
        return self.trace[before:]

    def _acknowledgement(self, offset: int) -> Callable[[], None]:
        def ack() -> None:
            if self.power.reach("ack"):
                self.trace.append(f"ack {offset}")

        return ack


Kind = TypeVar("Kind", bound=FedByHand)


def on_a(kind: Callable[[], Kind], test: Callable[[Kind], Awaitable[None]]) -> None:
    """Run `test` with a runner of a kind that has started, in a simulation of its own."""

    async def main() -> None:
        bench = kind()
        await bench.start()
        bench.trace.clear()
        await test(bench)
        bench.power.cut()
        await bench.runner.partitions.lose()

    simulate(main())
