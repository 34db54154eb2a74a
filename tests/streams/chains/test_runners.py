"""What both runners do alike: one suite, run over each of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from processors import Answer, FailurePolicy, IncomingMessage, Message, Prompt, TextPart, TurnContext
from processors.outcomes import Approved, Blocked, Broken, Derived, Proceeded, Refused
from streams.chains import ChainRunner, ChainsStoppedError, InlineChainRunner, ProcessChainRunner
from tests.streams.chains import samples

CONTEXT = TurnContext(turn_id="t-1", agent="billing")
POLICY = FailurePolicy(voice_channels=frozenset({"radio"}), spoken_sentence="Over.")


def make(kind: str, name: str = "deps") -> ChainRunner:
    """Return a runner of the sample `Deps` called `name`."""
    if kind == "inline":
        return InlineChainRunner(getattr(samples, name), policy=POLICY)
    return ProcessChainRunner(f"{samples.__name__}:{name}", policy=POLICY)


@pytest.fixture(params=["inline", "process"])
async def runner(request: pytest.FixtureRequest) -> AsyncIterator[ChainRunner]:
    """Give a started runner of each kind."""
    runner = make(request.param)
    await runner.start()
    yield runner
    await runner.stop()


def said(text: str, channel: str = "web", agent: str = "billing") -> IncomingMessage:
    """Return a user's message."""
    return IncomingMessage((TextPart(text=text),), channel=channel, context=TurnContext(agent=agent, channel=channel))


async def test_each_output_processor_sees_what_the_one_before_it_made(runner: ChainRunner) -> None:
    """Upper case first, then the dot; every member reports in order, with its version and its count of changes."""
    outcome = await runner.run_output(Answer("hello", context=CONTEXT))
    assert isinstance(outcome, Approved)
    assert outcome.text == "HELLO."
    assert [(r.processor, r.verdict, r.changes, r.error) for r in outcome.reports] == [
        ("hasty", "replace", 1, None),
        ("hasty-async", "replace", 1, None),
        ("patient", "pass", 0, None),
    ]
    assert [r.version for r in outcome.reports] == [p.version for p in samples.deps.output_processors]
    assert all(r.time_ms >= 0 for r in outcome.reports)


async def test_a_prefix_pass_is_seen_as_one(runner: ChainRunner) -> None:
    """`complete` reaches the processors."""
    outcome = await runner.run_output(Answer("hello", complete=False))
    assert isinstance(outcome, Approved)
    assert outcome.text == "HELLO.…"


async def test_a_rejection_ends_the_chain(runner: ChainRunner) -> None:
    """Later members are not asked; the reason, made with the context, is in the outcome."""
    outcome = await runner.run_output(Answer("reject", context=CONTEXT))
    assert isinstance(outcome, Refused)
    assert (outcome.processor, outcome.reason) == ("hasty", "no t-1")
    assert [r.verdict for r in outcome.reports] == ["reject"]


@pytest.mark.parametrize(
    ("text", "processor", "error"),
    [
        ("throw", "hasty", "LookupError"),
        ("exit", "hasty", "SystemExit"),
        ("nonsense", "hasty", "MalformedVerdictError"),
        ("awaitable", "hasty", "MalformedVerdictError"),
        ("sleep", "hasty", "ProcessorTimeoutError"),
        ("async:throw", "hasty-async", "LookupError"),
        ("async:exit", "hasty-async", "SystemExit"),
        ("async:cancelled", "hasty-async", "CancelledError"),
        ("async:sleep long", "hasty-async", "ProcessorTimeoutError"),
        ("async:stubborn", "hasty-async", "ProcessorTimeoutError"),
    ],
)
async def test_a_failing_output_processor_breaks_the_chain(
    runner: ChainRunner, text: str, processor: str, error: str
) -> None:
    """Whatever it does, the outcome names it and the class of the error, and what came before it is reported."""
    outcome = await runner.run_output(Answer(text))
    assert isinstance(outcome, Broken)
    assert (outcome.processor, outcome.error) == (processor, error)
    assert outcome.reports[-1].verdict == "failed"
    assert outcome.reports[-1].error == error
    assert [r.processor for r in outcome.reports] == ["hasty", "hasty-async"][: len(outcome.reports)]
    assert outcome.reports[-1].processor == processor
    assert isinstance(await runner.run_output(Answer("the next one")), Approved)


