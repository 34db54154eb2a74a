"""What both runners do alike with what is around a turn: rules, prompts, and the final reply."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from processors import Message, Prompt, Reply, TextPart, ToolCall, ToolCallCheck, TurnContext
from processors.outcomes import Allowed, Blocked, Broken, Denied, Derived, Modified, Proceeded
from streams.chains import ChainRunner, ChainsStoppedError
from tests.streams.chains import samples
from tests.streams.chains.test_runners import CONTEXT, make, said

ERRORS = [("throw", "LookupError"), ("sleep", "ProcessorTimeoutError")]
EARLIER = tuple(Message(role="user", content=text) for text in ("first", "second"))
NOW = Message(role="user", content="now")


@pytest.fixture(params=["inline", "process"])
async def runner(request: pytest.FixtureRequest) -> AsyncIterator[ChainRunner]:
    """Give a started runner of each kind."""
    runner = make(request.param, "whole_turn")
    await runner.start()
    yield runner
    await runner.stop()


def check(name: str = "look", arguments: str = "{}") -> ToolCallCheck:
    """Return a call that is to be checked."""
    return ToolCallCheck(ToolCall(id="1", name=name, arguments=arguments), context=CONTEXT)


def reply(text: str, agent: str = "billing", channel: str = "web") -> Reply:
    """Return a finished reply."""
    return Reply(text, channel=channel, metadata={"a": 1}, context=TurnContext(agent=agent, channel=channel))


async def test_message_rules_see_the_message_first(runner: ChainRunner) -> None:
    """And may change it, add to its metadata, or end the turn."""
    outcome = await runner.run_governance(said("hello"))
    assert isinstance(outcome, Proceeded)
    assert (outcome.message, outcome.metadata) == ((TextPart(text="hello?"),), {"ruled": "billing"})
    blocked = await runner.run_governance(said("block"))
    assert isinstance(blocked, Blocked)
    assert (blocked.processor, blocked.response) == ("house-rules", "against the rules")


@pytest.mark.parametrize(("text", "error"), ERRORS)
@pytest.mark.parametrize("channel", ["web", "radio"])
async def test_a_failing_message_rule_fails_closed(runner: ChainRunner, text: str, error: str, channel: str) -> None:
    """Where a pre-processor would be skipped, or a sentence be said."""
    outcome = await runner.run_governance(said(text, channel=channel))
    assert isinstance(outcome, Broken)
    assert (outcome.processor, outcome.error) == ("house-rules", error)


async def test_tool_rules_are_asked_about_each_call(runner: ChainRunner) -> None:
    """With the turn it is for."""
    assert isinstance(await runner.run_tool_rules(check()), Allowed)
    outcome = await runner.run_tool_rules(check("refund"))
    assert isinstance(outcome, Denied)
    assert (outcome.processor, outcome.reason) == ("no-refunds", "not for billing")
    assert [report.verdict for report in outcome.reports] == ["reject"]


@pytest.mark.parametrize(("text", "error"), ERRORS)
async def test_a_failing_tool_rule_allows_nothing(runner: ChainRunner, text: str, error: str) -> None:
    """The outcome names it."""
    outcome = await runner.run_tool_rules(check(arguments=text))
    assert isinstance(outcome, Broken)
    assert (outcome.processor, outcome.error) == ("no-refunds", error)


async def test_post_processors_run_by_priority_for_their_agents(runner: ChainRunner) -> None:
    """Each on what the one before it made; one of another agent takes no part."""
    outcome = await runner.run_post(reply("hello"))
    assert isinstance(outcome, Modified)
    assert (outcome.text, outcome.metadata) == ("HELLO\n-- billing", {"a": 1})
    assert [(r.processor, r.verdict, r.changes) for r in outcome.reports] == [
        ("polish", "replace", 1),
        ("footer", "replace", 1),
        ("strict", "pass", 0),
    ]
    others = await runner.run_post(reply("hello", agent="sales"))
    assert isinstance(others, Modified)
    assert others.text == "HELLO"


@pytest.mark.parametrize(("text", "error"), ERRORS)
async def test_a_failing_post_processor_is_skipped(runner: ChainRunner, text: str, error: str) -> None:
    """The reply goes on as it was."""
    outcome = await runner.run_post(reply(text))
    assert isinstance(outcome, Modified)
    assert outcome.text == f"{text}\n-- billing"
    assert [(r.verdict, r.error) for r in outcome.reports] == [("skipped", error), ("replace", None), ("pass", None)]


@pytest.mark.parametrize(("channel", "response"), [("web", ""), ("radio", "Over.")])
async def test_a_post_processor_that_must_not_be_skipped_blocks(
    runner: ChainRunner, channel: str, response: str
) -> None:
    """With what the policy says in that channel."""
    outcome = await runner.run_post(reply("strict", channel=channel))
    assert isinstance(outcome, Blocked)
    assert (outcome.processor, outcome.response, outcome.reason) == ("strict", response, "MalformedVerdictError")


async def test_a_prompt_is_derived_from_chosen_history(runner: ChainRunner) -> None:
    """The operator's history chooses, the prompt builder adds, the input processor has the last word; all report."""
    outcome = await runner.run_input(Prompt(system="s", messages=(*EARLIER, NOW)), CONTEXT, history=2)
    assert isinstance(outcome, Derived)
    assert outcome.prompt == Prompt(system="billing|s\n\n2 messages", messages=(EARLIER[1], NOW))
    assert [(r.processor, r.verdict) for r in outcome.reports] == [
        ("history", "replace"),
        ("prompt-builder", "replace"),
        ("patient-input", "replace"),
    ]
    assert [r.version for r in outcome.reports[:2]] == [member.version for member in runner.manifest.derivation]


