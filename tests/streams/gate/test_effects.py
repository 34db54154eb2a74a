"""What a journal record causes to be published."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from processors.outcomes import Approved, Blocked, Broken, Derived, Proceeded, Refused
from streams.gate import events
from streams.gate.effects import Publish, effects_of
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from tests.streams.gate.play import KEY, START, Judge, Play, answer_in, frame, mapped, read, refusing, report
from topics import codec, names
from topics.content import Message, Prompt, TextPart, ToolCall, ToolDefinition, Usage, User
from topics.records import (
    BlockedFrame,
    CancelCall,
    CancelledFrame,
    CompletedFrame,
    Decision,
    FailedFrame,
    ModelError,
    PromptRequest,
    RejectedFrame,
    ResetFrame,
    TextFrame,
    ToolCallDelta,
    UsageRecord,
)

LIVE = Policy()
WHOLE = Policy(mode="whole")
INCREMENTAL = Policy(mode="incremental", window=4)
USAGE = Usage(prompt_tokens=11, completion_tokens=7, total_tokens=18)
SAME = mapped(str)
DROPPED = ModelError(type="APIConnectionError", retryable=True)


def spelt(effects: list[Publish]) -> list[bytes]:
    """Return the effects as they go over the wire."""
    return [effect.topic.name.encode() + b" " + codec.encode(effect.record) for effect in effects]


# -- the prompt -------------------------------------------------------------------------------------------------------


def test_a_started_turn_asks_the_model() -> None:
    """With everything the request says about the call, and where the answer goes."""
    tools = (ToolDefinition(name="lookup"),)
    asked: dict[str, Any] = {"agent": "sales", "system": "Be brief.", "tools": tools, "model": "m1", "params": {"n": 1}}
    (prompt,) = Play(**asked).start().of(PromptRequest)
    assert (prompt.turn, prompt.step, prompt.attempt, prompt.partition) == (KEY, 0, 0, 3)
    assert (prompt.agent, prompt.tools, prompt.model, prompt.params) == ("sales", tools, "m1", {"n": 1})
    assert prompt.prompt == Prompt(system="Be brief.", messages=(Message(role="user", content="What is my number?"),))
    assert prompt.deadline_at == START + LIVE.turn_timeout_s


def test_the_prompt_is_the_one_the_processors_made() -> None:
    """The pre-processors' message, then the input chain's prompt; each asked once, in order."""
    play = Play(Policy(has_pre=True, has_input=True)).start()
    assert play.published == []
    play.happen(events.PreDone(Proceeded((TextPart(text="changed"),), reports=(report("tidy", "proceed"),))))
    assert play.topics == ["decisions"]
    derived = Prompt(system="masked", messages=(Message(role="user", content="changed, masked"),))
    play.happen(events.InputDone(0, Derived(derived, (report("mask", "replace"),))))
    assert play.topics == ["decisions", "decisions", "prompts"]
    assert play.of(PromptRequest)[0].prompt == derived


def test_without_an_input_chain_the_pre_processed_message_is_sent() -> None:
    """As the last of them left it."""
    play = Play(Policy(has_pre=True)).start()
    play.happen(events.PreDone(Proceeded((TextPart(text="changed"),))))
    assert play.of(PromptRequest)[0].prompt.messages == (Message(role="user", content="changed"),)


# -- text -------------------------------------------------------------------------------------------------------------


def test_released_text_says_where_it_goes() -> None:
    """In code points of the step."""
    play = Play().start().text("\U0001f600 one ", "two").text(" three").finish()
    assert [(one.offset, one.text) for one in play.of(TextFrame)] == [(0, "\U0001f600 one two"), (9, " three")]
    assert play.of(CompletedFrame)[0].offset == 15


def test_text_goes_out_before_what_ends_the_turn() -> None:
    """Usage comes before the terminal frame, so that whoever sees the end finds the cost."""
    play = Play().start().text("hello").finish(usage=USAGE)
    assert play.topics == ["prompts", "released", "usage", "released"]
    assert play.published[-1].terminal
    assert not any(effect.terminal for effect in play.published[:-1])


def test_a_settled_answer_goes_out_with_its_verdicts() -> None:
    """One decision per processor, then the text, the usage and the end."""
    play = Play(WHOLE).start().text("hello").finish(usage=USAGE)
    reports = (report("redact", "replace"), report("guard"))
    play.passed(Approved("HELLO", reports=reports), final=True)
    assert play.topics[1:] == ["decisions", "decisions", "released", "usage", "released"]
    decision = play.of(Decision)[0]
    assert (decision.phase, decision.processor, decision.version, decision.verdict) == (
        "output",
        "redact",
        "1",
        "replace",
    )
    assert play.releases == ["HELLO"]


def test_long_text_goes_out_in_several_frames() -> None:
    """Each small enough for the broker, at consecutive offsets."""
    text = "".join(f"line {i}\r\n" for i in range(100))
    play = Play(replace(WHOLE, max_record_bytes=200)).start().text(text).finish()
    play.judge(SAME)
    assert len(play.releases) > 1
    assert all(len(codec.encode(one)) < 200 + 250 for one in play.of(TextFrame))
    assert not any(one.endswith("\r") for one in play.releases)
    assert play.view.text == text


@pytest.mark.parametrize("policy", [LIVE, WHOLE, INCREMENTAL], ids=["live", "whole", "incremental"])
@pytest.mark.parametrize("delivery", ["stream", "final"])
def test_a_reply_too_long_to_repeat_is_told_by_length_and_digest(policy: Policy, delivery: str) -> None:
    """The text itself is in text frames, then even for a reader who wanted the end only."""
    text = "".join(f"{i} " for i in range(300))
    play = Play(replace(policy, max_record_bytes=300), delivery=delivery).start()
    play.stream(answer_in([text[i : i + 50] for i in range(0, len(text), 50)]), SAME)
    (end,) = play.of(CompletedFrame)
    assert end.reply is None
    assert (end.length, end.sha256) == (len(text), hashlib.sha256(text.encode()).hexdigest())
    assert play.outcome == "completed"
    assert play.view.text == text
    assert play.published[-1].record is end


@pytest.mark.parametrize("policy", [LIVE, WHOLE, INCREMENTAL], ids=["live", "whole", "incremental"])
def test_final_delivery_shows_the_end_only(policy: Policy) -> None:
    """One frame on `released`, with the whole reply."""
    play = Play(policy, delivery="final").start().stream(answer_in(["one ", "two ", "three"]), mapped(str.upper))
    shown = [effect.record for effect in play.published if effect.topic is names.RELEASED_FRAMES]
    assert [type(one) for one in shown] == [CompletedFrame]
    reply = "one two three" if policy is LIVE else "ONE TWO THREE"
    assert (play.of(CompletedFrame)[0].reply, play.of(CompletedFrame)[0].length) == (reply, 13)


def test_final_delivery_waits_for_no_text_when_the_turn_fails_in_between() -> None:
    """A settled answer of several records of which the last was not written: no reader has a part of it."""
    policy = replace(WHOLE, max_record_bytes=200)
    play = Play(policy, delivery="final").start().text("word " * 200).finish()
    play.judge(SAME)
    half = Play.resumed(play.records[:-1], policy)
    assert half.turn.released_offset > 0
    half.happen(events.Cancel())
    assert (half.outcome, half.releases) == ("cancelled", [])


def test_the_last_frame_tells_how_the_answer_ended() -> None:
    """Why it stopped, the model's own refusal and its tool calls as the chain left them, and the cost."""
    delta = ToolCallDelta(index=0, id="c1", name="lookup", arguments='{"q":1}')
    play = Play(WHOLE).start()
    play.frames(
        frame(0, "x", refusal="I will ", tool_call_delta=delta),
        frame(1, refusal="not.", finish_reason="content_filter", usage=USAGE),
    )
    call = ToolCall(id="c1", name="lookup", arguments="{}")
    play.passed(Approved("y", tool_calls=(call,), refusal="I will [not]."), final=True)
    (end,) = play.of(CompletedFrame)
    assert (end.reply, end.length, end.finish_reason) == ("y", 1, "content_filter")
    assert (end.refusal, end.tool_calls, end.usage) == ("I will [not].", (call,), USAGE)


