"""The retry budget: a share of the other calls and a few a minute, however calls come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streams.models.budget import SAVED_CALLS, RetryBudget


def spent(budget: RetryBudget, now: float) -> int:
    """Return how many retries there are at `now`, taking them all."""
    count = 0
    while budget.spend(now):
        count += 1
    return count


def test_it_starts_full() -> None:
    """A runner that has just started may meet a bad minute like any other."""
    budget = RetryBudget(share=0.2, per_minute=10, now=100)
    assert budget.left(100) == budget.capacity == 10 + 0.2 * SAVED_CALLS
    assert spent(budget, 100) == 30


def test_first_calls_earn_their_share() -> None:
    """Five calls, one retry."""
    budget = RetryBudget(share=0.25, per_minute=0, now=0)
    spent(budget, 0)
    for _ in range(3):
        budget.earn(0)
    assert not budget.spend(0)
    budget.earn(0)
    assert budget.spend(0)
    assert not budget.spend(0)


def test_time_earns_the_rest_evenly() -> None:
    """Six a minute are one in ten seconds, and not six at the end of it."""
    budget = RetryBudget(share=0, per_minute=6, now=0)
    spent(budget, 0)
    assert not budget.spend(9.9)
    assert spent(budget, 20.1) == 2


def test_without_share_and_floor_there_are_no_retries() -> None:
    """An operator may want none."""
    budget = RetryBudget(share=0, per_minute=0, now=0)
    budget.earn(0)
    assert not budget.spend(1_000_000)


def test_a_clock_that_stands_or_goes_back_earns_nothing() -> None:
    """And the time until it has caught up is not counted twice."""
    budget = RetryBudget(share=0, per_minute=60, now=10)
    spent(budget, 10)
    assert not budget.spend(5)
    assert not budget.spend(10)
    assert spent(budget, 12) == 2


@given(
    st.floats(0, 1),
    st.floats(0, 100),
    st.lists(st.tuples(st.floats(0, 30), st.sampled_from(["first", "retry"])), max_size=200),
)
def test_there_are_never_more_retries_than_the_bound(
    share: float, per_minute: float, calls: list[tuple[float, str]]
) -> None:
    """Capacity, share of the first calls, and the floor for the time that has passed; over any stretch from the start."""
    now, first, retries = 0.0, 0, 0
    budget = RetryBudget(share=share, per_minute=per_minute, now=now)
    for passed, kind in calls:
        now += passed
        if kind == "first":
            first += 1
            budget.earn(now)
        else:
            retries += budget.spend(now)
        assert retries <= budget.capacity + share * first + per_minute * now / 60 + 1e-6
        assert 0 <= budget.left(now) <= budget.capacity