async def test_without_earlier_messages_there_is_nothing_to_choose(runner: ChainRunner) -> None:
    """What is said now always rides along."""
    outcome = await runner.run_input(Prompt(messages=(NOW,)), CONTEXT)
    assert isinstance(outcome, Derived)
    assert outcome.prompt.messages == (NOW,)


@pytest.mark.parametrize(("text", "error"), ERRORS)
async def test_a_history_that_fails_breaks_the_chain(runner: ChainRunner, text: str, error: str) -> None:
    """Its report says so; a prompt without it would not be the one the operator meant."""
    talk = (Message(role="user", content=text), NOW)
    outcome = await runner.run_input(Prompt(messages=talk), CONTEXT, history=1)
    assert isinstance(outcome, Broken)
    assert (outcome.processor, outcome.error) == ("history", error)


async def test_a_prompt_builder_that_fails_breaks_the_chain(runner: ChainRunner) -> None:
    """The same."""
    outcome = await runner.run_input(Prompt(messages=(NOW,)), TurnContext(agent="throw"))
    assert isinstance(outcome, Broken)
    assert (outcome.processor, outcome.error) == ("prompt-builder", "LookupError")
    assert [report.verdict for report in outcome.reports] == ["pass", "failed"]


async def test_the_manifest_says_what_there_is(runner: ChainRunner) -> None:
    """The same without the code, whichever process holds the code."""
    assert runner.manifest == samples.whole_turn.manifest
    assert runner.manifest.derives


@pytest.mark.parametrize("kind", ["inline", "process"])
async def test_where_nothing_is_declared_everything_passes(kind: str) -> None:
    """Without a report, and without a process."""
    runner = make(kind, "nothing")
    await runner.start()
    assert await runner.run_governance(said("hello")) == Proceeded((TextPart(text="hello"),))
    assert await runner.run_tool_rules(check()) == Allowed()
    assert await runner.run_post(reply("hello")) == Modified("hello", {"a": 1})
    assert await runner.run_input(Prompt(messages=(NOW,)), CONTEXT, history=1) == Derived(Prompt(messages=(NOW,)))
    await runner.stop()


@pytest.mark.parametrize("kind", ["inline", "process"])
async def test_calls_of_a_runner_that_does_not_run_are_refused(kind: str) -> None:
    """All of them."""
    runner = make(kind, "whole_turn")
    for refused in (runner.run_governance(said("x")), runner.run_tool_rules(check()), runner.run_post(reply("x"))):
        with pytest.raises(ChainsStoppedError, match="start"):
            await refused
