"""Cases about input and pre-processors: their chains run, and the machine takes in what they say."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from processors import FailurePolicy, IncomingMessage, Message, Part, Prompt, TurnContext
from processors.outcomes import Blocked, Derived, Modified, PreOutcome, Proceeded
from streams.chains import InlineChainRunner
from streams.gate import events
from streams.gate.policy import Policy
from streams.gate.state import Phase
from streams.gate.transcript import entry_of
from streams.judging import context_of, judge_reply
from tests.cases.case import Case, case
from tests.cases.made import input_deps, post_deps, pre_deps
from tests.streams.gate.play import START, Play, frame
from topics.content import ToolCall
from topics.records import BlockedFrame, CompletedFrame, ModelError, PostprocessCompleteFrame, PromptRequest

PARTS: TypeAdapter[tuple[Part, ...]] = TypeAdapter(tuple[Part, ...])


# -- input ------------------------------------------------------------------------------------------------------------


def message(spelt: dict[str, Any]) -> Message:
    """Return a message as the cases spell it."""
    calls = tuple(ToolCall(**call) for call in spelt.get("tool_calls", ()))
    return Message.model_validate({**spelt, "tool_calls": calls})


def prompt(spelt: dict[str, Any]) -> Prompt:
    """Return a prompt as the cases spell it."""
    return Prompt(system=spelt.get("system"), messages=tuple(map(message, spelt["messages"])))


async def test_every_step_masks_the_transcript_and_never_the_masked_prompt() -> None:
    """`input-no-compounding`: each step derives its prompt afresh; steps are played here until there are tools."""
    one = case("input-no-compounding")
    runner = InlineChainRunner(input_deps(one))
    await runner.start()
    transcript: list[dict[str, Any]] = []
    for step, said in enumerate(one.fields["request"]["steps"]):
        transcript += said.get("messages", said.get("append"))
        canonical = prompt({"system": one.fields["request"]["system"], "messages": transcript})
        before = canonical.model_dump_json()
        outcome = await runner.run_input(canonical, TurnContext(step=step))
        assert isinstance(outcome, Derived)
        assert outcome.prompt == prompt(one.expected["prompts"][step])
        assert canonical.model_dump_json() == before
        assert "[masked] [masked]" not in outcome.prompt.model_dump_json()
    await runner.stop()


async def test_a_retry_reuses_the_prompt_that_is_journaled() -> None:
    """`input-no-compounding`: a second attempt does not run the chain again, so nothing can compound."""
    one = case("input-no-compounding")
    derived = prompt(one.expected["prompts"][0])
    play = Play(Policy(has_input=True)).start()
    play.happen(events.InputDone(0, Derived(derived)))
    play.frames(frame(0, error=ModelError(retryable=True)))
    assert [asked.prompt for asked in play.of(PromptRequest)] == [derived, derived]
    assert play.checkpoints.count("process:input:0") == 1


# -- pre --------------------------------------------------------------------------------------------------------------


async def preprocessed(one: Case) -> PreOutcome:
    """Return what the case's pre-processors say about its message."""
    asked = one.fields["request"]
    sentence = one.expected.get("response", "")
    runner = InlineChainRunner(pre_deps(one), policy=FailurePolicy(spoken_sentence=sentence))
    await runner.start()
    channel = asked["channel"]
    context = TurnContext(channel=channel)
    incoming = IncomingMessage(PARTS.validate_python(asked["parts"]), channel=channel, context=context)
    outcome = await runner.run_pre(incoming)
    await runner.stop()
    return outcome


async def test_pre_processors_run_by_priority_and_one_that_throws_is_skipped() -> None:
    """`pre-order-and-failure`: parts keep their order, and the model gets what the last of them left."""
    one = case("pre-order-and-failure")
    outcome = await preprocessed(one)
    expected = PARTS.validate_python(one.expected["model_parts"])
    assert isinstance(outcome, Proceeded)
    assert outcome.message == expected
    assert [(report.processor, report.verdict) for report in outcome.reports] == [
        ("mask", "proceed"),
        ("boom", "skipped"),
        ("tag", "proceed"),
    ]
    play = Play(Policy(has_pre=True), message=PARTS.validate_python(one.fields["request"]["parts"])).start()
    play.happen(events.PreDone(outcome))
    assert play.of(PromptRequest)[0].prompt.messages[-1].content == expected


