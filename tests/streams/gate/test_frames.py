"""Frames in any order, repeated and cut: what they add to an answer."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.gate import answers
from streams.gate.entries import Failed, Llm
from streams.gate.frames import INTERRUPTED, Arrival, plan
from streams.gate.records import JournalRecord
from streams.gate.state import Answer
from tests.streams.gate.play import START, Play, answer_in, frame
from topics import codec
from topics.content import ToolCall, Usage
from topics.names import MODEL_FRAME
from topics.records import ModelError, ModelFrame, ToolCallDelta

LIMIT = 4_000
BROKEN = ModelError(type="APIConnectionError", message="reset by peer at fk-live-1", retryable=True)
USAGE = Usage(prompt_tokens=11, completion_tokens=7, total_tokens=18)


def arrive(answer: Answer, *frames: ModelFrame, limit: int = LIMIT) -> Arrival:
    """Return what frames of the first attempt add."""
    return plan(answer, frames, step=0, attempt=0, max_bytes=limit)


def taken(answer: Answer, *frames: ModelFrame, limit: int = LIMIT) -> Answer:
    """Return the answer after frames, which bring no error."""
    arrival = arrive(answer, *frames, limit=limit)
    assert arrival.error is None
    return reduce(answers.collect, arrival.entries, answer)


def read_one_by_one(frames: Iterable[ModelFrame]) -> Answer:
    """Return the answer after frames that arrive one at a time."""
    return reduce(taken, frames, Answer())


def test_frames_that_wait_together_are_one_entry() -> None:
    """With all that they bring."""
    (entry,) = arrive(Answer(), frame(0, "one "), frame(1, "two"), frame(2, finish_reason="stop", usage=USAGE)).entries
    assert entry == Llm(seq=3, text="one two", finish_reason="stop", usage=USAGE)


def test_one_frame_may_bring_everything_at_once() -> None:
    """Text, refusal, a tool call, usage and the finish."""
    delta = ToolCallDelta(index=0, id="c1", name="lookup", arguments="{}")
    both = frame(0, "hi", refusal="no", tool_call_delta=delta, finish_reason="length", usage=USAGE)
    assert arrive(Answer(), both).entries == (
        Llm(seq=1, text="hi", refusal="no", tool_calls=(delta,), finish_reason="length", usage=USAGE),
    )


def test_a_frame_without_payload_counts_too() -> None:
    """A sign of life takes a number like any other."""
    assert taken(Answer(), frame(0), frame(1, "x")).next_seq == 2


def test_reasoning_goes_nowhere() -> None:
    """It is not text, and it is not journaled."""
    (entry,) = arrive(Answer(), frame(0, reasoning="the number is 000-12-3456")).entries
    assert entry == Llm(seq=1)


def test_a_repeated_frame_changes_nothing() -> None:
    """Whether it is in the same batch, was taken in before, or waits already."""
    answer = taken(Answer(), frame(0, "a"), frame(0, "a"), frame(3, "d"))
    assert str(answer.text) == "a"
    assert arrive(answer, frame(0, "a"), frame(3, "d")) == Arrival()
    assert str(taken(answer, frame(1, "b"), frame(1, "b"), frame(2, "c"), frame(3, "d")).text) == "abcd"


def test_the_first_of_two_different_frames_with_one_number_counts() -> None:
    """Whatever comes second under a number that is known is a repetition."""
    answer = taken(Answer(), frame(0, "first"), frame(0, "second"), frame(2, "third"))
    answer = taken(answer, frame(2, "fourth"), frame(1, " "))
    assert str(answer.text) == "first third"


def test_early_frames_wait_for_those_before_them() -> None:
    """They are journaled as they are, since their sources are acknowledged."""
    answer = taken(Answer(), frame(2, "c"), frame(1, "b"))
    assert (str(answer.text), answer.next_seq, sorted(answer.early)) == ("", 0, [1, 2])
    (entry,) = arrive(answer, frame(0, "a")).entries
    assert (entry.text, entry.seq, entry.early) == ("abc", 3, ())
    assert taken(answer, frame(0, "a")).early == {}


def test_a_frame_behind_a_second_gap_goes_on_waiting() -> None:
    """Only what is without gap is taken in."""
    answer = taken(Answer(), frame(1, "b"), frame(3, "d"))
    answer = taken(answer, frame(0, "a"))
    assert (str(answer.text), answer.next_seq, sorted(answer.early)) == ("ab", 2, [3])


def test_frames_behind_the_finish_are_dropped() -> None:
    """Early ones among them, and all that come after it."""
    answer = taken(Answer(), frame(3, "never"), frame(0, "a"))
    answer = taken(answer, frame(1, "b", finish_reason="stop"), frame(2, "never"))
    assert (str(answer.text), answer.next_seq) == ("ab", 2)
    assert arrive(answer, frame(2, "never"), frame(4, "never"), frame(None)) == Arrival()


def test_an_error_frame_ends_the_attempt_in_its_turn() -> None:
    """What was before it is taken in, what was behind it is not."""
    arrival = arrive(Answer(), frame(2, "never"), frame(1, "nor this", error=BROKEN), frame(0, "a"))
    assert arrival == Arrival((Llm(seq=1, text="a"),), BROKEN)


def test_an_early_error_waits_like_any_frame() -> None:
    """The text before it may still be on its way. The provider's words are not journaled."""
    answer = taken(Answer(), frame(1, error=BROKEN))
    (early,) = answer.early.values()
    assert early.error == BROKEN.model_copy(update={"message": None})
    arrival = arrive(answer, frame(0, "a"))
    assert arrival.entries == (Llm(seq=1, text="a"),)
    assert arrival.error == early.error