def test_without_a_chain_the_last_frame_tells_the_same() -> None:
    """Also of what came along with the finish."""
    play = Play().start()
    play.frames(frame(0, refusal="I will ", tool_call_delta=ToolCallDelta(id="c1", name="lookup")))
    play.frames(frame(1, "x", refusal="not.", finish_reason="length", usage=USAGE))
    (end,) = play.of(CompletedFrame)
    assert (end.reply, end.refusal, end.finish_reason, end.usage) == ("x", "I will not.", "length", USAGE)
    assert end.tool_calls == (ToolCall(id="c1", name="lookup"),)


def test_reasons_and_refused_text_are_on_no_released_frame() -> None:
    """A reason can quote what was hidden."""
    play = Play(WHOLE).start().text("the code is 4711").finish()
    play.passed(Refused("guard", "found 4711", (report("guard", "reject"),)), final=True)
    assert play.of(RejectedFrame)[0].processor == "guard"
    assert b"4711" not in b"".join(spelt(play.published))


# -- a call that is not needed any more -------------------------------------------------------------------------------


def ended_early(how: str) -> Play:
    """Return a turn that ended while the model wrote."""
    play = Play(INCREMENTAL, user=User(id="u1"), model="m1", agent="sales").start().text("four words of text")
    if how == "rejected":
        play.judge(refusing("text"))
    elif how == "cancelled":
        play.happen(events.Cancel())
    elif how == "timeout":
        play.happen(events.Tick(), START + 9_999)
    elif how == "too large":
        play.policy = replace(INCREMENTAL, max_answer_chars=5)
        play.text("more")
    else:
        play.happen(events.Refuse("ModelFailedError", "a frame could not be taken"))
    return play


