"""What answers mean for a chain; who calls the members, and how, does not matter here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from processors import (
    Allow,
    Answer,
    Block,
    Deny,
    IncomingMessage,
    Message,
    Pass,
    Proceed,
    Prompt,
    Reject,
    Replace,
    TextPart,
    ToolCall,
    ToolCallCheck,
)
from processors.chain import RUNS, CallResult, InputChain, OutputChain, Returned, Threw, ToolRuleChain
from processors.contracts import TurnContext
from processors.declare import Declaration, OnFailure
from processors.message_chains import PreChain
from processors.outcomes import Allowed, Approved, Blocked, Broken, Derived, Proceeded, Refused, Report
from processors.policy import FailurePolicy

CALLS = (ToolCall(id="1", name="search", arguments="{}"),)
POLICY = FailurePolicy(voice_channels=frozenset({"radio"}), spoken_sentence="Over.")


def play(chain: Any, step: Any, answers: Sequence[object]) -> tuple[Any, list[Any]]:
    """Give a chain these answers, 2 ms each; return the last step and what each member saw."""
    seen = []
    for answer in answers:
        assert isinstance(step, RUNS)
        seen.append(step.subject)
        result: CallResult = answer if isinstance(answer, Threw) else Returned(answer)
        step = chain.take(step, result, 2.0)
    return step, seen


def outputs(*answers: object, answer: Answer | None = None) -> tuple[Any, list[Any]]:
    """Play an output chain with a member for each answer."""
    chain = OutputChain([Declaration(kind="output", name=f"o{n}", version=f"v{n}") for n in range(len(answers))])
    return play(chain, chain.open(answer or Answer("text", tool_calls=CALLS)), answers)


def pres(*answers: object, channel: str = "web", on_failure: OnFailure = "skip") -> tuple[Any, list[Any]]:
    """Play a chain of pre-processors with a member for each answer."""
    members = [Declaration(kind="pre", name=f"p{n}", on_failure=on_failure) for n in range(len(answers))]
    chain = PreChain(members, POLICY)
    incoming = IncomingMessage((TextPart(text="hi"),), channel=channel, metadata={"given": 0})
    return play(chain, chain.open(incoming), answers)


def test_the_whole_output_chain_must_pass() -> None:
    """Each sees the text and tool calls as the one before it left them."""
    other = (ToolCall(id="2", name="other"),)
    outcome, seen = outputs(Replace("one"), Pass(), Replace("two", tool_calls=other), Replace("two", changes=4))
    assert [(answer.text, answer.tool_calls) for answer in seen] == [
        ("text", CALLS),
        ("one", CALLS),
        ("one", CALLS),
        ("two", other),
    ]
    assert outcome == Approved(
        "two",
        other,
        (
            Report("o0", "v0", "replace", 1, 2.0),
            Report("o1", "v1", "pass", 0, 2.0),
            Report("o2", "v2", "replace", 1, 2.0),
            Report("o3", "v3", "replace", 4, 2.0),
        ),
    )


def test_everything_else_about_the_answer_stays() -> None:
    """Replacing the text does not make a prefix complete, or forget the turn."""
    given = Answer("text", step=3, attempt=1, complete=False, refusal="no", context=TurnContext(agent="a"))
    _, seen = outputs(Replace("other"), Pass(), answer=given)
    assert (seen[1].step, seen[1].attempt, seen[1].complete, seen[1].refusal) == (3, 1, False, "no")
    assert seen[1].context == given.context


def test_a_replacement_by_the_same_is_a_pass() -> None:
    """A redactor that found nothing has changed nothing."""
    outcome, _ = outputs(Replace("text"))
    assert outcome.reports == (Report("o0", "v0", "pass", 0, 2.0),)


def test_tool_calls_can_be_taken_away() -> None:
    """An empty list is not the same as none given."""
    outcome, _ = outputs(Replace("text", tool_calls=[]))
    assert outcome == Approved("text", (), (Report("o0", "v0", "replace", 1, 2.0),))


def test_a_rejection_is_final() -> None:
    """With what came before it reported."""
    outcome, _ = outputs(Pass(), Reject("why"))
    assert outcome == Refused(
        "o1", "why", (Report("o0", "v0", "pass", 0, 2.0), Report("o1", "v1", "reject", 0, 2.0, reason="why"))
    )


@pytest.mark.parametrize("nonsense", [None, "text", True, Pass, Replace, Proceed(), Prompt(), {"text": "x"}])
def test_an_output_processor_that_answers_nonsense_has_failed(nonsense: object) -> None:
    """None above all: a function that forgot to return has not passed anything."""
    outcome, _ = outputs(nonsense)
    assert outcome == Broken(
        "o0", "MalformedVerdictError", (Report("o0", "v0", "failed", 0, 2.0, "MalformedVerdictError"),)
    )


def test_an_output_processor_that_throws_breaks_the_chain() -> None:
    """Named, with the class of the error."""
    outcome, _ = outputs(Pass(), Threw("LookupError"))
    assert (outcome.processor, outcome.error) == ("o1", "LookupError")
    assert [report.verdict for report in outcome.reports] == ["pass", "failed"]


def test_the_input_chain_counts_what_differs() -> None:
    """The system text and each message; a prompt given back as it was is a pass."""
    prompt = Prompt(system="s", messages=(Message(role="user", content="a"), Message(role="user", content="b")))
    changed = Prompt(system="t", messages=(Message(role="user", content="x"),))
    chain = InputChain([Declaration(kind="input", name=f"i{n}") for n in range(2)])
    outcome, seen = play(chain, chain.open(prompt, TurnContext()), [prompt, changed])
    assert seen == [prompt, prompt]
    assert outcome == Derived(changed, (Report("i0", "0", "pass", 0, 2.0), Report("i1", "0", "replace", 3, 2.0)))


def test_a_prompt_is_put_right_or_refused() -> None:
    """`model_copy` checks nothing: a list is as good as a tuple, but a number is no text."""
    prompt = Prompt(messages=(Message(role="user", content="a"),))
    chain = InputChain([Declaration(kind="input", name="i")])
    good = prompt.model_copy(update={"messages": [Message(role="user", content="b\ud800")]})
    outcome, _ = play(chain, chain.open(prompt, TurnContext()), [good])
    assert outcome.prompt == Prompt(messages=(Message(role="user", content="b\ufffd"),))
    for bad in (prompt.model_copy(update={"system": 3}), prompt.model_copy(update={"messages": ["b"]}), None, Pass()):
        outcome, _ = play(chain, chain.open(prompt, TurnContext()), [bad])
        assert (outcome.processor, outcome.error) == ("i", "MalformedVerdictError")


def test_pre_processors_add_to_message_and_metadata() -> None:
    """Later ones see both, in the message's metadata and in the context; the same message is no change."""
    outcome, seen = pres(Proceed("ho", metadata={"a": 1}), Proceed("ho", metadata={"a": 2, "b": 3}), Proceed())
    assert [subject.text for subject in seen] == ["hi", "ho", "ho"]
    assert seen[2].metadata == seen[2].context.metadata == {"given": 0, "a": 2, "b": 3}
    assert outcome == Proceeded(
        (TextPart(text="ho"),),
        {"given": 0, "a": 2, "b": 3},
        (
            Report("p0", "0", "proceed", 1, 2.0, metadata={"a": 1}),
            Report("p1", "0", "proceed", 0, 2.0, metadata={"a": 2, "b": 3}),
            Report("p2", "0", "proceed", 0, 2.0),
        ),
    )


