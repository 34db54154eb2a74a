"""A call of a chain that a child process is to run, and a child that is up and runs some."""

from __future__ import annotations

import asyncio
import heapq
from typing import Any

from processors.chain import Run
from processors.declare import Declaration
from streams.chains.bound import Bound
from streams.chains.children import Child


class Call:
    """One call of a runner, from when it is made until its outcome is known."""

    __slots__ = ("alone", "began", "bound", "child", "future", "number", "run", "ticket", "timer")

    def __init__(
        self,
        ticket: int,
        run: Run,
        future: asyncio.Future[Any],
        number: int,
        bound: Bound[Declaration],
        *,
        alone: bool,
    ) -> None:
        self.ticket = ticket
        self.run = run
        self.future = future
        self.number = number
        self.bound = bound
        self.alone = alone
        self.child: Seat | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.began = 0.0

    def __lt__(self, other: Call) -> bool:
        return self.ticket < other.ticket

    def stop_timer(self) -> None:
        """Let the current limit go."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class Seat:
    """A child that is up, and what it is doing."""

    __slots__ = ("alone", "calls", "certain", "child", "doomed", "heard", "pulse")

    def __init__(self, child: Child) -> None:
        self.child = child
        self.calls: dict[int, Call] = {}
        self.alone = False
        self.doomed: str | None = None
        self.certain = False
        self.pulse: asyncio.TimerHandle | None = None
        self.heard = True

    def doom(self, error: str) -> None:
        """Kill the child because of `error`; what it was doing is seen to once it is gone."""
        if self.doomed is None:
            self.doomed = error
            self.certain = len(self.calls) == 1  # not later: others may still finish before the kill arrives
            self.child.kill()


def drop_abandoned(queue: list[Call]) -> bool:
    """Forget calls at the head of a queue that nobody waits for; tell whether any is left."""
    while queue and queue[0].future.done():
        heapq.heappop(queue)
    return bool(queue)
