"""When each open turn is to be looked at because time passes: a heap, so that those with nothing due cost nothing.

Pure. To ask every open turn at every tick would take more of a processor's time the more turns are open, and at a hundred
thousand most of a processor. Nearly all of those times lie ahead and only move on, with each frame that comes.
"""

from __future__ import annotations

import heapq
import math

from topics.ids import TurnKey

#: A turn is looked at this often, in seconds, however far ahead its time is: what is kept of one that has ended goes soon.
LOOK_S = 15.0


class WakeUps:
    """Of each turn a time, in seconds since the epoch, before which there is no need to look at it."""

    def __init__(self) -> None:
        self._at: dict[TurnKey, float] = {}
        #: Also holds times that have been brought forward since: those that `_at` no longer says.
        self._heap: list[tuple[float, TurnKey]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def by(self, key: TurnKey, at: float, now: float) -> None:
        """Have a turn looked at by `at`, or before; and within `LOOK_S` of `now`."""
        at = min(at, now + LOOK_S)
        if at < self._at.get(key, math.inf):
            self._at[key] = at
            heapq.heappush(self._heap, (at, key))

    def due(self, now: float) -> list[TurnKey]:
        """Return the turns to look at now, the earliest first, and forget them; some may have ended, or have more time."""
        found = []
        while self._heap and self._heap[0][0] <= now:
            at, key = heapq.heappop(self._heap)
            if self._at.get(key) == at:
                del self._at[key]
                found.append(key)
        return found