def test_a_call_found_interrupted_ends_the_attempt_at_once() -> None:
    """Its report has no number, and nothing will fill the gaps before it."""
    arrival = arrive(taken(Answer(), frame(4, "e")), frame(0, "a"), frame(None))
    assert arrival.entries == (Llm(seq=1, text="a"),)
    assert arrival.error == ModelError(type=INTERRUPTED, retryable=True)


def test_an_interruption_with_an_error_of_its_own_passes_that_on() -> None:
    """The report may say more."""
    assert arrive(Answer(), frame(None, error=BROKEN)).error == BROKEN


def test_an_answer_that_finished_was_not_interrupted() -> None:
    """The report was wrong, or late: everything is there."""
    arrival = arrive(Answer(), frame(None), frame(0, "all", finish_reason="stop"))
    assert arrival == Arrival((Llm(seq=1, text="all", finish_reason="stop"),))


def test_halves_of_a_character_in_two_frames_are_joined() -> None:
    """In one batch, in two, and with frames without text between them."""
    high, low = "Party \ud83c", "\udf89 time"
    between = [frame(1, reasoning="hm"), frame(2)]
    assert str(read_one_by_one([frame(0, high), frame(1, low)]).text) == "Party \U0001f389 time"
    assert str(taken(Answer(), frame(0, high), frame(1, low)).text) == "Party \U0001f389 time"
    assert str(read_one_by_one([frame(0, high), *between, frame(3, low)]).text) == "Party \U0001f389 time"
    assert str(read_one_by_one([frame(1, low), frame(0, high)]).text) == "Party \U0001f389 time"


def test_a_half_that_waits_is_not_text_yet() -> None:
    """So that no pass sees it, and nothing counts it."""
    answer = taken(Answer(), frame(0, "Party \ud83c"))
    assert (str(answer.text), answer.half) == ("Party ", 0xD83C)


@pytest.mark.parametrize(
    "texts",
    [["a\ud83c", "b"], ["a", "\udf89b"], ["a\ud83c", None, "b"], ["a", "\udf89", "b"]],
    ids=["high then text", "low alone", "high, nothing, text", "low between"],
)
def test_half_a_character_that_stays_alone_becomes_a_replacement_character(texts: list[str | None]) -> None:
    """It cannot be written as UTF-8."""
    frames = [frame(seq, text) for seq, text in enumerate(texts)]
    assert str(read_one_by_one(frames).text) == "a\ufffdb"
    assert str(taken(Answer(), *frames).text) == "a\ufffdb"


def test_a_half_at_the_end_of_the_answer_becomes_a_replacement_character() -> None:
    """Its other half never comes."""
    for frames in ([frame(0, "a\ud83c", finish_reason="stop")], [frame(0, "a\ud83c"), frame(1, finish_reason="stop")]):
        answer = read_one_by_one(frames)
        assert (str(answer.text), answer.half) == ("a\ufffd", None)


