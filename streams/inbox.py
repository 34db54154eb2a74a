"""What waits for a partition's loop: bounded for those who can wait, open for those who cannot."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Inbox(Generic[T]):
    """A queue that is emptied in batches. `limit` is the length from which `deliver` waits, `batch` the longest batch."""

    def __init__(self, *, limit: int = 10_000, batch: int = 2_000) -> None:
        self._limit = limit
        self._batch = batch
        self._items: deque[T] = deque()
        self._closed = False
        self._wake = asyncio.Event()
        self._room = asyncio.Event()

    async def deliver(self, item: T) -> None:
        """Add `item`; waits while the inbox is full."""
        while len(self._items) >= self._limit and not self._closed:
            self._room.clear()
            await self._room.wait()
        self.put(item)

    def put(self, item: T) -> None:
        """Add `item`, whether or not the inbox is full: for news that the loop itself is waiting for."""
        if not self._closed:
            self._items.append(item)
            self._wake.set()

    def nudge(self) -> None:
        """Have the next `take` return even if there is nothing in it."""
        self._wake.set()

    def close(self) -> None:
        """Forget everything, take nothing more, and let go of those who wait for room: the loop is gone."""
        self._closed = True
        self._items.clear()
        self._room.set()

    async def take(self) -> list[T]:
        """Wait for items, and return all that wait, up to a batch, in order; empty only after a `nudge`."""
        await self._wake.wait()
        taken = [self._items.popleft() for _ in range(min(len(self._items), self._batch))]
        if not self._items:
            self._wake.clear()
        if len(self._items) < self._limit:
            self._room.set()
        return taken
