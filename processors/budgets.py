"""Budgets: how many tokens a tenant or a user may spend in a while, and the arithmetic of it.

The window slides: at any moment, what was spent in the `per_s` seconds before it counts, and nothing older. Nothing here
looks at a clock; whoever asks says what was spent when, and what time it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

from processors.checks import is_count, is_name, is_number
from processors.errors import DeclarationError

Per: TypeAlias = Literal["tenant", "user"]


class Spent(NamedTuple):
    """What somebody spent: `tokens` at `at`, in seconds since the epoch. `user` is None where the turn names none."""

    at: float
    tenant: str
    user: str | None
    tokens: int


@dataclass(frozen=True)
class Budget:
    """At most `tokens` tokens in any `per_s` seconds for each tenant, or for each user of each tenant.

    `per="tenant"`: each tenant has this much, all its users together. `per="user"`: each user of each tenant has this
    much; ids of users mean nothing across tenants, and turns without a user share one in their tenant, so that leaving
    the user out evades nothing. With `only`, the budget is for the tenant (or for users) of that id alone, and the others
    are not bound by it.
    """

    per: Per
    tokens: int
    per_s: float
    only: str | None = None

    def __post_init__(self) -> None:
        if self.per not in get_args(Per):
            raise DeclarationError('Budget: per must be "tenant" or "user"')
        if not is_count(self.tokens):
            raise DeclarationError("Budget: tokens must be an int, 1 or more")
        if not is_number(self.per_s) or self.per_s <= 0:
            raise DeclarationError("Budget: per_s must be a number of seconds above 0")
        if self.only is not None and not is_name(self.only):
            raise DeclarationError("Budget: only must be the id of a tenant or user, or None for each of them")

    def binds(self, tenant: str, user: str | None) -> bool:
        """Tell whether turns of `user` in `tenant` have to keep to this budget."""
        return self.only is None or self.only == (tenant if self.per == "tenant" else user)


def spent(budget: Budget, entries: Iterable[Spent], *, tenant: str, user: str | None, now: float) -> int:
    """Return the tokens that count against `budget` for `user` in `tenant` at `now`, in seconds since the epoch.

    Entries may come in any order. One that is exactly `per_s` seconds old counts no more; one from a clock that is ahead
    counts.
    """
    since = now - budget.per_s
    return sum(
        entry.tokens
        for entry in entries
        if entry.at > since and entry.tenant == tenant and (budget.per == "tenant" or entry.user == user)
    )


def exhausted(
    budgets: Iterable[Budget], entries: Iterable[Spent], *, tenant: str, user: str | None, now: float
) -> Budget | None:
    """Return the first budget that leaves `user` in `tenant` nothing at `now`, or None: then the next step may begin.

    What a step costs is known only when it is over, so the last one may overspend.
    """
    known = tuple(entries)
    bound = (budget for budget in budgets if budget.binds(tenant, user))
    return next((one for one in bound if spent(one, known, tenant=tenant, user=user, now=now) >= one.tokens), None)