def _brought(*pieces: str) -> list[ModelFrame]:
    """Return frames that bring pieces of a refusal and of a call's arguments, and then the finish."""
    frames = [
        frame(seq, refusal=one, tool_call_delta=ToolCallDelta(index=0, id="c", name="n", arguments=one))
        for seq, one in enumerate(pieces)
    ]
    return [*frames, frame(len(frames), finish_reason="stop")]


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        (["a\ud83c", "\udf89b"], "a\U0001f389b"),
        (["a\ud83c", "", "\udf89"], "a\U0001f389"),
        (["a\ud83c", "b"], "a\ufffdb"),
        (["\udf89a\ud83c"], "\ufffda\ufffd"),
        (["\ud83c", "\ud83c", "\udf89"], "\ufffd\U0001f389"),
    ],
)
def test_halves_are_joined_in_refusals_and_in_tool_calls_too(pieces: list[str], whole: str) -> None:
    """In one batch, in several, and read back from the journal."""
    frames = _brought(*pieces)
    for answer in (taken(Answer(), *frames), read_one_by_one(frames), read_one_by_one_from_the_journal(frames)):
        assert answer.refusal == whole
        assert answer.tool_calls == (ToolCall(id="c", name="n", arguments=whole),)


def read_one_by_one_from_the_journal(frames: Iterable[ModelFrame]) -> Answer:
    """Return the answer after frames whose entries were written and read again."""
    answer = Answer()
    for one in frames:
        for entry in arrive(answer, one).entries:
            again = JournalRecord.decode(1, JournalRecord(1, START, -1, entry).encode()).entry
            assert isinstance(again, Llm)
            answer = answers.collect(answer, again)
    return answer


def test_a_long_refusal_that_ends_in_a_half_is_measured_like_any_other() -> None:
    """It has no UTF-8, and still a length."""
    (entry,) = Play().start().frames(frame(0, refusal="\xe9" * 40_000 + "\ud83c"))
    assert isinstance(entry, Failed)


def test_whatever_a_frame_says_can_be_written_as_utf8() -> None:
    """Refusals, all of a tool call, and the finish reason; halves in early frames are kept for their neighbours."""
    delta = ToolCallDelta(id="\ud800", name="\ud800", arguments="\ud800")
    odd = frame(0, refusal="\ud800", tool_call_delta=delta, finish_reason="\ud800")
    (entry,) = arrive(Answer(), odd).entries
    assert "\\u" not in JournalRecord(1, START, -1, entry).encode().decode()
    (early,) = arrive(Answer(), frame(1, "\ud83c")).entries
    record = JournalRecord(1, START, -1, early)
    assert JournalRecord.decode(1, record.encode()) == record


def test_a_finish_reason_is_a_word() -> None:
    """A longer one would burden the terminal frame."""
    (entry,) = arrive(Answer(), frame(0, finish_reason="x" * 100_000)).entries
    assert len(entry.finish_reason or "") == 200


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(
    "content",
    [
        {"text": "x" * 300},
        {"text": '"' * 300},
        {"text": "\u00e9" * 300},
        {"refusal": "\x00" * 300},
        {"tool_call_delta": ToolCallDelta(id="i" * 300, name="n" * 300, arguments="\\" * 300)},
        {},
    ],
    ids=["text", "quotes", "accents", "controls", "tool call", "nothing"],
)
def test_entries_stay_within_the_limit(content: dict[str, object], early: bool) -> None:
    """A run of frames is several entries rather than one that the broker refuses."""
    frames = [frame(seq, **content) for seq in range(int(early), 200)]  # type: ignore[arg-type] # fields by name
    entries = arrive(Answer(), *frames).entries
    assert len(entries) > 1
    assert all(len(JournalRecord(1, START, -1, entry).encode()) < LIMIT + 500 for entry in entries)
    assert sum(len(entry.early) for entry in entries) == (199 if early else 0)


def test_what_is_never_used_does_not_burden_the_journal() -> None:
    """Neither the reasoning of an early frame nor what the provider said about an error."""
    long = "r" * 100_000
    error = ModelError(type="X", message=long)
    early = [frame(seq, reasoning=long, error=error) for seq in range(1, 5)]
    (entry,) = arrive(Answer(), *early).entries
    assert len(JournalRecord(1, START, -1, entry).encode()) < LIMIT


def test_a_single_frame_over_the_limit_stays_whole() -> None:
    """It fitted into a record before, so it does again."""
    entries = arrive(Answer(), frame(0, "a"), frame(1, "x" * LIMIT), frame(2, "b")).entries
    assert [(entry.seq, len(entry.text)) for entry in entries] == [(1, 1), (2, LIMIT), (3, 1)]


