"""What answers mean for chains of message rules and of post-processors."""

from __future__ import annotations

import pytest

from processors import (
    Allow,
    Block,
    IncomingMessage,
    ModifiedResponse,
    Pass,
    Proceed,
    Replace,
    Reply,
    TextPart,
    TurnContext,
)
from processors.chain import GovernanceRun, PostRun, Returned, Threw
from processors.declare import Declaration, OnFailure
from processors.message_chains import GovernanceChain, PostChain
from processors.outcomes import Blocked, Broken, Modified, PostOutcome, PreOutcome, Proceeded, Report
from processors.policy import FailurePolicy
from tests.processors.test_chain import POLICY, play

REPLY = Reply(
    "text",
    message=(TextPart(text="hi"),),
    channel="web",
    metadata={"given": 0},
    context=TurnContext(agent="sales", metadata={"given": 0}),
)


def rules(*answers: object, channel: str = "web") -> tuple[PreOutcome, list[IncomingMessage]]:
    """Play a chain of message rules with a member for each answer, and one more that is asked if they let it be."""
    chain = GovernanceChain([Declaration(kind="governance", name=f"g{n}") for n in range(len(answers) + 1)], POLICY)
    return play(chain, chain.open(IncomingMessage((TextPart(text="hi"),), channel=channel)), answers)


def posts(*answers: object, channel: str = "web", on_failure: OnFailure = "skip") -> tuple[PostOutcome, list[Reply]]:
    """Play a chain of post-processors with a member for each answer."""
    members = [Declaration(kind="post", name=f"p{n}", on_failure=on_failure) for n in range(len(answers))]
    chain = PostChain(members, POLICY)
    return play(chain, chain.open(Reply("text", channel=channel, metadata={"given": 0})), answers)


def test_rules_add_to_message_and_metadata() -> None:
    """Each sees what the one before it made, as pre-processors do after them."""
    chain = GovernanceChain([Declaration(kind="governance", name=name) for name in "ab"])
    step = chain.open(IncomingMessage((TextPart(text="hi"),)))
    outcome, seen = play(chain, step, [Proceed("ho", metadata={"a": 1}), Proceed()])
    assert [(one.text, dict(one.metadata)) for one in seen] == [("hi", {}), ("ho", {"a": 1})]
    assert isinstance(outcome, Proceeded)
    assert (outcome.message, outcome.metadata) == ((TextPart(text="ho"),), {"a": 1})


def test_a_run_of_rules_is_told_from_one_of_pre_processors() -> None:
    """All the way: whoever goes on with it must ask the rules that are left, and not pre-processors."""
    chain = GovernanceChain([Declaration(kind="governance", name=name) for name in "ab"])
    step = chain.open(IncomingMessage((TextPart(text="hi"),)))
    assert isinstance(step, GovernanceRun)
    after = chain.take(step, Returned(Proceed()), 1.0)
    assert isinstance(after, GovernanceRun)
    assert chain.member(after).name == "b"


def test_a_rule_blocks() -> None:
    """The rest is not asked."""
    outcome, _ = rules(Block("no", reason="r"))
    assert isinstance(outcome, Blocked)
    assert (outcome.processor, outcome.response, outcome.reason) == ("g0", "no", "r")


@pytest.mark.parametrize("channel", ["web", "radio"])
@pytest.mark.parametrize("failure", [Threw("LookupError"), None, Pass()])
def test_a_failing_rule_always_breaks_the_chain(failure: object, channel: str) -> None:
    """In voice channels too: governance fails closed, and nobody is told anything in its place."""
    outcome, _ = rules(Proceed(), failure, channel=channel)
    assert isinstance(outcome, Broken)
    assert outcome.processor == "g1"
    assert outcome.error in ("LookupError", "MalformedVerdictError")
    assert [report.verdict for report in outcome.reports] == ["proceed", "failed"]


def test_each_post_processor_sees_the_reply_as_the_one_before_it_made_it() -> None:
    """And all else as it was; a text given back as it was is a pass."""
    outcome, seen = posts(ModifiedResponse("one"), ModifiedResponse("one"), ModifiedResponse("two"))
    assert [(reply.text, dict(reply.metadata)) for reply in seen] == [
        ("text", {"given": 0}),
        ("one", {"given": 0}),
        ("one", {"given": 0}),
    ]
    assert outcome == Modified(
        "two",
        {"given": 0},
        (
            Report("p0", "0", "replace", 1, 2.0),
            Report("p1", "0", "pass", 0, 2.0),
            Report("p2", "0", "replace", 1, 2.0),
        ),
    )


@pytest.mark.parametrize("failure", [Threw("LookupError"), None, "text", Replace("text"), Pass(), Allow()])
@pytest.mark.parametrize("channel", ["web", "radio"])
def test_a_failing_post_processor_is_skipped(failure: object, channel: str) -> None:
    """Anything but a modified response is a failure; the reply goes on as it was, in voice channels too."""
    outcome, seen = posts(ModifiedResponse("one"), failure, ModifiedResponse("two"), channel=channel)
    assert seen[2].text == "one"
    assert isinstance(outcome, Modified)
    assert outcome.text == "two"
    assert [report.verdict for report in outcome.reports] == ["replace", "skipped", "replace"]


@pytest.mark.parametrize(("channel", "response"), [("web", ""), ("radio", "Over.")])
def test_a_failing_post_processor_blocks_if_it_asks_for_that(channel: str, response: str) -> None:
    """Nothing of the reply is in what goes out instead: a sentence to speak, or the channel's default text."""
    outcome, _ = posts(ModifiedResponse("one"), Threw("LookupError"), channel=channel, on_failure="block")
    assert isinstance(outcome, Blocked)
    assert (outcome.processor, outcome.response, outcome.reason) == ("p1", response, "LookupError")
    assert outcome.metadata == {"given": 0}
    assert [report.verdict for report in outcome.reports] == ["replace", "failed"]


def test_a_failing_post_processor_fails_the_turn_if_it_asks_for_that() -> None:
    """Named, with the class of the error."""
    outcome, _ = posts(Threw("LookupError"), on_failure="fail")
    assert isinstance(outcome, Broken)
    assert (outcome.processor, outcome.error) == ("p0", "LookupError")


def test_post_processors_of_other_agents_are_passed_over() -> None:
    """Wherever they stand in the order."""
    members = [
        Declaration(kind="post", name="before", agents=("support",)),
        Declaration(kind="post", name="ours", agents=("sales",)),
        Declaration(kind="post", name="after", agents=("support",)),
    ]
    chain = PostChain(members)
    step = chain.open(REPLY)
    assert isinstance(step, PostRun)
    assert chain.member(step).name == "ours"
    outcome, _ = play(chain, step, [ModifiedResponse("one")])
    assert isinstance(outcome, Modified)
    assert [report.processor for report in outcome.reports] == ["ours"]
    assert PostChain([members[0]]).open(REPLY) == Modified("text", {"given": 0})


def test_without_members_there_is_an_outcome_at_once() -> None:
    """Nobody is asked, whatever the policy says."""
    policy = FailurePolicy(voice_channels=frozenset({"web"}))
    assert PostChain([], policy).open(REPLY) == Modified("text", {"given": 0})
    message = IncomingMessage((TextPart(text="hi"),), metadata={"a": 1})
    assert GovernanceChain([], policy).open(message) == Proceeded(message.message, {"a": 1})
