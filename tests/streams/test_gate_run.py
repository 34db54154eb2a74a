"""One answer through the gate without a broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from processors import Answer, Deps, Incremental, Pass, Reject, Replace, output_processor
from processors.outcomes import Approved, Broken
from processors.testing import gate_policy
from streams.chains import InlineChainRunner
from streams.gate.policy import Policy
from streams.gate_run import FrameInputError, GateEnd, GateRun, read_frames
from topics.content import Usage
from topics.records import ModelFrame

Frames = Iterable[str | Mapping[str, Any]]


class Recorder:
    """A whole-answer or incremental chain of one that remembers what it was asked."""

    name = "recorder"

    def __init__(self, incremental: Incremental | None = None) -> None:
        self.incremental = incremental
        self.seen: list[Answer] = []

    def process(self, answer: Answer) -> Pass:
        """Let everything pass."""
        self.seen.append(answer)
        return Pass()


@output_processor(name="guard", incremental=Incremental(lookback_chars=0))
def guard(answer: Answer) -> Pass | Reject:
    """Refuse what says so."""
    return Reject("because of 4711") if "forbidden" in answer.text else Pass()


@output_processor(name="redact", incremental=Incremental(lookback_chars=4))
def redact(answer: Answer) -> Replace:
    """Hide one number."""
    return Replace(answer.text.replace("4711", "[no]"))


@output_processor(name="fickle", incremental=Incremental(lookback_chars=0))
def fickle(answer: Answer) -> Replace:
    """Break its promise at the end."""
    return Replace(answer.text.upper() if answer.complete else answer.text)


async def gated(frames: Frames, *chain: object, policy: Policy | None = None) -> tuple[list[str], GateEnd]:
    """Return the releases and the end of an answer."""
    deps = Deps(output_processors=chain)
    runner = InlineChainRunner(deps)
    await runner.start()
    try:
        run = GateRun(runner, policy or gate_policy(deps))
        releases = [text async for text in run.feed(frames)]
    finally:
        await runner.stop()
    assert run.end is not None
    assert run.end.text == "".join(releases)
    return releases, run.end


async def test_without_a_chain_every_frame_is_a_release() -> None:
    """As in a worker that has none."""
    assert await gated(["one ", "two"]) == (["one ", "two"], GateEnd("completed", "one two"))


async def test_a_whole_answer_chain_gives_one_release() -> None:
    """At the end, whatever its members could do."""
    recorder = Recorder()
    assert await gated(["my ", "4711"], redact, recorder) == (["my [no]"], GateEnd("completed", "my [no]"))
    assert [(answer.text, answer.complete) for answer in recorder.seen] == [("my [no]", True)]


async def test_an_incremental_chain_is_asked_after_every_frame() -> None:
    """Of the prefix so far without tool calls; of the whole with everything."""
    recorder = Recorder(Incremental(lookback_chars=2))
    frames: Frames = [
        "one ",
        {"text": "two", "tool_call_delta": {"id": "c1", "name": "f"}},
        {"finish_reason": "length"},
    ]
    releases, end = await gated(frames, recorder)
    assert (releases, end.outcome) == (["on", "e t", "wo"], "completed")
    assert [(a.text, a.complete, a.finish_reason, len(a.tool_calls)) for a in recorder.seen] == [
        ("one ", False, None, 0),
        ("one two", False, None, 0),
        ("one two", True, "length", 1),
    ]


async def test_a_refusal_says_who_and_why() -> None:
    """To the operator, who runs this."""
    releases, end = await gated(["fine, ", "then forbidden", " more"], guard)
    assert releases == ["fine, "]
    assert end == GateEnd("rejected", "fine, ", "OutputRejectedError", "guard", "because of 4711")


async def test_a_late_refusal_says_the_same() -> None:
    """By a chain that judges whole answers."""
    _, end = await gated(["forbidden"], Recorder(), guard)
    assert end == GateEnd("rejected", "", "OutputRejectedError", "guard", "because of 4711")


async def test_a_contradiction_is_the_processors_failure() -> None:
    """With what to do about it."""
    releases, end = await gated(["text"], fickle)
    assert releases == ["text"]
    assert (end.outcome, end.error, end.processor) == ("failed", "ProcessorFailedError", "fickle")
    assert "lookback_chars" in (end.reason or "")


async def test_frames_in_disorder_are_put_in_order() -> None:
    """Their numbers say where they belong."""
    frames: Frames = [{"seq": 1, "text": "two"}, {"seq": 0, "text": "one "}, {"seq": 1, "text": "again"}]
    assert await gated(frames) == (["one two"], GateEnd("completed", "one two"))


async def test_a_frame_that_is_missing_is_noticed_at_the_end() -> None:
    """Nothing more will come."""
    releases, end = await gated([{"seq": 0, "text": "alpha "}, {"seq": 2, "text": "gamma"}])
    assert releases == ["alpha "]
    assert (end.outcome, end.error) == ("failed", "FrameGapError")
    assert "frame 1 " in (end.reason or "")


async def test_frames_of_another_attempt_leave_the_answer_unfinished() -> None:
    """There is one answer here, the first."""
    _, end = await gated([{"seq": 0, "text": "x", "attempt": 1, "finish_reason": "stop"}])
    assert (end.outcome, end.error) == ("failed", "TurnTimeoutError")


async def test_a_model_error_is_not_retried() -> None:
    """There is no model to ask again."""
    error = {"type": "APIConnectionError", "message": "reset", "retryable": True}
    releases, end = await gated(["write to bob@", {"error": error}], redact)
    assert releases == ["write to "]
    assert (end.outcome, end.error, end.processor) == ("failed", "ModelFailedError", None)


async def test_what_follows_the_end_is_not_read() -> None:
    """Frames behind the finish change nothing."""
    assert await gated([{"text": "a", "finish_reason": "stop"}, "b"]) == (["a"], GateEnd("completed", "a"))


async def test_an_answer_over_the_limit_fails() -> None:
    """The policy's limits hold here too."""
    _, end = await gated(["12345", "6"], policy=Policy(max_answer_chars=5))
    assert (end.outcome, end.error, end.text) == ("failed", "AnswerTooLargeError", "12345")


