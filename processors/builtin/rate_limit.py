"""A limit on how often one user may ask, over all of the user's threads."""

from __future__ import annotations

import time
from collections.abc import Callable

from processors.checks import is_count, is_number
from processors.contracts import IncomingMessage
from processors.declare import OnFailure
from processors.errors import DeclarationError
from processors.verdicts import Block, Proceed

#: Of no user more turns are known.
MAX_TURNS = 1_000


class RateLimit:
    """A pre-processor that blocks a user's next turn while the window is full."""

    kind = "pre"

    def __init__(
        self,
        max_turns: int,
        per_s: float,
        response: str,
        clock: Callable[[], float],
        *,
        name: str,
        priority: float,
        on_failure: OnFailure,
        version: str,
    ) -> None:
        self.name = name
        self.priority = priority
        self.on_failure = on_failure
        self.version = version
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
    name: str = "rate-limit",
    priority: float = 10.0,
    on_failure: OnFailure = "block",
    version: str = "1",
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
        name: how records call it.
        priority: early by default, so that what comes after it is not asked for nothing.
        on_failure: what becomes of the turn if it fails.
        version: for records.

    Raises:
        DeclarationError: an argument cannot be.
    """
    if not is_count(max_turns) or max_turns > MAX_TURNS:
        raise DeclarationError(f"rate_limit: max_turns must be an int from 1 to {MAX_TURNS}")
    if not is_number(per_s) or per_s <= 0:
        raise DeclarationError("rate_limit: per_s must be a number of seconds above 0")
    return RateLimit(
        max_turns, per_s, response, clock, name=name, priority=priority, on_failure=on_failure, version=version
    )