@pytest.mark.parametrize(
    ("how", "kind", "outcome"),
    [
        ("rejected", RejectedFrame, "rejected"),
        ("cancelled", CancelledFrame, "cancelled"),
        ("timeout", FailedFrame, "failed"),
        ("too large", FailedFrame, "failed"),
        ("refused", FailedFrame, "failed"),
    ],
)
def test_a_turn_that_ends_while_the_model_writes_stops_the_call(how: str, kind: type, outcome: str) -> None:
    """The call is cancelled, its cost is estimated, and only then the turn ends."""
    play = ended_early(how)
    assert play.topics[-3:] == ["cancels", "usage", "released"]
    (cancel,) = play.of(CancelCall)
    assert (cancel.turn, cancel.step, cancel.attempt, cancel.partition) == (KEY, 0, 0, 3)
    (usage,) = play.of(UsageRecord)
    assert (usage.outcome, usage.estimated, usage.user_id, usage.model) == (outcome, True, "u1", "m1")
    assert usage.usage.completion_tokens == 5  # 18 characters
    assert isinstance(play.published[-1].record, kind)
    assert play.outcome == outcome


@pytest.mark.parametrize("how", ["rejected", "broken", "cancelled", "contradicted", "timeout"])
def test_a_turn_that_ends_after_the_answer_records_what_it_cost(how: str) -> None:
    """As the provider counted; nothing is left to cancel."""
    play = Play(INCREMENTAL).start().text("four words of text")
    play.judge(SAME)
    play.finish(usage=USAGE)
    happen: dict[str, Callable[[], object]] = {
        "rejected": lambda: play.passed(Refused("guard", "policy"), final=True),
        "broken": lambda: play.passed(Broken("guard", "KeyError"), final=True),
        "cancelled": lambda: play.happen(events.Cancel()),
        "contradicted": lambda: play.passed(Approved("other"), final=True),
        "timeout": lambda: play.happen(events.Tick(), START + 9_999),
    }
    happen[how]()
    assert play.topics[-2:] == ["usage", "released"]
    assert play.of(CancelCall) == []
    (usage,) = play.of(UsageRecord)
    assert (usage.usage, usage.estimated) == (USAGE, False)
    assert play.published[-1].terminal


