"""How many retries a provider may be sent: a share of its other calls, and a few each minute beside that.

Where every call fails, trying each of them again doubles the load of a server that is in trouble already. The budget is
a bucket of tokens: a first call puts `share` of one in, time puts `per_minute` in, and a retry takes one out. So, however
calls and failures come, in `t` minutes with `n` first calls there are at most `capacity + share * n + per_minute * t`
retries.

Time is handed in, in seconds of a clock that does not go back; it is the same clock for all calls.
"""

from __future__ import annotations

#: How many first calls' shares can be saved up beside one minute's worth.
SAVED_CALLS = 100


class RetryBudget:
    """The retries of one provider: `share` of a retry per first call, and `per_minute` beside that. Full at the start."""

    def __init__(self, *, share: float, per_minute: float, now: float) -> None:
        self._share = share
        self._per_s = per_minute / 60
        self.capacity = per_minute + share * SAVED_CALLS
        self._left = self.capacity
        self._at = now

    def left(self, now: float) -> float:
        """Return how many retries can be made now; the fraction is on its way to one more."""
        self._add((now - self._at) * self._per_s)
        self._at = max(now, self._at)
        return self._left

    def earn(self, now: float) -> None:
        """Note a call that is no retry."""
        self.left(now)
        self._add(self._share)

    def spend(self, now: float) -> bool:
        """Take a retry out if there is one, and return whether there was."""
        if self.left(now) < 1:
            return False
        self._left -= 1
        return True

    def _add(self, tokens: float) -> None:
        self._left = min(self._left + max(tokens, 0.0), self.capacity)
