"""What processors spend is published as usage of their own, once for each time they were asked, whatever came of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from processors.outcomes import Approved, Blocked, Broken, Derived, PreOutcome, Proceeded, Refused, Report
from streams.gate import entries, events, machine
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from tests.streams.gate.play import KEY, START, Play, report
from topics.content import Message, Prompt, TextPart, Usage, User
from topics.records import BlockedFrame, Decision, FailedFrame, UsageRecord

USAGE = Usage(prompt_tokens=9, completion_tokens=1, total_tokens=10)
TWICE = Usage(prompt_tokens=18, completion_tokens=2, total_tokens=20)
PAID = replace(report("guard"), usage=USAGE, model="guard-8b")
WHOLE = Policy(mode="whole")
INCREMENTAL = Policy(mode="incremental", window=4)


def costs(play: Play) -> list[UsageRecord]:
    """Return what was published of processors' spending."""
    return [record for record in play.of(UsageRecord) if record.processor is not None]


def settle(play: Play, *reports: Report) -> Play:
    """Let the answer arrive, and the chain pass it."""
    play.start().text("Hello").finish()
    play.passed(Approved("Hello", reports=reports), final=True)
    return play


def test_a_call_of_a_processor_is_a_record_of_its_own() -> None:
    """It is told from the model's, and names who is billed, who asked and what was asked."""
    play = settle(Play(WHOLE, agent="sales", user=User(id="ann")), PAID)
    (record,) = costs(play)
    assert record.id == f"{KEY}/0/0/guard/{play.records[-1].n}"
    assert (record.turn, record.step, record.attempt, record.agent, record.user_id) == (KEY, 0, 0, "sales", "ann")
    assert (record.processor, record.model, record.usage) == ("guard", "guard-8b", USAGE)
    assert (record.outcome, record.estimated, record.at) == ("completed", False, START)
    (of_model,) = [one for one in play.of(UsageRecord) if one.processor is None]
    assert of_model.id == f"{KEY}/0/0"


def test_runs_of_one_processor_for_one_record_are_added_up() -> None:
    """The refusal goes through the chain after the text, and both were paid for."""
    silent = report("redact")
    other = replace(PAID, model="other")
    (record,) = costs(settle(Play(WHOLE), PAID, silent, other, silent))
    assert (record.processor, record.usage, record.model) == ("guard", TWICE, None)


def test_several_processors_have_a_record_each() -> None:
    """In the order of the chain."""
    assert [one.processor for one in costs(settle(Play(WHOLE), PAID, replace(PAID, processor="judge")))] == [
        "guard",
        "judge",
    ]


@pytest.mark.parametrize(
    "outcome",
    [
        Approved("Hel", reports=(PAID,)),
        Approved("something else", reports=(PAID,)),
        Broken("guard", "LookupError", (replace(PAID, verdict="failed"),)),
    ],
    ids=["nothing new", "not what is out", "broken"],
)
def test_a_prefix_pass_that_leads_to_nothing_is_paid_for(outcome: Approved | Broken) -> None:
    """Each has an id of its own, and the turn goes on as it would have."""
    play = Play(INCREMENTAL).start().text("Hello there")
    play.passed(Approved("Hello there"))
    first, *others = play.passed(outcome)
    assert isinstance(first, entries.Spent)
    assert others == []
    play.passed(outcome)
    one, two = costs(play)
    assert one.id != two.id
    assert {one.outcome, two.outcome} == {"failed" if isinstance(outcome, Broken) else "completed"}
    assert play.finish().passed(Approved("Hello there"), final=True)
    assert play.view.text == "Hello there"


def test_a_prefix_pass_that_lets_text_out_is_paid_for() -> None:
    """Its text goes out all the same."""
    play = Play(INCREMENTAL).start().text("Hello there")
    play.passed(Approved("Hello there", reports=(PAID,)))
    assert play.releases == ["Hello t"]
    assert [one.usage for one in costs(play)] == [USAGE]


def test_a_prefix_pass_that_comes_after_the_answer_is_paid_for() -> None:
    """The answer was complete before the pass was over, which is what happens to most last ones."""
    play = Play(INCREMENTAL).start().text("Hello there").finish()
    play.passed(Approved("Hello there", reports=(PAID,)))
    assert [one.usage for one in costs(play)] == [USAGE]
    play.passed(Approved("Hello there", reports=(PAID,)), final=True)
    assert [one.usage for one in costs(play)] == [USAGE, USAGE]
    assert play.outcome == "completed"


