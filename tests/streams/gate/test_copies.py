"""Copying states: the same as `dataclasses.replace`, and the original untouched."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace

import pytest

from streams.gate.copies import changed
from streams.gate.rope import Rope
from streams.gate.state import Answer, Phase, Turn
from topics.content import TextPart
from topics.records import TurnRequest

TURN = Turn(
    request=TurnRequest(thread_id="h", turn_id="t", message=(TextPart(text="hello"),)),
    partition=1,
    order=2,
    accepted_at=3.0,
    deadline_at=4.0,
)


def test_a_copy_is_what_the_standard_library_would_make() -> None:
    """Of a turn and of an answer, for one field and for several."""
    assert changed(TURN, n=7) == replace(TURN, n=7)
    assert changed(TURN, phase=Phase.ENDED, outcome="failed") == replace(TURN, phase=Phase.ENDED, outcome="failed")
    answer = Answer(text=Rope("abc"))
    assert changed(answer, next_seq=3, verbatim=False) == replace(answer, next_seq=3, verbatim=False)
    assert changed(answer) == answer


def test_the_original_is_left_alone_and_the_copy_is_as_immutable() -> None:
    """A state that somebody holds must never change under them."""
    before = replace(TURN)
    copy = changed(TURN, n=9)
    assert before == TURN
    with pytest.raises(FrozenInstanceError):
        copy.n = 10  # type: ignore[misc]


def test_a_field_that_is_not_there_is_refused() -> None:
    """A misspelt name must not be lost."""
    with pytest.raises(KeyError):
        changed(TURN, attemt=1)


def test_no_state_is_checked_or_derived_when_it_is_made() -> None:
    """A copy calls no constructor, so a state that relied on one would be copied wrongly."""
    for shape in (Turn, Answer):
        assert not hasattr(shape, "__post_init__")
        assert all(field.init and field.name in shape.__slots__ for field in fields(shape))
