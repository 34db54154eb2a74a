"""The power switch of a simulated process: it is cut, or frozen, at the k-th boundary that the process reaches.

A boundary is a place between two things that the outside world can tell apart: before a record is sent and once it is
durable, before and after an acknowledgement. Whoever plays the process cuts it at each of them in turn.
"""

from __future__ import annotations

import asyncio


class PowerCut(BaseException):
    """The process is gone: nothing that it was about to do happens."""


class Power:
    """Counts the boundaries that one process passes.

    At boundary `cut_at` (from 0) the process dies. At `freeze_at` it stops in the middle of whatever it does, until
    `thaw` is called, without noticing. `passed` are the names of the boundaries it came past.
    """

    def __init__(self, *, cut_at: int | None = None, freeze_at: int | None = None) -> None:
        self._cut_at = cut_at
        self._freeze_at = freeze_at
        self._thawed = asyncio.Event()
        self._thawed.set()
        self.passed: list[str] = []
        self.off = False

    @property
    def frozen(self) -> bool:
        """Whether the process stands still."""
        return not self._thawed.is_set()

    def cut(self) -> None:
        """Switch off now."""
        self.off = True

    def thaw(self) -> None:
        """Let a frozen process go on, as if nothing had been."""
        self._thawed.set()

    def reach(self, boundary: str) -> bool:
        """Come to a boundary; return whether the process is still there to go past it."""
        if self.off:
            return False
        number = len(self.passed)
        if number == self._cut_at:
            self.off = True
            return False
        if number == self._freeze_at:
            self._thawed.clear()
        self.passed.append(boundary)
        return True

    def step(self, boundary: str) -> None:
        """Come to a boundary that takes no time.

        Raises:
            PowerCut: the process ends here.
        """
        if not self.reach(boundary):
            raise PowerCut(boundary)

    async def walk(self, boundary: str) -> None:
        """Come to a boundary, and wait there while the process is frozen.

        Raises:
            PowerCut: the process ends here.
        """
        self.step(boundary)
        while self.frozen:
            await self._thawed.wait()
        if self.off:
            raise PowerCut(boundary)
