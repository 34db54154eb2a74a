"""Deltas as frames."""

from __future__ import annotations

import pytest

from streams.models.delta import Delta
from streams.models.frames import MAX_FRAME_CHARS, frame_of, interrupted_frame, split
from tests.streams.models.requests import request
from topics.codec import encode
from topics.content import Usage
from topics.records import ModelError, ModelFrame, ToolCallDelta

ASKED = request(step=2, attempt=1)
FULL = Delta(
    text="abcdefg",
    reasoning="hmm",
    refusal="nonono",
    tool_call_delta=ToolCallDelta(index=4, id="a", name="add", arguments="[1, 2]"),
    finish_reason="stop",
    usage=Usage(prompt_tokens=1, completion_tokens=2, total_tokens=3),
    error=ModelError(type="Oops"),
)


def test_a_frame_carries_the_ids_of_its_call_and_all_of_its_delta() -> None:
    """Nothing of a delta is lost on the way to the record."""
    frame = frame_of(ASKED, 5, FULL)

    assert (frame.turn, frame.step, frame.attempt, frame.seq) == (ASKED.turn, 2, 1, 5)
    assert frame == ModelFrame(
        tenant="acme",
        thread_id="thread",
        turn_id="turn",
        step=2,
        attempt=1,
        seq=5,
        text=FULL.text,
        reasoning=FULL.reasoning,
        refusal=FULL.refusal,
        tool_call_delta=FULL.tool_call_delta,
        finish_reason=FULL.finish_reason,
        usage=FULL.usage,
        error=FULL.error,
    )


def test_an_interrupted_call_is_reported_without_a_number() -> None:
    """Who reports it does not know how many frames it had."""
    frame = interrupted_frame(ASKED)

    assert (frame.turn, frame.step, frame.attempt, frame.seq) == (ASKED.turn, 2, 1, None)
    assert frame.error is not None
    assert (frame.error.type, frame.error.retryable) == ("CallInterruptedError", True)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 21])
def test_the_pieces_of_a_delta_say_the_same_as_the_delta(limit: int) -> None:
    """Each stays within the limit; the end comes with the last piece, the name of a tool call with its first."""
    pieces = list(split(FULL, limit))
    calls = [piece.tool_call_delta for piece in pieces if piece.tool_call_delta]

    assert "".join(piece.text or "" for piece in pieces) == FULL.text
    assert "".join(piece.reasoning or "" for piece in pieces) == FULL.reasoning
    assert "".join(piece.refusal or "" for piece in pieces) == FULL.refusal
    assert "".join(call.arguments or "" for call in calls) == "[1, 2]"
    assert [(call.id, call.name) for call in calls] == [("a", "add")] + [(None, None)] * (len(calls) - 1)
    assert {call.index for call in calls} == {4}
    assert [piece.is_last for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert (pieces[-1].finish_reason, pieces[-1].usage, pieces[-1].error) == ("stop", FULL.usage, FULL.error)
    assert all(len(piece.text or piece.reasoning or piece.refusal or "") <= limit for piece in pieces)


def test_a_delta_within_the_limit_stays_whole() -> None:
    """Frames are what the model's pieces were, unless they cannot be."""
    assert list(split(FULL, 22)) == [FULL]


def test_a_large_text_beside_a_call_without_arguments_is_cut() -> None:
    """The call keeps what it has."""
    call = ToolCallDelta(index=0, id="a", name="add")

    assert list(split(Delta(text="abc", tool_call_delta=call), 2)) == [
        Delta(text="ab"),
        Delta(text="c"),
        Delta(tool_call_delta=call),
    ]


@pytest.mark.parametrize("character", ["\x00", "é", "🙂", "\ud83d"])
def test_the_largest_frame_stays_well_below_a_megabyte(character: str) -> None:
    """Whatever JSON makes of its characters; one lone half makes it spell all others out."""
    for piece in split(Delta(text=character * MAX_FRAME_CHARS * 2 + "🙂\ud83d")):
        assert len(encode(frame_of(ASKED, 0, piece))) < 700_000