@pytest.mark.parametrize("event", [events.Cancel(), events.Refuse("InvalidRequestError", "no")])
@pytest.mark.parametrize("policy", [Policy(has_pre=True), Policy(has_input=True)], ids=["pre", "input"])
def test_a_turn_that_ends_before_its_call_costs_nothing(event: events.Event, policy: Policy) -> None:
    """Whether it waits for its thread or for a processor."""
    for play in (Play(policy), Play(policy).start()):
        play.happen(event)
        assert play.topics == ["released"]


def test_the_cost_of_an_answer_without_usage_is_estimated() -> None:
    """From all of its text, however it arrived."""
    together = Play().start()
    together.frames(frame(0, "x" * 40, refusal="y" * 4, finish_reason="stop"))
    apart = Play().start().text("x" * 40)
    apart.frames(frame(1, refusal="y" * 4))
    apart.finish()
    for play in (together, apart):
        (usage,) = play.of(UsageRecord)
        assert (usage.usage.completion_tokens, usage.estimated, usage.outcome) == (11, True, "completed")
        assert usage.usage.total_tokens == usage.usage.prompt_tokens + 11


def test_usage_is_identified_by_its_attempt() -> None:
    """So that repeated records are counted once, and two attempts twice."""
    play = Play().start().text("a")
    play.frames(frame(1, error=DROPPED))
    play.frames(frame(0, "b", attempt=1, finish_reason="stop", usage=USAGE))
    assert [(one.id, one.outcome, one.estimated) for one in play.of(UsageRecord)] == [
        (f"{KEY}/0/0", "failed", True),
        (f"{KEY}/0/1", "completed", False),
    ]


# -- attempts ---------------------------------------------------------------------------------------------------------


def test_a_new_attempt_drops_what_is_out_before_it_asks_again() -> None:
    """The readers' step starts empty."""
    play = Play().start().text("first")
    play.frames(frame(1, error=DROPPED))
    assert play.topics[-3:] == ["usage", "released", "prompts"]
    assert play.of(ResetFrame)[0].attempt == play.of(PromptRequest)[1].attempt == 1
    assert play.of(PromptRequest)[0].prompt == play.of(PromptRequest)[1].prompt
    assert play.view.text == ""
    play.frames(frame(0, "second", attempt=1, finish_reason="stop"))
    assert (play.view.text, play.outcome) == ("second", "completed")


def test_nothing_is_reset_where_nothing_is_out() -> None:
    """The reader never hears of the first attempt."""
    play = Play(WHOLE).start().text("first")
    play.frames(frame(1, error=DROPPED))
    assert play.topics[-2:] == ["usage", "prompts"]
    assert play.of(ResetFrame) == []


def test_a_failed_call_is_not_blamed_on_a_processor() -> None:
    """Nor do readers see the provider's words."""
    play = Play(replace(LIVE, max_attempts=1)).start().text("out")
    play.frames(frame(1, error=DROPPED.model_copy(update={"message": "reset at 10.0.0.7"})))
    (end,) = play.of(FailedFrame)
    assert (end.error, end.phase, end.processor, end.offset) == ("ModelFailedError", "model", None, 3)
    assert b"10.0.0.7" not in b"".join(spelt(play.published))
    assert play.of(CancelCall) == []


# -- before the model -------------------------------------------------------------------------------------------------


def test_a_block_is_the_reply() -> None:
    """The model is never asked."""
    play = Play(Policy(has_pre=True)).start()
    play.happen(events.PreDone(Blocked("hours", "We are closed.", reports=(report("hours", "block"),))))
    assert play.topics == ["decisions", "released"]
    (end,) = play.of(BlockedFrame)
    assert (end.response, end.processor) == ("We are closed.", "hours")
    assert play.view.reply == "We are closed."


