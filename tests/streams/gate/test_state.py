"""What a turn's state tells about it."""

from __future__ import annotations

import pytest

from streams.gate.rope import Rope
from streams.gate.state import Answer, Phase, Turn
from tests.streams.gate.play import KEY, START, request
from topics.content import ImagePart, Message, TextPart, ToolCall
from topics.records import ToolCallDelta, TurnRequest


def turn(asked: TurnRequest | None = None, **fields: object) -> Turn:
    """Return the state of a turn."""
    asked = asked or request()
    given = Turn(request=asked, partition=1, order=2, accepted_at=START, deadline_at=START, message=asked.message)
    return given.with_(**fields)


def test_a_turn_shows_its_identity_buffer_and_released_offset() -> None:
    """The names that the design speaks of."""
    state = turn(answer=Answer(text=Rope("raw text"), released=Rope("raw")))
    assert state.key == KEY
    assert str(state.buffer) == "raw text"
    assert state.released_offset == 3


@pytest.mark.parametrize("phase", Phase)
def test_a_turn_is_over_once_its_outcome_is_decided(phase: Phase) -> None:
    """And a call may run only while it waits for the model."""
    state = turn(phase=phase)
    assert state.over == (phase in (Phase.ENDED, Phase.CLOSED))
    assert state.calling == (phase is Phase.MODEL)


def test_a_message_of_one_text_is_sent_as_that_text() -> None:
    """Every model server takes it, and not every one takes parts."""
    prompt = turn(request(system="Be brief.", message=(TextPart(text="hi"),))).base_prompt()
    assert prompt.system == "Be brief."
    assert prompt.messages == (Message(role="user", content="hi"),)


def test_a_message_of_several_parts_is_sent_as_parts_behind_the_history() -> None:
    """In order."""
    history = (Message(role="user", content="before"), Message(role="assistant", content="yes"))
    parts = (TextPart(text="look"), ImagePart(url="https://files.example/cat.png"))
    prompt = turn(request(history=history, message=parts)).base_prompt()
    assert prompt.messages == (*history, Message(role="user", content=parts))


def test_a_model_that_skips_an_index_still_means_its_calls_in_order() -> None:
    """The next free place is the one a call gets."""
    calls = Answer().with_deltas((ToolCallDelta(index=3, id="a"), ToolCallDelta(index=9, id="b")))
    assert calls == (ToolCall(id="a", name=""), ToolCall(id="b", name=""))
    again = Answer(tool_calls=calls).with_deltas((ToolCallDelta(index=0, arguments="{}"),))
    assert again[0] == ToolCall(id="a", name="", arguments="{}")