def test_a_block_carries_the_metadata_of_all() -> None:
    """The rest is not asked."""
    outcome, _ = pres(Proceed(metadata={"a": 1}), Block("no", reason="r", metadata={"b": 2}))
    assert (outcome.processor, outcome.response, outcome.reason) == ("p1", "no", "r")
    assert outcome.metadata == {"given": 0, "a": 1, "b": 2}
    assert (outcome.reports[-1].reason, outcome.reports[-1].metadata) == ("r", {"b": 2})


def test_a_reason_is_cut_where_it_stops_being_one() -> None:
    """The first thousand characters are kept: a reason is no way to carry an answer into the journal."""
    outcome, _ = outputs(Reject("r" * 5_000))
    assert outcome.reports[-1].reason == "r" * 1_000


@pytest.mark.parametrize("failure", [Threw("LookupError"), None])
def test_a_failing_pre_processor_is_skipped(failure: object) -> None:
    """The message goes on unchanged."""
    outcome, seen = pres(failure, Proceed("ho"))
    assert seen[1].text == "hi"
    assert isinstance(outcome, Proceeded)
    assert [report.verdict for report in outcome.reports] == ["skipped", "proceed"]
    assert outcome.reports[0].error in ("LookupError", "MalformedVerdictError")


def test_a_failing_pre_processor_fails_the_turn_if_it_asks_for_that() -> None:
    """In voice channels too, where only skipping is ruled out."""
    for channel in ("web", "radio"):
        outcome, _ = pres(Threw("LookupError"), on_failure="fail", channel=channel)
        assert isinstance(outcome, Broken)