async def test_the_input_chain_derives_a_prompt(runner: ChainRunner) -> None:
    """What leaves is the last member's prompt; a member that changes nothing reports a pass."""
    prompt = Prompt(system="be brief", messages=(Message(role="user", content="hello"),))
    outcome = await runner.run_input(prompt, CONTEXT)
    assert isinstance(outcome, Derived)
    assert outcome.prompt == Prompt(system="billing|be brief", messages=prompt.messages)
    assert [(r.processor, r.verdict, r.changes) for r in outcome.reports] == [
        ("patient-input", "replace", 1),
        ("hasty-input", "pass", 0),
    ]


async def test_a_failing_input_processor_breaks_the_chain(runner: ChainRunner) -> None:
    """A control is never skipped."""
    outcome = await runner.run_input(Prompt(system="throw"), CONTEXT)
    assert isinstance(outcome, Broken)
    assert (outcome.processor, outcome.error) == ("hasty-input", "LookupError")


async def test_pre_processors_run_by_priority_and_hand_on_message_and_metadata(runner: ChainRunner) -> None:
    """Each sees what those before it said, in the message's metadata and in the context."""
    outcome = await runner.run_pre(said("hello"))
    assert isinstance(outcome, Proceeded)
    assert outcome.message == (TextPart(text="hello! (billing)"),)
    assert outcome.metadata == {"seen": "hello", "context": {"seen": "hello"}}
    assert [(r.processor, r.changes) for r in outcome.reports] == [("a-first", 0), ("b-second", 1), ("c-billing", 1)]


async def test_a_pre_processor_of_another_agent_takes_no_part(runner: ChainRunner) -> None:
    """Scoped to `billing`, it leaves no report in a turn of `sales`."""
    outcome = await runner.run_pre(said("hello", agent="sales"))
    assert isinstance(outcome, Proceeded)
    assert outcome.message == (TextPart(text="hello!"),)
    assert [r.processor for r in outcome.reports] == ["a-first", "b-second"]


async def test_a_block_ends_the_chain(runner: ChainRunner) -> None:
    """The outcome carries response, reason and the metadata of all so far."""
    outcome = await runner.run_pre(said("block"))
    assert isinstance(outcome, Blocked)
    assert (outcome.processor, outcome.response, outcome.reason) == ("b-second", "blocked", "asked for")
    assert outcome.metadata == {"seen": "block", "by": "second"}
    assert [r.verdict for r in outcome.reports] == ["proceed", "block"]


@pytest.mark.parametrize(("text", "error"), [("throw", "LookupError"), ("sleep", "ProcessorTimeoutError")])
async def test_a_failing_pre_processor_is_skipped(runner: ChainRunner, text: str, error: str) -> None:
    """The message goes on as it was, the rest of the chain too, and the skip is reported."""
    outcome = await runner.run_pre(said(text))
    assert isinstance(outcome, Proceeded)
    assert outcome.message == (TextPart(text=f"{text} (billing)"),)
    assert [(r.verdict, r.error) for r in outcome.reports] == [("proceed", None), ("skipped", error), ("proceed", None)]


async def test_a_failing_pre_processor_in_a_voice_channel_blocks_with_a_sentence(runner: ChainRunner) -> None:
    """A caller on the phone hears something instead of an answer nobody checked."""
    outcome = await runner.run_pre(said("throw", channel="radio"))
    assert isinstance(outcome, Blocked)
    assert (outcome.processor, outcome.response, outcome.reason) == ("b-second", "Over.", "LookupError")
    assert outcome.reports[-1].verdict == "failed"


