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
        self.settling = 0

    def time(self) -> float:
        """Return the simulated time in seconds; it begins at 0."""
        return self._jumping.now

    def jump(self, seconds: float) -> None:
        """Move the clock forward without running what falls due in between: timers that have passed fire once."""
        self._jumping.now += seconds


def jump(seconds: float) -> None:
    """Move the clock of the running simulation forward (`SimulatedLoop.jump`)."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimulatedLoop), "only simulated time can be moved"
    loop.jump(seconds)


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
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimulatedLoop), "only simulations settle: other loops wait for the real world"
    # asyncio has no way to ask this but to look at the queue of what is ready.
    ready = vars(loop)["_ready"]
    loop.settling += 1
    try:
        await asyncio.sleep(0)
        while len(ready) >= loop.settling:  # noqa: ASYNC110 - that all others wait is no event
            await asyncio.sleep(0)
    finally:
        loop.settling -= 1
