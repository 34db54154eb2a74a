"""A limit on how often one user may ask, over all of the user's threads."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Unpack

from processors.builtin.placed import Placed, Placing
from processors.checks import is_count, is_number
from processors.contracts import IncomingMessage
from processors.errors import DeclarationError
from processors.verdicts import Block, Proceed

#: Of no user more turns are known.
MAX_TURNS = 1_000


class RateLimit(Placed):
    """A pre-processor that blocks a user's next turn while the window is full."""

    kind = "pre"

    def __init__(
        self, max_turns: int, per_s: float, response: str, clock: Callable[[], float], placing: Placing
    ) -> None:
        # A limit that is skipped when it fails is none.
        super().__init__("rate-limit", {"on_failure": "block", **placing}, max_turns, per_s, response, priority=10)
        self.recent_turns_s = per_s
        self._max_turns = max_turns
        self._response = response
        self._clock = clock

    def process(self, incoming: IncomingMessage) -> Proceed | Block:
        """Let the message go on, or answer it with the response."""
        since = self._clock() - self.recent_turns_s
        if sum(at > since for at in incoming.context.recent_turns) < self._max_turns:
            return Proceed()
        return Block(self._response, reason=f"{self._max_turns} turns in {self.recent_turns_s:g} s")


def rate_limit(
    max_turns: int,
    per_s: float,
    *,
    response: str = "You are asking too often. Please try again in a moment.",
    clock: Callable[[], float] = time.time,
    **placing: Unpack[Placing],
) -> RateLimit:
    """Return a pre-processor that lets each user have at most `max_turns` turns in any `per_s` seconds.

    A turn counts while it runs and for `per_s` seconds after its end; one that is blocked before its model is asked is none.
    Ids of users mean nothing across tenants, and turns without a user share one in their tenant. Within a thread, and for
    all turns on one worker, the limit is exact; those on other workers count once their first model call is over.

    Args:
        max_turns: how many, at most 1,000.
        per_s: in how many seconds; the window slides.
        response: what the user is told; "" is the channel's default text.
        clock: what tells the time, in seconds since the epoch; for tests.
        placing: `name`, `priority` (10), `on_failure` (`block`), `agents`, `timeout_s`, `version`.

    Raises:
        DeclarationError: an argument cannot be.
    """
    if not is_count(max_turns) or max_turns > MAX_TURNS:
        raise DeclarationError(f"rate_limit: max_turns must be an int from 1 to {MAX_TURNS}")
    if not is_number(per_s) or per_s <= 0:
        raise DeclarationError("rate_limit: per_s must be a number of seconds above 0")
    return RateLimit(max_turns, per_s, response, clock, placing)