async def test_a_chain_that_went_away_in_mid_answer_does_not_hang() -> None:
    """The runner may be any; what it says counts."""

    class Odd(InlineChainRunner):
        async def run_output(self, answer: Answer) -> Approved | Broken:
            return Broken("odd", "KeyError") if answer.complete else Approved(answer.text)

    runner = Odd(Deps(output_processors=[guard]))
    run = GateRun(runner, Policy(mode="incremental"))
    assert [text async for text in run.feed(["a"])] == ["a"]
    assert run.end is not None
    assert (run.end.outcome, run.end.processor) == ("failed", "odd")


# -- reading frames ---------------------------------------------------------------------------------------------------


def numbers(*frames: str | Mapping[str, Any]) -> list[tuple[int | None, str | None, str | None]]:
    """Return number, text and finish of the frames as they are read."""
    return [(frame.seq, frame.text, frame.finish_reason) for frame in read_frames(frames)]


def test_texts_are_numbered_and_finished() -> None:
    """A list of strings is an answer."""
    assert numbers("a", "b") == [(0, "a", None), (1, "b", None), (2, None, "stop")]
    assert numbers() == [(0, None, "stop")]


def test_numbers_that_are_given_are_kept() -> None:
    """Frames without one go on from the highest so far."""
    frames = numbers({"seq": 5, "text": "a"}, "b", {"seq": 2}, {"text": "c"})
    assert [seq for seq, _, _ in frames] == [5, 6, 2, 7, 8]


def test_a_finish_that_is_given_is_the_only_one() -> None:
    """And an error ends an answer as well."""
    assert numbers("a", {"finish_reason": "length"}) == [(0, "a", None), (1, None, "length")]
    assert [frame.error is not None for frame in read_frames(["a", {"error": {}}])] == [False, True]
    assert [frame.seq for frame in read_frames(["a", {"seq": None, "error": {}}])] == [0, None]


def test_a_frame_may_have_every_field_of_a_model_frame() -> None:
    """What else is in it is ignored, as on the wire; whose turn it says it is does not matter."""
    fields = {"text": "x", "usage": {"total_tokens": 3}, "thread_id": "their", "turn_id": "own", "type": "text"}
    (frame,) = read_frames([{**fields, "finish_reason": "stop"}])
    assert frame == ModelFrame(
        thread_id="thread", turn_id="turn", seq=0, text="x", usage=Usage(total_tokens=3), finish_reason="stop"
    )


@pytest.mark.parametrize(
    ("frame", "named"),
    [({"text": ["fk-live-1"]}, "text"), ({"seq": -1, "text": "fk-live-1"}, "seq"), ({"usage": 1}, "usage")],
)
def test_what_is_no_frame_is_refused_by_place_and_field(frame: Mapping[str, Any], named: str) -> None:
    """Without a word of what it says."""
    with pytest.raises(FrameInputError, match=f"frame 1 is no model frame: check {named}") as caught:
        read_frames(["fine", frame])
    assert "fk-live" not in str(caught.value)


@pytest.mark.parametrize("frame", [5, None, ["a"], b"bytes"])
def test_what_is_neither_a_text_nor_a_mapping_is_refused(frame: Any) -> None:
    """As an input error, like a wrong field."""
    with pytest.raises(FrameInputError, match="frame 0 is no model frame"):
        read_frames([frame])
