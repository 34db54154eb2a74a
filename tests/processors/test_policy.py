"""The failure policy, row by row."""

from __future__ import annotations

import itertools

import pytest

from processors import FailurePolicy
from processors.declare import OnFailure
from processors.policy import FailingKind

POLICY = FailurePolicy(voice_channels=frozenset({"radio"}), spoken_sentence="Over.")


@pytest.mark.parametrize(
    ("kind", "web", "radio"),
    [
        ("governance", "fail", "fail"),
        ("input", "fail", "fail"),
        ("output", "fail", "fail"),
        ("pre", "skip", "block"),
        ("post", "skip", "skip"),
    ],
)
def test_the_table(kind: FailingKind, web: str, radio: str) -> None:
    """By kind, outside voice channels and in them."""
    assert POLICY.action(kind, "web") == web
    assert POLICY.action(kind, "radio") == radio


def test_on_failure_can_only_tighten() -> None:
    """For every kind, channel and wish, the action is no laxer than without the wish."""
    order: list[OnFailure] = ["skip", "block", "fail"]
    kinds: list[FailingKind] = ["governance", "input", "output", "pre", "post"]
    for kind, channel, wish in itertools.product(kinds, ("web", "radio"), order):
        action = POLICY.action(kind, channel, wish)
        assert order.index(action) == max(order.index(POLICY.action(kind, channel)), order.index(wish))


def test_what_is_said_depends_on_the_channel() -> None:
    """Elsewhere the channel's own default text is asked for."""
    assert POLICY.response("radio") == "Over."
    assert POLICY.response("web") == ""
    assert FailurePolicy().action("pre", "phone") == "block"
