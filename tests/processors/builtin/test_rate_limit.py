"""`rate_limit`: so many turns in any window, and the next one is told to wait."""

from __future__ import annotations

from typing import Any

import pytest

from processors import Block, DeclarationError, Deps, IncomingMessage, Proceed, TextPart, TurnContext
from processors.builtin import rate_limit

NOW = 1_800_000_000.0


def asked(*ages: float) -> IncomingMessage:
    """Return a message of a user whose turns before it are so many seconds old."""
    recent = tuple(sorted(NOW - age for age in ages))
    return IncomingMessage((TextPart(text="hello"),), context=TurnContext(recent_turns=recent))


def judged(incoming: IncomingMessage, **options: Any) -> Proceed | Block:
    """Return what a limit of two turns a minute says."""
    return rate_limit(2, 60.0, clock=lambda: NOW, **options).process(incoming)


@pytest.mark.parametrize(
    ("ages", "passes"),
    [
        ((), True),
        ((1,), True),
        ((1, 2), False),
        ((1, 60), True),
        ((1, 59.9), False),
        ((1, 2, 3), False),
        ((-5, 1), False),
    ],
)
def test_a_full_window_blocks(ages: tuple[float, ...], passes: bool) -> None:
    """A turn that is exactly as old as the window counts no more, one of a clock that is ahead does."""
    assert isinstance(judged(asked(*ages)), Proceed) is passes


def test_the_user_is_told_and_the_operator_too() -> None:
    """The reason names the limit, and nobody."""
    assert judged(asked(1, 2), response="Slowly.") == Block("Slowly.", reason="2 turns in 60 s")


def test_it_asks_for_as_many_seconds_as_it_looks_at() -> None:
    """That is what has workers count users' turns; it comes early, and blocks if it fails."""
    deps = Deps(pre_processors=[rate_limit(2, 60.0), rate_limit(100, 3600.0, name="hourly")])
    assert deps.manifest.recent_turns_s == 3600.0
    assert {member.on_failure for member in deps.pre_processors} == {"block"}
    assert all(member.priority < 100 for member in deps.pre_processors)


@pytest.mark.parametrize(
    "limit", [(0, 60), (1.5, 60), (True, 60), (1_001, 60), (1, 0), (1, -1), (1, float("inf")), (1, "60")]
)
def test_what_can_be_no_limit_is_refused(limit: tuple[Any, Any]) -> None:
    """Also more turns than are known of anybody."""
    with pytest.raises(DeclarationError, match="rate_limit: "):
        rate_limit(*limit)
