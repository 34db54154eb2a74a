"""Budgets: who is bound by one, what counts against it, and when it is used up."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors import Budget, DeclarationError
from processors.budgets import Spent, exhausted, spent

ENTRIES = (
    Spent(100.0, "acme", "bob", 10),
    Spent(150.0, "acme", "eve", 20),
    Spent(160.0, "acme", None, 40),
    Spent(160.0, "other", "bob", 80),
    Spent(120.0, "acme", "bob", 160),
)


@pytest.mark.parametrize(
    ("budget", "tenant", "user", "now", "tokens"),
    [
        (Budget("tenant", 1, 100), "acme", "bob", 160.0, 230),
        (Budget("tenant", 1, 100), "acme", None, 160.0, 230),
        (Budget("tenant", 1, 100), "other", "eve", 160.0, 80),
        (Budget("user", 1, 100), "acme", "bob", 160.0, 170),
        (Budget("user", 1, 100), "other", "bob", 160.0, 80),
        (Budget("user", 1, 100), "acme", None, 160.0, 40),
        (Budget("tenant", 1, 60), "acme", "bob", 160.0, 220),
        (Budget("tenant", 1, 40.5), "acme", "bob", 160.0, 220),
        (Budget("tenant", 1, 40), "acme", "bob", 160.0, 60),
        (Budget("tenant", 1, 100), "acme", "bob", 90.0, 230),
        (Budget("tenant", 1, 1), "acme", "bob", 10_000.0, 0),
    ],
)
def test_what_was_spent_in_the_while_before_counts(
    budget: Budget, tenant: str, user: str | None, now: float, tokens: int
) -> None:
    """By tenant or user, in any order; what is as old as the window counts no more, what is ahead of the clock does."""
    assert spent(budget, ENTRIES, tenant=tenant, user=user, now=now) == tokens


@pytest.mark.parametrize(
    ("budget", "binds"),
    [
        (Budget("tenant", 1, 1), True),
        (Budget("tenant", 1, 1, only="acme"), True),
        (Budget("tenant", 1, 1, only="bob"), False),
        (Budget("user", 1, 1), True),
        (Budget("user", 1, 1, only="bob"), True),
        (Budget("user", 1, 1, only="acme"), False),
    ],
)
def test_a_budget_for_one_binds_nobody_else(budget: Budget, *, binds: bool) -> None:
    """`only` is the id of a tenant or of a user, as `per` says."""
    assert budget.binds("acme", "bob") is binds


def test_the_first_budget_that_leaves_nothing_is_named() -> None:
    """One that leaves a single token is not used up; one for somebody else is not asked."""
    ask = {"tenant": "acme", "user": "bob"}
    wide, narrow, others = Budget("tenant", 231, 100), Budget("user", 170, 100), Budget("tenant", 1, 100, only="other")
    assert exhausted([wide, others, narrow], iter(ENTRIES), now=160.0, **ask) == narrow
    assert exhausted([wide, Budget("user", 171, 100)], ENTRIES, now=160.0, **ask) is None
    assert exhausted([], ENTRIES, now=160.0, **ask) is None


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 50)), max_size=20), st.integers(1, 40), st.integers(0, 120)
)
def test_the_window_slides(entries: list[tuple[int, int]], per_s: int, now: int) -> None:
    """At every moment it holds exactly what is younger than `per_s`."""
    budget = Budget("tenant", 1, per_s)
    made = [Spent(at, "acme", "bob", tokens) for at, tokens in entries]
    assert spent(budget, made, tenant="acme", user="bob", now=now) == sum(
        tokens for at, tokens in entries if now - at < per_s
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Budget("team", 1, 1), "per must be"),  # type: ignore[arg-type]
        (lambda: Budget("user", 0, 1), "tokens must be"),
        (lambda: Budget("user", 1.5, 1), "tokens must be"),  # type: ignore[arg-type]
        (lambda: Budget("user", 1, 0), "per_s must be"),
        (lambda: Budget("user", 1, float("inf")), "per_s must be"),
        (lambda: Budget("user", 1, 1, only=""), "only must be"),
    ],
)
def test_what_a_budget_cannot_be_is_refused(make: Callable[[], Budget], message: str) -> None:
    """By field."""
    with pytest.raises(DeclarationError, match=message):
        make()