@pytest.mark.parametrize("phase", ["pre", "input"])
def test_a_broken_chain_before_the_model_ends_the_turn(phase: str) -> None:
    """With a decision that says who it was."""
    pre = phase == "pre"
    play = Play(Policy(has_pre=pre, has_input=not pre)).start()
    broken = Broken("mask", "KeyError", (report("mask", "failed"),))
    play.happen(events.PreDone(broken) if pre else events.InputDone(0, broken))
    assert play.topics == ["decisions", "released"]
    assert play.of(Decision)[0].phase == phase
    (end,) = play.of(FailedFrame)
    assert (end.error, end.phase, end.processor) == ("ProcessorFailedError", phase, "mask")


# -- once more --------------------------------------------------------------------------------------------------------


def eventful() -> list[Play]:
    """Return turns in which a lot happened."""
    everything = Policy(mode="incremental", window=4, has_pre=True, has_input=True, max_record_bytes=300)
    plays = []
    for chain in (SAME, refusing("word 9"), mapped(lambda text: text if len(text) < 30 else "something else")):
        play = Play(everything, user=User(id="u1")).start()
        play.happen(events.PreDone(Proceeded((TextPart(text="hi"),), reports=(report("tidy", "proceed"),))))
        play.happen(events.InputDone(0, Derived(Prompt(system="s"), (report("mask"),))))
        play.text("first attempt, ")
        play.judge(SAME)
        play.frames(frame(1, error=DROPPED))
        pieces = [f"word {i} " for i in range(40)]
        play.stream([one.model_copy(update={"attempt": 1}) for one in answer_in(pieces)], chain)
        plays.append(play)
    return plays


@pytest.mark.parametrize("play", eventful(), ids=["completed", "rejected", "failed"])
def test_effects_are_the_same_bytes_every_time(play: Play) -> None:
    """A journal that is read back says exactly what its writer published."""
    assert spelt(Play.resumed(play.records, play.policy).published) == spelt(play.published)


@pytest.mark.parametrize("play", eventful(), ids=["completed", "rejected", "failed"])
def test_exactly_one_terminal_frame_comes_last(play: Play) -> None:
    """Whatever happened before."""
    assert [effect.terminal for effect in play.published].count(True) == 1
    assert play.published[-1].terminal
    assert play.outcome is not None


@pytest.mark.parametrize("play", eventful(), ids=["completed", "rejected", "failed"])
def test_a_reader_who_sees_everything_twice_sees_it_once(play: Play) -> None:
    """A successor publishes again what may not have been published."""
    released = [effect.record for effect in play.published if effect.topic is names.RELEASED_FRAMES]
    for cut in range(len(released)):
        view = read([*released[: cut + 1], *released])
        assert (view.text, view.terminal) == (play.view.text, play.view.terminal)
        assert not view.contradicted


def test_looking_at_a_record_does_not_change_the_turn() -> None:
    """Effects can be asked for any number of times."""
    play = Play().start().text("a")
    before, record = play.turn, JournalRecord(play.turn.n, START, -1, Play().start().text("b").records[-1].entry)
    assert effects_of(before, record, 1_000) == effects_of(before, record, 1_000)
    assert str(before.buffer) == "a"


JUDGES: dict[str, Judge] = {"same": SAME, "upper": mapped(str.upper)}


@pytest.mark.parametrize("judge", JUDGES.values(), ids=JUDGES.keys())
def test_what_is_published_on_released_is_never_raw_where_a_chain_is_declared(judge: Judge) -> None:
    """Every text is the chain's."""
    play = Play(INCREMENTAL).start().stream(answer_in(["some words ", "and more ", "of them"]), judge)
    assert "".join(play.releases) == play.of(CompletedFrame)[0].reply
    assert play.of(CompletedFrame)[0].reply == getattr(judge("some words and more of them", True), "text", None)


@pytest.mark.parametrize(("error", "named"), [("RateLimitError", "RateLimitError"), ("my pin is 1234", "unnamed")])
def test_a_failed_call_is_named_to_the_reader_only_by_a_name(error: str, named: str) -> None:
    """What a model server writes as the kind of its failure may be anything, and the reader sees it unjudged."""
    play = Play(WHOLE).start()
    play.frames(frame(0, error=ModelError(type=error)))
    (end,) = play.of(FailedFrame)
    assert f"({named})" in end.message
    assert "pin" not in end.message
