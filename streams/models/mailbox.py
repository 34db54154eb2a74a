"""Where a call's output waits between the provider, who writes, and the producer, who sends."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import replace

from streams.models.delta import Delta


class Mailbox:
    """A bounded queue of deltas with one writer and one reader, ended by a last delta that always finds room."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._waiting: deque[Delta] = deque()
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()

    async def put(self, delta: Delta) -> None:
        """Add `delta` once there is room for it; the writer is held back meanwhile, and so is the provider."""
        while len(self._waiting) >= self._capacity:
            self._emptied.clear()
            await self._emptied.wait()
        self._add(delta)

    def close(self, last: Delta) -> None:
        """Add the delta that ends the call, whether or not there is room."""
        self._add(last)

    def clear(self) -> None:
        """Drop everything that waits: nobody wants it any more."""
        self._waiting.clear()
        self._emptied.set()

    async def get(self) -> Delta:
        """Return the oldest delta once there is one."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        return self._take()

    def join(self, delta: Delta, limit: int) -> Delta:
        """Return `delta` joined with the text right behind it, up to `limit` characters; order is kept."""
        if not delta.is_text_only:
            return delta
        texts = [delta.text or ""]
        size = len(texts[0])
        while self._waiting and self._waiting[0].is_text_only:
            size += len(self._waiting[0].text or "")
            if size > limit:
                break
            texts.append(self._take().text or "")
        return replace(delta, text="".join(texts))

    def _add(self, delta: Delta) -> None:
        self._waiting.append(delta)
        self._filled.set()

    def _take(self) -> Delta:
        delta = self._waiting.popleft()
        self._emptied.set()
        return delta
