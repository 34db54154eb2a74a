"""What stands between a provider and the calls to it: pauses it asked for, a circuit breaker, a budget for retries.

Shared by all calls of this process to one provider. Nothing here waits or looks at a clock: times are handed in, in
seconds of a clock that does not go back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from streams.models.asked import AskedProviders
from streams.models.breaker import CircuitBreaker
from streams.models.budget import RetryBudget
from streams.models.delta import Delta
from streams.models.errors import CircuitOpenError, ProviderPausedError, RetryBudgetExhaustedError
from topics.records import PromptRequest

#: How a call that was made ended, as far as the provider is concerned: with an answer, with an error of a provider that
#: is there, with one that says it is down, or before anybody could tell.
Outcome: TypeAlias = Literal["answered", "refused", "down", "given_up"]


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """How a provider is treated. Times are in seconds; see `budget` and `breaker` for the first four.

    `max_wait_s` is how long a call waits for the end of a pause before it fails instead.
    """

    retry_share: float = 0.2
    retries_per_minute: float = 10.0
    failures: int = 5
    cool_down_s: float = 30.0
    max_wait_s: float = 5.0


class ProviderObserver:
    """Counts nothing. `streams.metrics` has the one that feeds Prometheus. No content, no ids."""

    def called(self, provider: str, *, retry: bool) -> None:
        """A call to `provider` is being made."""

    def ended(self, provider: str, outcome: Outcome) -> None:
        """A call that was made has ended."""

    def took(self, provider: str, seconds: float) -> None:
        """A call that was made is over, `seconds` after it was."""

    def turned_away(self, provider: str, error: str) -> None:
        """A call failed at once, without being made; `error` is why."""

    def state(self, provider: str, *, retries_left: float, circuit_open: bool) -> None:
        """What the guard of `provider` has come to."""


class ProviderGuard:
    """The guard of one provider. `asked` is shared by the guards of all providers."""

    def __init__(
        self, name: str, settings: GuardSettings, asked: AskedProviders, observer: ProviderObserver, now: float
    ) -> None:
        self.name = name
        self._asked = asked
        self._observer = observer
        self._budget = RetryBudget(share=settings.retry_share, per_minute=settings.retries_per_minute, now=now)
        self._breaker = CircuitBreaker(failures=settings.failures, cool_down_s=settings.cool_down_s)
        self._max_wait_s = settings.max_wait_s
        self._paused_until = now
        self._tell(now)

    def wait_s(self, waited_s: float, now: float) -> float:
        """Return how long a call has to wait for the end of a pause, having waited `waited_s` already; 0 for not at all.

        Raises:
            ProviderPausedError: it would wait for too long.
        """
        left = max(self._paused_until - now, 0.0)
        if left and waited_s + left > self._max_wait_s:
            raise self._turn_away(
                ProviderPausedError("the model server asked to be left alone for a while", retry_after_s=left)
            )
        return left

    def admit(self, call: PromptRequest, now: float) -> GuardedCall:
        """Take note that `call` is about to be made, and return what it tells how it fares.

        Raises:
            CircuitOpenError: the provider was down lately.
            RetryBudgetExhaustedError: the call would be a retry, and there were too many.
        """
        retry = self._asked.is_retry(call, self.name)
        wait_s = self._breaker.wait_s(now)
        if wait_s > 0:
            raise self._turn_away(
                CircuitOpenError("the model server was down lately and is left alone for a while", retry_after_s=wait_s)
            )
        if not retry:
            self._budget.earn(now)
        elif not self._budget.spend(now):
            raise self._turn_away(
                RetryBudgetExhaustedError("too many calls to the model server are retries: no more of them for now")
            )
        ticket = self._breaker.begin(now)
        self._asked.ask(call, self.name)
        self._observer.called(self.name, retry=retry)
        self._tell(now)
        return GuardedCall(self, ticket, now)

    def heard(self, ticket: int, delta: Delta, now: float) -> Outcome | None:
        """Take in what a call yielded, and return how the call has ended, if it has."""
        outcome: Outcome | None = None
        if delta.error is None:
            self._breaker.answers(ticket)
            if delta.finish_reason is not None:
                self._breaker.succeeded(ticket)
                outcome = "answered"
        elif delta.provider == "down":
            self._breaker.failed(ticket, now)
            outcome = "down"
        elif delta.provider == "up":
            self._breaker.answers(ticket)
            outcome = "refused"
        if delta.error is not None and delta.error.retry_after_s is not None:
            self._paused_until = max(self._paused_until, now + delta.error.retry_after_s)
        if outcome is not None:
            self._ended(outcome, now)
        return outcome

    def given_up(self, ticket: int, now: float) -> None:
        """Take in that a call ended and did not say how."""
        self._breaker.given_up(ticket, now)
        self._ended("given_up", now)

    def over(self, seconds: float) -> None:
        """Take in that a call is over, `seconds` after it was made."""
        self._observer.took(self.name, seconds)

    def _ended(self, outcome: Outcome, now: float) -> None:
        self._observer.ended(self.name, outcome)
        self._tell(now)

    def _turn_away(self, error: _Refusal) -> _Refusal:
        self._observer.turned_away(self.name, type(error).__name__)
        return error

    def _tell(self, now: float) -> None:
        self._observer.state(self.name, retries_left=self._budget.left(now), circuit_open=self._breaker.is_open)


class GuardedCall:
    """A call that was let through, until it has ended."""

    def __init__(self, guard: ProviderGuard, ticket: int, began: float) -> None:
        self._guard = guard
        self._ticket = ticket
        self._began = began
        self._ended = False

    def heard(self, delta: Delta, now: float) -> None:
        """Take in what the provider said."""
        self._ended = self._ended or self._guard.heard(self._ticket, delta, now) is not None

    def close(self, now: float) -> None:
        """Take in that nothing more will be heard."""
        if not self._ended:
            self._ended = True
            self._guard.given_up(self._ticket, now)
        self._guard.over(now - self._began)


_Refusal: TypeAlias = ProviderPausedError | CircuitOpenError | RetryBudgetExhaustedError
