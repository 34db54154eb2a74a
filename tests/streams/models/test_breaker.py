"""The circuit breaker, by a clock that is moved by hand."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from streams.models.breaker import CircuitBreaker

LIMIT, COOL_DOWN_S = 3, 30.0


def a_breaker(*, failed: int = 0) -> CircuitBreaker:
    """Return a breaker that has seen so many failures in a row, at time 0."""
    breaker = CircuitBreaker(failures=LIMIT, cool_down_s=COOL_DOWN_S)
    for _ in range(failed):
        breaker.failed(breaker.begin(0), 0)
    return breaker


def test_so_many_failures_in_a_row_open_it_for_the_cool_down() -> None:
    """Not one earlier, and the wait counts down."""
    breaker = a_breaker(failed=LIMIT - 1)
    assert (breaker.wait_s(0), breaker.is_open) == (0, False)
    breaker.failed(breaker.begin(5), 5)
    assert breaker.is_open
    assert [breaker.wait_s(now) for now in (5, 25, 35, 99)] == [30, 10, 0, 0]


def test_a_whole_answer_in_between_starts_the_count_again() -> None:
    """Failures that are not in a row are everyday life."""
    breaker = a_breaker(failed=LIMIT - 1)
    breaker.succeeded(breaker.begin(0))
    for _ in range(LIMIT - 1):
        breaker.failed(breaker.begin(0), 0)
    assert not breaker.is_open


def test_while_it_is_open_no_call_may_begin() -> None:
    """Whoever does not ask first has a fault."""
    breaker = a_breaker(failed=LIMIT)
    with pytest.raises(ValueError, match="wait_s"):
        breaker.begin(COOL_DOWN_S - 1)


def test_after_the_cool_down_one_call_probes_and_the_others_wait() -> None:
    """For as long as one more cool-down, unless the probe is answered before."""
    breaker = a_breaker(failed=LIMIT)
    probe = breaker.begin(40)
    assert breaker.wait_s(41) == 29
    breaker.answers(probe)
    assert (breaker.wait_s(41), breaker.is_open) == (0, False)


def test_a_probe_that_fails_opens_it_again() -> None:
    """From then on."""
    breaker = a_breaker(failed=LIMIT)
    breaker.failed(breaker.begin(40), 45)
    assert (breaker.is_open, breaker.wait_s(45)) == (True, 30)


def test_a_provider_whose_answers_break_off_is_left_alone_again_after_the_first() -> None:
    """It answers the probe, so calls are made; but nothing has come of one yet."""
    breaker = a_breaker(failed=LIMIT)
    probe = breaker.begin(40)
    breaker.answers(probe)
    breaker.failed(probe, 41)
    assert breaker.is_open


def test_after_a_whole_answer_it_takes_all_failures_again() -> None:
    """The provider is back for good."""
    breaker = a_breaker(failed=LIMIT)
    breaker.succeeded(breaker.begin(40))
    breaker.failed(breaker.begin(41), 41)
    assert not breaker.is_open


def test_a_probe_that_hangs_is_joined_by_another() -> None:
    """What the first one says then is old news."""
    breaker = a_breaker(failed=LIMIT)
    first = breaker.begin(40)
    second = breaker.begin(40 + COOL_DOWN_S)
    breaker.succeeded(first)
    assert breaker.is_open
    breaker.succeeded(second)
    assert not breaker.is_open


def test_a_probe_that_is_given_up_leaves_its_place_to_the_next_call() -> None:
    """Its turn was cancelled; the provider need not be left alone any longer for that."""
    breaker = a_breaker(failed=LIMIT)
    breaker.given_up(breaker.begin(40), 41)
    assert (breaker.is_open, breaker.wait_s(41)) == (True, 0)


def test_calls_from_before_it_opened_change_nothing_any_more() -> None:
    """Fifty streams that break with the provider open it once, and none of them closes it or prolongs the cool-down."""
    breaker = a_breaker()
    tickets = [breaker.begin(0) for _ in range(50)]
    for ticket in tickets[:-3]:
        breaker.failed(ticket, 10)
    breaker.failed(tickets[-3], 20)
    breaker.succeeded(tickets[-2])
    breaker.given_up(tickets[-1], 20)
    assert (breaker.is_open, breaker.wait_s(20)) == (True, 20)


class AnyOrder(RuleBasedStateMachine):
    """Calls begin and end in any order, at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.breaker = CircuitBreaker(failures=LIMIT, cool_down_s=COOL_DOWN_S)
        self.under_way: list[int] = []
        self.probes: list[float] = []

    @rule(passed=st.floats(0, 60))
    def time_passes(self, passed: float) -> None:
        """Let time pass."""
        self.now += passed

    @precondition(lambda self: self.breaker.wait_s(self.now) == 0)
    @rule()
    def begin(self) -> None:
        """Begin a call."""
        if self.breaker.is_open:
            self.probes.append(self.now)
        self.under_way.append(self.breaker.begin(self.now))

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), how=st.sampled_from(["answers", "succeeded", "failed"]))
    def say(self, data: st.DataObject, how: str) -> None:
        """Say how one fares."""
        ticket = data.draw(st.sampled_from(self.under_way))
        if how == "failed":
            self.breaker.failed(ticket, self.now)
        else:
            getattr(self.breaker, how)(ticket)
        if how != "answers":
            self.under_way.remove(ticket)
        if not self.breaker.is_open:
            self.probes.clear()

    @invariant()
    def no_wait_is_longer_than_a_cool_down(self) -> None:
        """So a provider is tried again for ever, however calls end."""
        assert 0 <= self.breaker.wait_s(self.now) <= COOL_DOWN_S + 1e-9
        assert self.breaker.is_open or self.breaker.wait_s(self.now) == 0

    @invariant()
    def probes_are_a_cool_down_apart(self) -> None:
        """As long as none was answered or given up."""
        assert all(
            after - before > COOL_DOWN_S - 1e-6 for before, after in zip(self.probes, self.probes[1:], strict=False)
        )


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