def test_a_failing_pre_processor_blocks_the_turn_if_it_asks_for_that() -> None:
    """With the channel's own default text."""
    outcome, _ = pres(Threw("LookupError"), on_failure="block")
    assert isinstance(outcome, Blocked)
    assert (outcome.response, outcome.reason) == ("", "LookupError")


def test_a_failing_pre_processor_blocks_a_spoken_turn() -> None:
    """With a sentence to speak."""
    outcome, _ = pres(Threw("LookupError"), channel="radio")
    assert isinstance(outcome, Blocked)
    assert outcome.response == "Over."
    assert [report.verdict for report in outcome.reports] == ["failed"]


def test_pre_processors_of_other_agents_are_passed_over() -> None:
    """Wherever they stand in the order."""
    members = [
        Declaration(kind="pre", name="before", agents=("other",)),
        Declaration(kind="pre", name="ours", agents=("default", "another")),
        Declaration(kind="pre", name="after", agents=("other",)),
    ]
    chain = PreChain(members)
    step = chain.open(IncomingMessage((TextPart(text="hi"),)))
    assert isinstance(step, RUNS)
    assert chain.member(step).name == "ours"
    outcome, _ = play(chain, step, [Proceed()])
    assert isinstance(outcome, Proceeded)
    assert [report.processor for report in outcome.reports] == ["ours"]
    only_others = PreChain([members[0]])
    assert isinstance(only_others.open(IncomingMessage(())), Proceeded)


TALK = tuple(Message(role="user", content=text) for text in ("old", "older", "now"))


def deriving(*kinds: str) -> InputChain[Declaration]:
    """Return an input chain with what comes before its one input processor."""
    before = [Declaration(kind=kind, name=kind) for kind in kinds]  # type: ignore[arg-type]
    return InputChain([Declaration(kind="input", name="i")], before)


def test_the_operators_history_chooses_among_earlier_messages_only() -> None:
    """It sees those alone; what is said now stays, whatever it answers, and the others see the prompt it makes."""
    chain = deriving("history", "prompt_builder")
    prompt = Prompt(system="s", messages=TALK)
    outcome, seen = play(chain, chain.open(prompt, TurnContext(), history=2), [[TALK[1]], "built", prompt])
    assert seen == [
        TALK[:2],
        Prompt(system="s", messages=TALK[1:]),
        Prompt(system="s\n\nbuilt", messages=TALK[1:]),
    ]
    assert outcome.prompt == prompt
    assert [(report.processor, report.verdict) for report in outcome.reports] == [
        ("history", "replace"),
        ("prompt_builder", "replace"),
        ("i", "replace"),
    ]


def test_a_history_may_say_something_of_its_own() -> None:
    """A summary in place of what it sums up; in the first turn it sees nothing, and what it leaves alone is a pass."""
    chain = deriving("history")
    summary = (Message(role="system", content="They met."),)
    step = chain.open(Prompt(messages=TALK), TurnContext(), history=2)
    outcome, _ = play(chain, step, [summary, Prompt(messages=(*summary, TALK[2]))])
    assert outcome.prompt.messages == (*summary, TALK[2])
    outcome, seen = play(chain, chain.open(Prompt(messages=TALK[2:]), TurnContext()), [(), Prompt(messages=TALK[2:])])
    assert seen[0] == ()
    assert [report.verdict for report in outcome.reports] == ["pass", "pass"]