async def test_on_a_voice_channel_a_throw_is_answered_with_a_sentence() -> None:
    """`pre-order-and-failure/voice`: and the model is never asked."""
    one = case("pre-order-and-failure/voice")
    outcome = await preprocessed(one)
    assert isinstance(outcome, Blocked)
    play = Play(Policy(has_pre=True), channel="voice").start()
    play.happen(events.PreDone(outcome))
    assert play.of(BlockedFrame)[0].response == one.expected["response"]
    assert play.of(PromptRequest) == []


@pytest.mark.parametrize("client", ["legacy_stream", "widget_stream"])
async def test_an_empty_block_is_answered_with_what_the_channel_says_by_default(client: str) -> None:
    """`pre-order-and-failure/empty-block`: the operator's words for each channel, none among them."""
    one = case("pre-order-and-failure/empty-block")
    outcome = await preprocessed(one)
    assert isinstance(outcome, Blocked)
    answers = one.expected["by_client"]
    defaults = {name: answers[name] for name in ("legacy_stream", "widget_stream")}
    play = Play(Policy(has_pre=True, channel_defaults=defaults), channel=client).start()
    play.happen(events.PreDone(outcome))
    assert play.of(BlockedFrame)[0].response == answers[client]
    assert play.of(PromptRequest) == []
    assert play.phase is Phase.ENDED


async def test_an_empty_block_is_named_to_a_client_that_does_not_stream() -> None:
    """`pre-order-and-failure/empty-block`: `preprocessor_blocked`, with no text."""
    one = case("pre-order-and-failure/empty-block")
    expected = one.expected["by_client"]["non_streaming"]
    play = Play(Policy(has_pre=True), delivery="final").start()
    play.happen(events.PreDone(await preprocessed(one)))
    (end,) = play.of(BlockedFrame)
    assert (end.code, end.response) == (expected["result"], expected["text"])
    assert play.of(PromptRequest) == []


# -- post -------------------------------------------------------------------------------------------------------------


async def post_processed(one: Case, play: Play) -> None:
    """Let the case's post-processors have the reply: the one that sleeps gets as long as its reader would wait."""
    runner = InlineChainRunner(post_deps(one))
    await runner.start()
    if one.name.endswith("/slow"):
        play.happen(events.Tick(), START + one.fields["processor"][0]["seconds"])
    else:
        play.happen(events.PostDone(await judge_reply(runner, play.turn, context_of(play.turn))))
    await runner.stop()


@pytest.mark.parametrize("variant", ["", "/unchanged", "/raises", "/slow"])
async def test_post_processed_replies_are_stored_and_shown(variant: str) -> None:
    """`post-stored-vs-delivered`: an event only where the text changed, and the stored answer is that text."""
    one = case(f"post-stored-vs-delivered{variant}")
    asked = one.fields["request"]
    play = Play(Policy(has_post=True), channel=asked["channel"]).start().text(*asked["frames"]).finish()
    assert play.phase is Phase.POST
    await post_processed(one, play)
    changed = [{"type": frame.kind, "text": frame.text} for frame in play.of(PostprocessCompleteFrame)]
    assert changed == one.expected["events"]
    assert play.of(CompletedFrame)[0].reply == "".join(asked["frames"])
    remembered = entry_of(play.turn)
    assert remembered is not None
    assert remembered.messages[-1].content == one.expected.get("stored", one.expected.get("delivered"))


async def test_a_post_processor_that_comes_too_late_changes_nothing() -> None:
    """`post-stored-vs-delivered/slow`: what was delivered is what is stored."""
    play = Play(Policy(has_post=True)).start().text("The fee is 50 EUR.").finish()
    play.happen(events.Tick(), START + 12.0)
    assert play.happen(events.PostDone(Modified("The fee is 50 EUR. late"))) == []
    assert play.turn.outcome == "completed"
