"""The short ways that nearly every frame takes: what they come to is what the long ways do, to the byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from processors.patterns import Pattern
from processors.patterns.redactor import Redactor, Rule
from streams.gate import arrivals, entries, events, machine
from streams.gate.effects import effects_of
from streams.gate.entries import AnyEntry
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.gate.scan import AnswerScan
from streams.gate.state import Turn
from tests.streams.gate.play import IDS, START, Play, frame
from topics import codec
from topics.content import Usage
from topics.records import ModelError, ModelFrame, TextFrame, ToolCallDelta
from topics.trusted import like

DIGITS = Redactor("digits", [Rule("N", Pattern(r"\d+"))])
SCAN = Policy(mode="scan")
POLICIES = {
    "live": Policy(),
    "whole": Policy(mode="whole"),
    "incremental": Policy(mode="incremental", window=3),
    "scan": SCAN,
    "scan, small records": replace(SCAN, max_record_bytes=300),
    "scan, short answers": replace(SCAN, max_answer_chars=20),
    "scan, nothing early": replace(SCAN, max_early_frames=0),
}
TEXTS = st.sampled_from(
    ["o", "two words", "12", "3 ", "a\r", "\n", "e\u0301", "\ud83c", "\udf89", "", "long " * 12, "é"]
)
BESIDE: dict[str, st.SearchStrategy[Any]] = {
    "reasoning": st.just("hm"),
    "refusal": st.just("no"),
    "finish_reason": st.sampled_from(["stop", "length"]),
    "usage": st.just(Usage(total_tokens=3)),
    "error": st.just(ModelError(type="Dropped", retryable=True)),
    "tool_call_delta": st.just(ToolCallDelta(id="c", name="find", arguments="{}")),
    "step": st.just(1),
    "attempt": st.just(1),
}


@st.composite
def arriving(draw: st.DrawFn) -> list[list[ModelFrame]]:
    """Return frames in batches: mostly the usual ones in order, and all that may come between them."""
    frames: list[ModelFrame] = []
    for seq in range(draw(st.integers(1, 10))):
        beside = draw(st.sampled_from([*[None] * 20, *BESIDE]))
        fields = {} if beside is None else {beside: draw(BESIDE[beside])}
        frames.append(frame(seq, draw(st.none() | TEXTS), **fields))
    order = draw(
        st.sampled_from([frames, [*frames, frames[0]], frames[::-1], [*frames[:1], *frames[2:], *frames[1:2]]])
    )
    batches: list[list[ModelFrame]] = [[]]
    for one in order:
        batches[-1].append(one)
        if draw(st.booleans()):
            batches.append([])
    return batches


def scan_for(policy: Policy) -> AnswerScan | None:
    """Return what follows the answer, if that is how it is gated."""
    return AnswerScan(DIGITS.open_scanner) if policy.mode == "scan" else None


def same_said(entry: AnyEntry) -> AnyEntry:
    """Return an entry that is the same and is not known to be of text alone."""
    return like(entry)


def check_followed(turn: Turn, entry: AnyEntry, max_bytes: int) -> Turn:
    """Check that all that follows from an entry does, however it was made; return the turn after it."""
    record = JournalRecord(turn.n, START + 1, -1, entry)
    plain = record._replace(entry=same_said(entry))
    assert not entries.brings_text_alone(plain.entry)
    assert record.encode() == plain.encode()
    effects, expected = effects_of(turn, record, max_bytes), effects_of(turn, plain, max_bytes)
    assert effects == expected
    assert [codec.encode(one.record) for one in effects] == [codec.encode(one.record) for one in expected]
    after = machine.evolve(turn, record)
    assert after == machine.evolve(turn, plain)
    return after


@settings(max_examples=400)
@given(st.sampled_from(list(POLICIES)), st.sampled_from(["stream", "final"]), arriving())
def test_frames_come_to_the_same_the_short_way_and_the_long_way(
    policy_name: str, delivery: str, batches: Sequence[Sequence[ModelFrame]]
) -> None:
    """Whatever comes, in any batches: the same entries, bytes, effects and states."""
    policy = POLICIES[policy_name]
    turn = Play(policy, delivery=delivery).start().turn
    short, long = scan_for(policy), scan_for(policy)
    for batch in batches:
        event = events.Frames(tuple(batch))
        made = list(machine.decide(turn, event, START + 1, policy, short))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(arrivals, "grown", lambda *_: ())
            assert list(machine.decide(turn, event, START + 1, policy, long)) == made
        for entry in made:
            turn = check_followed(turn, entry, policy.max_record_bytes)


@pytest.mark.parametrize("policy", [Policy(), Policy(mode="whole"), SCAN])
def test_usual_frames_take_the_short_way(policy: Policy) -> None:
    """One alone, and several that waited."""
    scan = scan_for(policy)
    turn = Play(policy).start().turn
    for batch in ([frame(0, "one ")], [frame(1, "two "), frame(2, None), frame(3, "thr\u00e9e ")]):
        (entry,) = machine.decide(turn, events.Frames(tuple(batch)), START, policy, scan)
        assert entries.brings_text_alone(entry)
        turn = machine.evolve(turn, JournalRecord(turn.n, START, -1, entry))
    assert str(turn.answer.text) == "one two thrée "


@pytest.mark.parametrize(
    "change", [like, lambda entry: entry.model_copy(), lambda entry: entries.Llm.model_validate(dict(entry))]
)
def test_only_what_was_made_of_text_is_known_to_bring_text_alone(change: Callable[[entries.Llm], entries.Llm]) -> None:
    """A copy might have been changed."""
    made = entries.of_text(0, 0, 1, "a")
    assert entries.brings_text_alone(made)
    assert not entries.brings_text_alone(change(made))
    assert made == entries.Llm(seq=1, text="a")


def test_what_a_shape_says_is_not_changed_by_copies() -> None:
    """All entries of text share what they say is set."""
    made = entries.of_text(0, 0, 1, "a")
    made.model_copy(update={"half": 0xD83C})
    like(made, half=0xD83C)
    assert "half" not in made.model_fields_set


@given(TEXTS, st.integers(0, 2**40))
def test_text_frames_are_written_as_their_model_writes_them(text: str, offset: int) -> None:
    """Byte for byte."""
    one = TextFrame(**IDS, text=text, offset=offset, step=1)
    assert codec.encode(one) == codec.dump(one.model_dump(mode="json", exclude_none=True))