@pytest.mark.parametrize(
    ("system", "built", "after"), [(None, "b", "b"), ("s", "b", "s\n\nb"), ("s", "", "s"), (None, "", None)]
)
def test_a_text_of_a_prompt_builder_is_appended_to_the_system_prompt(
    system: str | None, built: str, after: str | None
) -> None:
    """After a blank line; a whole prompt takes the place of the one it saw."""
    chain = InputChain([], [Declaration(kind="prompt_builder", name="prompt-builder")])
    outcome, _ = play(chain, chain.open(Prompt(system=system), TurnContext()), [built])
    assert outcome.prompt == Prompt(system=after)
    outcome, _ = play(chain, chain.open(Prompt(system=system), TurnContext()), [Prompt(system="all mine")])
    assert outcome.prompt == Prompt(system="all mine")


@pytest.mark.parametrize(
    ("kind", "nonsense"),
    [
        ("history", None),
        ("history", "old"),
        ("history", ["old"]),
        ("history", Prompt(messages=TALK)),
        ("history", (TALK[0].model_copy(update={"content": 3}),)),
        ("history", Threw("LookupError")),
        ("prompt_builder", None),
        ("prompt_builder", TALK),
        ("prompt_builder", Threw("LookupError")),
        ("input", "text"),
    ],
)
def test_nothing_that_derives_a_prompt_may_fail(kind: str, nonsense: object) -> None:
    """Rather no answer than one to a prompt that nobody meant; only a prompt builder may answer with a text."""
    chain = deriving(kind)
    outcome, _ = play(chain, chain.open(Prompt(messages=TALK), TurnContext(), history=1), [nonsense])
    assert isinstance(outcome, Broken)
    assert outcome.processor == kind
    assert outcome.error in ("LookupError", "MalformedVerdictError")


CHECK = ToolCallCheck(ToolCall(id="1", name="refund", arguments="{}"), context=TurnContext(agent="sales"))


def tool_rules(*answers: object) -> tuple[Any, list[Any]]:
    """Play a chain of tool rules with a member for each answer."""
    chain = ToolRuleChain([Declaration(kind="tool_rule", name=f"t{n}") for n in range(len(answers))])
    return play(chain, chain.open(CHECK), answers)


def test_a_call_is_allowed_when_every_rule_allows_it() -> None:
    """Each sees the same; without rules it is allowed at once."""
    outcome, seen = tool_rules(Allow(), Allow())
    assert seen == [CHECK, CHECK]
    assert outcome == Allowed((Report("t0", "0", "pass", 0, 2.0), Report("t1", "0", "pass", 0, 2.0)))
    assert tool_rules()[0] == Allowed()


def test_the_first_rule_that_denies_a_call_has_the_last_word() -> None:
    """With its reason, cut in the report as all are."""
    chain = ToolRuleChain([Declaration(kind="tool_rule", name=name) for name in ("t0", "t1", "t2")])
    outcome, _ = play(chain, chain.open(CHECK), [Allow(), Deny("r" * 2_000)])
    assert (outcome.processor, outcome.reason) == ("t1", "r" * 2_000)
    assert [report.verdict for report in outcome.reports] == ["pass", "reject"]
    assert outcome.reports[1].reason == "r" * 1_000


@pytest.mark.parametrize("failure", [Threw("LookupError"), None, True, Allow, Pass(), Proceed()])
def test_a_tool_rule_that_fails_allows_nothing(failure: object) -> None:
    """A control fails closed."""
    outcome, _ = tool_rules(failure)
    assert isinstance(outcome, Broken)
    assert outcome.processor == "t0"


def test_an_empty_chain_has_its_outcome_at_once() -> None:
    """Nobody is asked."""
    assert OutputChain([]).open(Answer("x", tool_calls=CALLS)) == Approved("x", CALLS)
    assert InputChain([]).open(Prompt(system="s"), TurnContext()) == Derived(Prompt(system="s"))
    assert PreChain([]).open(IncomingMessage((), metadata={"a": 1})) == Proceeded((), {"a": 1})
