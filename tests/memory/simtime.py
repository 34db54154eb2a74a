"""An event loop whose clock stands still unless somebody waits for it, so that tests of timers take no time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

#: What simulated clocks show when a simulation begins, in seconds since the Unix epoch.
START_S = 1_800_000_000.0


class StuckError(Exception):
    """Everything in the simulation waits for something that nobody will ever do."""


class _Jumping(selectors.BaseSelector):
    """A selector that does not wait: it moves the clock forward instead."""

    def __init__(self) -> None:
        self._real = selectors.SelectSelector()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise StuckError("nothing is ready and no timer runs: the simulation would wait for ever")
        self.now += max(timeout, 0.0)
        return self._real.select(0)

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An asyncio loop that jumps to the next timer as soon as nothing else is to be done."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return the simulated time in seconds; it begins at 0."""
        return self._jumping.now


def simulate(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` in simulated time and return what it returns.

    Raises:
        StuckError: it waits for something that cannot happen any more.
    """
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(main)


def wall_clock() -> float:
    """Return the simulated time as seconds since the Unix epoch (`streams.ports.Clock`)."""
    return START_S + asyncio.get_running_loop().time()


async def settled() -> None:
    """Return once every task waits for something else than its turn to run; no time passes."""
    # asyncio has no way to ask this but to look at the queue of what is ready.
    ready = vars(asyncio.get_running_loop())["_ready"]
    await asyncio.sleep(0)
    while ready:
        await asyncio.sleep(0)