def test_halves_are_joined_across_entries() -> None:
    """A limit that falls between two halves does not part them."""
    answer = taken(Answer(), frame(0, "x" * LIMIT + "\ud83c"), frame(1, "\udf89" + "y" * LIMIT))
    assert str(answer.text) == "x" * LIMIT + "\U0001f389" + "y" * LIMIT


def test_usage_and_finish_are_those_of_the_last_frame_that_has_them() -> None:
    """Usage may come before the finish, and more than once."""
    early = Usage(total_tokens=1)
    (entry,) = arrive(Answer(), frame(0, usage=early), frame(1, usage=USAGE), frame(2, finish_reason="stop")).entries
    assert (entry.usage, entry.finish_reason) == (USAGE, "stop")
    answer = read_one_by_one([frame(0, usage=USAGE), frame(1, finish_reason="stop")])
    assert answer.usage == USAGE


def test_pieces_of_tool_calls_go_to_the_call_of_their_index() -> None:
    """In order of arrival, the name and id from whichever piece has them."""
    pieces = [
        ToolCallDelta(index=0, id="c1", name="lookup"),
        ToolCallDelta(index=1, id="c2", name="send", arguments='{"to":'),
        ToolCallDelta(index=0, arguments='{"id"'),
        ToolCallDelta(index=0, arguments=":7}"),
        ToolCallDelta(index=1, arguments='"x"}'),
    ]
    answer = read_one_by_one(frame(seq, tool_call_delta=delta) for seq, delta in enumerate(pieces))
    assert [(call.id, call.name, call.arguments) for call in answer.tool_calls] == [
        ("c1", "lookup", '{"id":7}'),
        ("c2", "send", '{"to":"x"}'),
    ]


@given(st.data())
def test_no_order_and_no_repetition_changes_the_text(data: st.DataObject) -> None:
    """Any text in any frames, arriving in any order, in any batches, some of them again and again."""
    text = data.draw(st.text(st.sampled_from("ab\u00e9\U0001f389\u0301"), max_size=12), "text")
    halves = text.encode("utf-16-le")
    units = [halves[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(halves), 2)]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(units))), "cuts"))
    bounds = [0, *cuts, len(units)]
    frames = answer_in(["".join(units[a:b]) for a, b in pairwise(bounds)])
    shuffled = frames + data.draw(st.lists(st.sampled_from(frames), max_size=6), "again")
    random.Random(data.draw(st.integers(0, 2**16), "order")).shuffle(shuffled)
    answer = Answer()
    while shuffled:
        size = data.draw(st.integers(1, len(shuffled)), "batch")
        answer = taken(answer, *shuffled[:size])
        shuffled = shuffled[size:]
    assert str(answer.text) == text
    assert answer.finish_reason == "stop"


def test_frames_are_read_as_they_are_written() -> None:
    """A half survives the wire, so that it can be joined here."""
    frames = [frame(0, "Party \ud83c"), frame(1, "\udf89", finish_reason="stop")]
    wired = [codec.decode(codec.encode(one), MODEL_FRAME) for one in frames]
    assert str(read_one_by_one(wired).text) == "Party \U0001f389"


def test_plans_change_nothing() -> None:
    """The answer that was looked at is as it was."""
    answer = taken(Answer(), frame(0, "a"), frame(2, "c"))
    before = replace(answer, early=dict(answer.early))
    arrive(answer, frame(1, "b"), frame(5, "x"))
    assert answer == before


def test_every_entry_is_of_the_attempt() -> None:
    """So that its checkpoint names the right step."""
    arrival = plan(Answer(), [frame(0, "a"), frame(2, "c")], step=3, attempt=2, max_bytes=LIMIT)
    assert [(entry.step, entry.attempt) for entry in arrival.entries] == [(3, 2), (3, 2)]


def test_frames_of_another_attempt_are_not_counted_by_the_turn() -> None:
    """Numbers are unique within an attempt only."""
    play = Play().start()
    assert play.frames(frame(0, "x", attempt=1), frame(0, "x", step=1)) == []
    assert play.frames(frame(0, "x", attempt=1), frame(0, "y"))[0] == Llm(seq=1, text="y", live=1)


def test_the_journal_grows_with_the_text_and_not_with_the_answer() -> None:
    """One frame's entry is as small late in an answer as it was early."""
    play = Play().start()
    for seq in range(2_000):
        play.frames(frame(seq, "word "))
    sizes = [len(record.encode()) for record in play.records[2:]]
    assert max(sizes) - min(sizes) < 12
    assert orjson.loads(play.records[-1].encode())["d"] == {"q": 2000, "t": "word ", "l": 10_000}
