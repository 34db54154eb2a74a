"""Calls through a provider's guard: which are made, which fail at once and with what, and what the provider is spared."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Literal

import pytest

from streams.models.asked import AskedProviders
from streams.models.delta import Delta
from streams.models.guard import GuardSettings, Outcome, ProviderGuard, ProviderObserver
from streams.models.guarded import GuardedAdapter
from tests.streams.models.requests import answer, request
from topics.records import ModelError, PromptRequest

WELL = [Delta(text="well"), Delta(finish_reason="stop")]


def fails(provider: Literal["up", "down"] | None, **error: Any) -> list[Delta]:
    """Return what a call yields that fails at once."""
    return [Delta(error=ModelError(type="TheirError", retryable=True, **error), provider=provider)]


class Clock:
    """A clock that is moved by hand, or by whoever sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        """Return the time."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        self.slept.append(seconds)
        self.now += seconds


class Model:
    """A model that answers as it is told, and counts how often it is asked."""

    name = "told"

    def __init__(self) -> None:
        self.says: list[Delta] = WELL
        self.asked = 0
        self.hangs = False
        self.hanging = asyncio.Event()
        self.closed = 0

    async def stream(self, request: PromptRequest) -> AsyncGenerator[Delta, None]:  # noqa: ARG002 - whatever it asks
        """Answer."""
        self.asked += 1
        for delta in self.says:
            yield delta
        if self.hangs:
            self.hanging.set()
            await asyncio.Event().wait()

    async def close(self) -> None:
        """Count."""
        self.closed += 1


class Notes(ProviderObserver):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.calls: list[bool] = []
        self.outcomes: list[Outcome] = []
        self.away: list[str] = []
        self.circuit_open = False
        self.retries_left = 0.0

    def called(self, provider: str, *, retry: bool) -> None:
        """Note it."""
        assert provider == "one"
        self.calls.append(retry)

    def ended(self, provider: str, outcome: Outcome) -> None:  # noqa: ARG002 - there is one
        """Note it."""
        self.outcomes.append(outcome)

    def turned_away(self, provider: str, error: str) -> None:  # noqa: ARG002 - there is one
        """Note it."""
        self.away.append(error)

    def state(self, provider: str, *, retries_left: float, circuit_open: bool) -> None:  # noqa: ARG002 - there is one
        """Note it."""
        self.retries_left, self.circuit_open = retries_left, circuit_open


class Bench:
    """One guarded model, and what is needed to see what happens."""

    def __init__(self, **settings: Any) -> None:
        self.clock, self.model, self.notes = Clock(), Model(), Notes()
        guard = ProviderGuard("one", GuardSettings(**settings), AskedProviders(), self.notes, self.clock())
        self.adapter = GuardedAdapter(self.model, guard, self.clock, self.clock.sleep)
        self.turns = 0

    async def call(self, *, attempt: int = 0) -> list[Delta]:
        """Make a call: of a new turn, or a later attempt of the latest."""
        self.turns += attempt == 0
        return await answer(self.adapter, request(turn=f"turn-{self.turns}", attempt=attempt, retry=attempt > 0))

    async def refusal(self, *, attempt: int = 0) -> ModelError:
        """Make a call that is not made, and return why."""
        before = self.model.asked
        [delta] = await self.call(attempt=attempt)
        assert delta.error is not None
        assert self.model.asked == before
        assert delta.account is not None
        return delta.error


async def test_an_answer_comes_through_as_it_is() -> None:
    """Nothing is waited for where nothing is the matter."""
    bench = Bench()
    assert await bench.call() == WELL
    assert (bench.notes.outcomes, bench.clock.slept, bench.adapter.name) == (["answered"], [], "told")
    await bench.adapter.close()
    assert bench.model.closed == 1


async def test_a_provider_that_is_down_is_left_alone_until_the_cool_down_is_over() -> None:
    """Calls fail at once, and say when to come again."""
    bench = Bench(failures=2, cool_down_s=30)
    bench.model.says = fails("down")
    await bench.call()
    await bench.call()
    bench.clock.now += 10
    error = await bench.refusal()
    assert (error.type, error.retryable, error.retry_after_s) == ("CircuitOpenError", True, 20)
    assert bench.notes.circuit_open
    assert bench.notes.away == ["CircuitOpenError"]

    bench.clock.now += 20
    bench.model.says = WELL
    assert await bench.call() == WELL
    assert not bench.notes.circuit_open
    assert bench.notes.outcomes == ["down", "down", "answered"]


async def test_errors_of_a_provider_that_is_there_do_not_open_the_circuit() -> None:
    """A wrong key or a bad request is nothing that leaving it alone would mend."""
    bench = Bench(failures=2)
    bench.model.says = fails("up")
    for _ in range(5):
        await bench.call()
    assert not bench.notes.circuit_open
    assert set(bench.notes.outcomes) == {"refused"}


async def test_an_error_of_our_own_says_nothing_of_the_provider() -> None:
    """A probe that never left the house does not close the circuit."""
    bench = Bench(failures=1, cool_down_s=30)
    bench.model.says = fails("down")
    await bench.call()
    bench.clock.now += 30
    bench.model.says = fails(None)
    await bench.call()
    assert bench.notes.circuit_open
    assert bench.notes.outcomes == ["down", "given_up"]
    bench.model.says = WELL
    assert await bench.call() == WELL


async def test_a_probe_that_begins_to_answer_lets_the_others_in() -> None:
    """A long answer is not waited for; one that is given up after that changes nothing."""
    bench = Bench(failures=1, cool_down_s=30)
    bench.model.says = fails("down")
    await bench.call()
    bench.clock.now += 30
    bench.model.says = WELL
    probe = bench.adapter.stream(request(turn="probe"))
    assert await anext(probe) == WELL[0]
    assert await bench.call() == WELL
    await probe.aclose()
    assert await bench.call() == WELL
    assert bench.notes.outcomes == ["down", "answered", "given_up", "answered"]


async def test_a_call_that_is_cancelled_leaves_the_probe_s_place() -> None:
    """Its turn was cancelled while the provider was silent: the next call probes."""
    bench = Bench(failures=1, cool_down_s=30)
    bench.model.says = fails("down")
    await bench.call()
    bench.clock.now += 30
    bench.model.says, bench.model.hangs = [], True
    probe = asyncio.create_task(bench.call())
    await asyncio.wait_for(bench.model.hanging.wait(), 10)
    assert (await bench.refusal()).type == "CircuitOpenError"
    probe.cancel()
    await asyncio.wait([probe])
    bench.model.says, bench.model.hangs = WELL, False
    assert await bench.call() == WELL
    assert bench.notes.outcomes == ["down", "given_up", "answered"]


async def test_retries_are_a_share_of_the_other_calls() -> None:
    """One that is beyond it is not made, and no attempt after it would fare better here."""
    bench = Bench(retry_share=0.5, retries_per_minute=0)
    bench.model.says = fails("up")
    await bench.call()
    while bench.notes.retries_left >= 1:
        await bench.call(attempt=1)
    await bench.call()
    error = await bench.refusal(attempt=1)
    assert (error.type, error.retryable, error.retry_after_s) == ("RetryBudgetExhaustedError", False, None)
    await bench.call()
    assert await bench.call(attempt=1) == bench.model.says
    assert bench.notes.away == ["RetryBudgetExhaustedError"]


async def test_first_calls_are_made_however_few_retries_are_left() -> None:
    """A provider is spared retries, not work."""
    bench = Bench(retry_share=0, retries_per_minute=0)
    for _ in range(20):
        assert await bench.call() == WELL
    assert bench.notes.calls == [False] * 20


async def test_a_retry_that_may_not_be_made_takes_no_probe_s_place() -> None:
    """The next call, which may, is the probe."""
    bench = Bench(failures=1, cool_down_s=30, retry_share=0, retries_per_minute=0)
    bench.model.says = fails("down")
    await bench.call()
    bench.clock.now += 30
    assert (await bench.refusal(attempt=1)).type == "RetryBudgetExhaustedError"
    bench.model.says = WELL
    assert await bench.call() == WELL


async def test_a_short_pause_that_the_provider_asked_for_is_waited_for() -> None:
    """By all calls to it."""
    bench = Bench(max_wait_s=5)
    bench.model.says = fails("up", retry_after_s=4)
    await bench.call()
    bench.model.says = WELL
    bench.clock.now += 1
    assert await bench.call() == WELL
    assert bench.clock.slept == [3]
    assert await bench.call() == WELL
    assert bench.clock.slept == [3]


async def test_a_longer_pause_fails_calls_at_once_and_says_how_long() -> None:
    """The turn worker may have another model to ask."""
    bench = Bench(max_wait_s=5)
    bench.model.says = fails("up", retry_after_s=60)
    await bench.call()
    bench.clock.now += 20
    error = await bench.refusal()
    assert (error.type, error.retryable, error.retry_after_s) == ("ProviderPausedError", True, 40)
    assert bench.clock.slept == []


async def test_a_shorter_pause_does_not_end_a_longer_one() -> None:
    """Refusals may come in any order."""
    bench = Bench(max_wait_s=0)
    bench.model.says = [*fails("up", retry_after_s=60)]
    first = bench.adapter.stream(request(turn="a"))
    second = bench.adapter.stream(request(turn="b"))
    both = [anext(first), anext(second)]
    await both[0]
    bench.model.says = fails("up", retry_after_s=1)
    assert (await both[1]).error is not None
    assert (await bench.refusal()).retry_after_s == 60


async def test_pauses_one_after_the_other_are_waited_for_only_so_long() -> None:
    """In all, not each."""
    bench = Bench(max_wait_s=5)
    asking = bench.adapter.stream(request(turn="that asks"))
    bench.model.says = fails("up", retry_after_s=4)
    await bench.call()

    async def sleep(seconds: float) -> None:
        """Have another call, that was on its way, be told to wait as well."""
        await Clock.sleep(bench.clock, seconds)
        guard = bench.adapter._guard
        guard.heard(0, fails("up", retry_after_s=4)[0], bench.clock())

    bench.adapter._sleep = sleep
    last = await anext(asking)
    assert last.error is not None
    assert (last.error.type, last.error.retry_after_s) == ("ProviderPausedError", 4)
    assert bench.clock.slept == [4]


@pytest.mark.parametrize("raised", [OSError("gone"), RuntimeError("what is that")])
async def test_what_nobody_expected_gets_through_and_ends_the_call(raised: Exception) -> None:
    """The call's own code deals with it."""
    bench = Bench()

    async def breaks(_: PromptRequest) -> AsyncGenerator[Delta, None]:
        yield WELL[0]
        raise raised

    bench.model.stream = breaks  # type: ignore[method-assign, assignment]
    with pytest.raises(type(raised)):
        await bench.call()
    assert bench.notes.outcomes == ["given_up"]