async def test_many_calls_at_once_each_get_their_own_outcome(runner: ChainRunner) -> None:
    """Outputs and inputs mixed, far more than there are children."""
    outputs = [runner.run_output(Answer(f"text {n}")) for n in range(150)]
    inputs = [runner.run_input(Prompt(system=f"system {n}"), CONTEXT) for n in range(150)]
    answered, derived = await asyncio.gather(asyncio.gather(*outputs), asyncio.gather(*inputs))
    assert [o.text for o in answered if isinstance(o, Approved)] == [f"TEXT {n}." for n in range(150)]
    assert [o.prompt.system for o in derived if isinstance(o, Derived)] == [f"billing|system {n}" for n in range(150)]


async def test_async_chains_run_beside_each_other(runner: ChainRunner, tmp_path: Path) -> None:
    """Three calls each wait for the other two: one after the other they would never end."""
    meet = Prompt(system=f"meet:{tmp_path}")
    outcomes = await asyncio.gather(*(runner.run_input(meet, CONTEXT) for _ in range(3)))
    assert all(isinstance(outcome, Derived) for outcome in outcomes)


async def test_a_cancelled_call_leaves_the_runner_in_order(runner: ChainRunner, tmp_path: Path) -> None:
    """What it was doing is dropped; others are served."""
    file = tmp_path / "file"
    waiting = asyncio.ensure_future(runner.run_input(Prompt(system=f"see:{file}"), CONTEXT))
    await samples.until(lambda: samples.marks(file) == 1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert isinstance(await runner.run_input(Prompt(system="x"), CONTEXT), Derived)
    assert isinstance(await runner.run_output(Answer("hello")), Approved)


async def test_a_long_answer_comes_through_whole(runner: ChainRunner) -> None:
    """Several megabytes, beyond any buffer between processes."""
    text = "aé" * 1_500_000
    outcome = await runner.run_output(Answer(text))
    assert isinstance(outcome, Approved)
    assert outcome.text == text.upper() + "."


async def test_attributes_nested_without_end_break_nothing_but_their_own_call(runner: ChainRunner) -> None:
    """A hostile caller's request fails at most its own turn."""
    nested: list[object] = []
    for _ in range(1020):  # as deep as a record may be
        nested = [nested]
    context = TurnContext(attributes={"nested": nested})
    assert isinstance(await runner.run_output(Answer("hello", context=context)), Approved | Broken)
    assert isinstance(await runner.run_output(Answer("hello")), Approved)


@pytest.mark.parametrize("kind", ["inline", "process"])
async def test_an_empty_chain_lets_everything_through(kind: str) -> None:
    """Without processors there is an outcome, without reports."""
    runner = make(kind, "nothing")
    await runner.start()
    assert await runner.run_output(Answer("hello")) == Approved("hello")
    assert await runner.run_input(Prompt(system="s"), CONTEXT) == Derived(Prompt(system="s"))
    assert await runner.run_pre(said("hello")) == Proceeded((TextPart(text="hello"),))
    await runner.stop()


@pytest.mark.parametrize("kind", ["inline", "process"])
async def test_calls_before_start_and_after_stop_are_refused(kind: str) -> None:
    """The error says so; stopping twice does no harm."""
    runner = make(kind)
    with pytest.raises(ChainsStoppedError, match="start"):
        await runner.run_output(Answer("hello"))
    await runner.start()
    await runner.stop()
    await runner.stop()
    for refused in (
        runner.run_output(Answer("hello")),
        runner.run_input(Prompt(), CONTEXT),
        runner.run_pre(said("hello")),
    ):
        with pytest.raises(ChainsStoppedError, match="start"):
            await refused


async def test_the_manifest_says_what_there_is(runner: ChainRunner) -> None:
    """The same without the code, whichever process holds the code."""
    assert runner.manifest == samples.deps.manifest
