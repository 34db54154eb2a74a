"""A producer for tests: it takes frames at once, and confirms them when the test says so, or by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from topics.records import ModelFrame


class BrokerDownError(Exception):
    """What this producer fails with."""


class Producer:
    """Keeps the frames it was given, by partition, and lets a test decide what becomes of them."""

    def __init__(self, *, confirms: bool = True) -> None:
        self.confirms = confirms
        self.taken: list[tuple[ModelFrame, int]] = []
        self.waiting: list[asyncio.Future[object]] = []
        self.refuse_with: BaseException | None = None
        self.changed = asyncio.Event()

    async def send(self, frame: ModelFrame, partition: int) -> Awaitable[object]:
        """Take a frame and return its confirmation."""
        # As a real producer does, it lets others run before it has taken the frame.
        await asyncio.sleep(0)
        if self.refuse_with:
            raise self.refuse_with
        self.taken.append((frame, partition))
        confirmation: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        if self.confirms:
            confirmation.set_result(len(self.taken))
        else:
            self.waiting.append(confirmation)
        self.changed.set()
        return confirmation

    @property
    def frames(self) -> list[ModelFrame]:
        """The frames that were taken, in order."""
        return [frame for frame, _ in self.taken]

    def of(self, turn: str) -> list[ModelFrame]:
        """Return the frames of one turn, in order."""
        return [frame for frame in self.frames if frame.turn_id == turn]

    async def until(self, count: int) -> None:
        """Wait until `count` frames were taken."""
        while len(self.taken) < count:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), 10)

    def confirm_all(self) -> None:
        """Confirm everything that waits, and from now on everything at once."""
        self.confirms = True
        while self.waiting:
            self.waiting.pop(0).set_result(None)