def test_a_rejection_on_the_way_is_paid_for_once() -> None:
    """The entry that ends the turn says it."""
    play = Play(INCREMENTAL).start().text("Hello there")
    play.passed(Refused("guard", "policy", (replace(PAID, verdict="reject"),)))
    assert [one.outcome for one in costs(play)] == ["completed"]
    assert play.outcome == "rejected"


@pytest.mark.parametrize("blocks", [True, False])
def test_what_is_spent_on_a_message_counts(blocks: bool) -> None:
    """Also if no model is ever asked; before the reader is told."""
    message = (TextPart(text="hello"),)
    outcome: PreOutcome = Blocked("guard", "No.", reports=(PAID,)) if blocks else Proceeded(message, reports=(PAID,))
    play = Play(Policy(has_pre=True)).start()
    play.happen(events.PreDone(outcome))
    assert [one.processor for one in costs(play)] == ["guard"]
    if blocks:
        kinds = [type(effect.record) for effect in play.published]
        assert kinds.index(UsageRecord) < kinds.index(BlockedFrame)


def test_a_prompt_that_became_too_long_is_paid_for() -> None:
    """The turn fails over what was made of it."""
    play = Play(Policy(has_input=True, max_prompt_bytes=100)).start()
    prompt = Prompt(messages=(Message(role="user", content="x" * 200),))
    play.happen(events.InputDone(0, Derived(prompt, reports=(PAID,))))
    assert [one.processor for one in costs(play)] == ["guard"]
    assert [type(record.entry) for record in play.records[-2:]] == [entries.Started, entries.Failed]
    assert play.of(FailedFrame)


@pytest.mark.parametrize("phase", ["governance", "pre", "input", "output"])
def test_who_made_too_much_is_in_the_decisions(phase: str) -> None:
    """With what they said, in their phase, as if the turn had not failed over it."""
    policy = Policy(
        mode="whole" if phase == "output" else "live",
        has_governance=phase == "governance",
        has_pre=phase == "pre",
        has_input=phase == "input",
        max_prompt_bytes=1_000,
        max_answer_chars=1_000,
    )
    play = Play(policy).start()
    long = "x" * 2_000
    match phase:
        case "governance":
            play.happen(events.GovernanceDone(Proceeded((TextPart(text=long),), reports=(PAID,))))
        case "pre":
            play.happen(events.PreDone(Proceeded((TextPart(text=long),), reports=(PAID,))))
        case "input":
            prompt = Prompt(messages=(Message(role="user", content=long),))
            play.happen(events.InputDone(0, Derived(prompt, reports=(PAID,))))
        case _:
            play.text("short").finish().passed(Approved(long, reports=(PAID,)), final=True)
    assert [(one.phase, one.processor) for one in play.of(Decision)] == [(phase, PAID.processor)]
    assert [one.phase for one in play.of(FailedFrame)] == [phase]
    assert [one.processor for one in costs(play)] == [PAID.processor]


def test_after_the_end_nothing_is_added() -> None:
    """What is released has been told to be all."""
    play = settle(Play(WHOLE))
    assert play.passed(Approved("Hello", reports=(PAID,)), final=True) == []


def test_spending_changes_nothing_else_of_a_turn() -> None:
    """It waits for what it waited for."""
    play = Play(INCREMENTAL).start().text("Hello there")
    before = play.turn
    play.passed(Approved("Hello there"[:0], reports=(PAID,)))
    assert replace_counter(play) == before


def replace_counter(play: Play) -> object:
    """Return the turn but for the number of its next record."""
    return play.turn.with_(n=play.turn.n - 1)


def test_only_records_that_tell_of_spending_are_of_the_newer_version() -> None:
    """Others stay as they were, byte for byte."""
    plain = JournalRecord(3, START, 2, entries.OutputProcessed(reports=(report("guard"),)))
    assert json.loads(plain.encode()) == {
        "v": 1,
        "k": "process:output:0",
        "at": START,
        "c": 2,
        "d": {"reports": [{"processor": "guard", "version": "1", "verdict": "pass", "changes": 0, "time_ms": 0.0}]},
    }
    said: dict[str, object] = {"step": 0, "reports": (PAID,)}
    for shape in (entries.OutputProcessed, entries.InputProcessed, entries.Llm):
        extra = {"prompt": Prompt()} if shape is entries.InputProcessed else {}
        assert json.loads(JournalRecord(3, START, 2, shape.model_validate({**said, **extra})).encode())["v"] == 2


def test_a_resumed_turn_publishes_the_same_again() -> None:
    """Record by record, with the same ids."""
    play = settle(Play(WHOLE), PAID)
    again = Play.resumed(play.records, WHOLE)
    assert costs(again) == costs(play)
    assert machine.evolve(play.turn, JournalRecord(play.turn.n, START, 0, entries.Spent(reports=(PAID,)))).outcome
