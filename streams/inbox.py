"""What waits for a partition's loop: bounded for those who can wait, open for those who cannot."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Inbox(Generic[T]):
    """A queue that is emptied in batches, of at most `batch` items each.

    From a length of `limit` on, or from `limit_bytes` on of what was delivered, `deliver` waits.
    """

    def __init__(self, *, limit: int = 10_000, limit_bytes: int = 32 * 1024 * 1024, batch: int = 2_000) -> None:
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._batch = batch
        self._items: deque[tuple[T, int]] = deque()
        self._bytes = 0
        self._closed = False
        self._wake = asyncio.Event()
        self._room = asyncio.Event()

    def __len__(self) -> int:
        return len(self._items)

    async def deliver(self, item: T, size: int = 0) -> None:
        """Add `item`, which takes `size` bytes; waits while the inbox is full."""
        while self._full and not self._closed:
            self._room.clear()
            await self._room.wait()
        self.put(item, size)

    def put(self, item: T, size: int = 0) -> None:
        """Add `item`, whether or not the inbox is full: for news that the loop itself is waiting for."""
        if not self._closed:
            self._items.append((item, size))
            self._bytes += size
            self._wake.set()

    async def deliver_all(self, items: Sequence[T], sizes: Sequence[int]) -> None:
        """Add `items`, which take so many bytes each; waits while the inbox is full, and then takes all of them."""
        while self._full and not self._closed:
            self._room.clear()
            await self._room.wait()
        if items and not self._closed:
            self._items.extend(zip(items, sizes, strict=True))
            self._bytes += sum(sizes)
            self._wake.set()

    def nudge(self) -> None:
        """Have the next `take` return even if there is nothing in it."""
        self._wake.set()

    def close(self) -> None:
        """Forget everything, take nothing more, and let go of those who wait for room: the loop is gone."""
        self._closed = True
        self._items.clear()
        self._bytes = 0
        self._room.set()

    async def take(self) -> list[T]:
        """Wait for items, and return all that wait, up to a batch, in order; empty only after a `nudge`."""
        await self._wake.wait()
        taken = [self._items.popleft() for _ in range(min(len(self._items), self._batch))]
        self._bytes -= sum(size for _, size in taken)
        if not self._items:
            self._wake.clear()
        if not self._full:
            self._room.set()
        return [item for item, _ in taken]

    @property
    def _full(self) -> bool:
        return len(self._items) >= self._limit or self._bytes >= self._limit_bytes
