"""A circuit breaker: after so many failures in a row a provider is left alone for a while, then tried with one call.

    closed    calls are made; `failures` of them in a row that say that the provider is down open the circuit
    open      no call is made until the cool-down is over
    probing   one call is under way to see whether the provider is back, and no other until it says so

A provider that begins to answer closes the circuit, but only a whole answer clears the count: one whose answers all break
off is left alone again after the first that does. A probe that says nothing for a whole cool-down is joined by another;
one that is given up, because its turn was cancelled, leaves its place to the next call.

What calls say that were made before the circuit last opened, or before the probe, is old news and not listened to.
Time is handed in, in seconds of a clock that does not go back; it is the same clock for all calls.
"""

from __future__ import annotations


class CircuitBreaker:
    """The breaker of one provider. Times are in seconds."""

    def __init__(self, *, failures: int, cool_down_s: float) -> None:
        self._limit = failures
        self._cool_down_s = cool_down_s
        self._failed = 0
        #: Until when no call is made; None while the circuit is closed.
        self._open_until: float | None = None
        self._news = 0

    @property
    def is_open(self) -> bool:
        """Whether calls are held back, but for one that probes."""
        return self._open_until is not None

    def wait_s(self, now: float) -> float:
        """Return how long until the next call may be made: 0 if it may be made now."""
        return 0.0 if self._open_until is None else max(self._open_until - now, 0.0)

    def begin(self, now: float) -> int:
        """Note that a call is made, and return the ticket by which it tells how it fares.

        Raises:
            ValueError: no call may be made now, as `wait_s` says.
        """
        if self.wait_s(now) > 0:
            raise ValueError("the circuit is open: ask wait_s() before making a call")
        if self._open_until is not None:
            self._open_until = now + self._cool_down_s
            self._news += 1
        return self._news

    def answers(self, ticket: int) -> None:
        """Note that the provider says something to this call, be it a refusal: it is there."""
        if ticket == self._news:
            self._open_until = None

    def succeeded(self, ticket: int) -> None:
        """Note that the provider did all that this call asked of it, or refused it for good reasons."""
        if ticket == self._news:
            self._open_until = None
            self._failed = 0

    def failed(self, ticket: int, now: float) -> None:
        """Note that this call found the provider down."""
        if ticket != self._news:
            return
        self._failed += 1
        if self._failed >= self._limit:
            self._open_until = now + self._cool_down_s
            self._news += 1

    def given_up(self, ticket: int, now: float) -> None:
        """Note that nobody will learn how this call fared."""
        if ticket == self._news and self._open_until is not None:
            self._open_until = now
