"""Budgets and users' turns at the desk: what is spent here counts at once, and what is decided is in the journal."""

from __future__ import annotations

from typing import Any

from processors import Budget
from processors.outcomes import Proceeded
from streams.gate import entries, events
from streams.gate.policy import Policy
from streams.turns.desk import Desk
from streams.turns.inputs import News
from streams.turns.meter import UsageMeter
from streams.turns.plan import Plan
from tests.streams.at_once import at_once
from tests.streams.turns.desks import (
    NOW,
    Journal,
    a_desk,
    confirm,
    entries_of,
    frame_source,
    key,
    source,
)
from topics.content import TextPart, Usage
from topics.records import TurnRequest

PASSES = events.GovernanceDone(Proceeded((TextPart(text="hello"),)))
BUDGETED = Policy(has_governance=True)
LIMITED = Policy(has_pre=True)
COST = Usage(total_tokens=60)


def asked(turn_id: str, user: str = "ann", **fields: Any) -> TurnRequest:
    """Return a request of a user in thread `h`."""
    said = {"turn_id": turn_id, "thread_id": "h", "message": "hello", "user": {"id": user}}
    return TurnRequest.model_validate(said | fields)


def hour(tokens: int) -> UsageMeter:
    """Return a meter of one budget of each tenant."""
    return UsageMeter([Budget("tenant", tokens, 3600.0)])


def answered(desk: Desk, turn_id: str, now: float = NOW, number: int = 0) -> list[Plan]:
    """Let a turn run to its end, passing the rules where there are some."""
    plans = [desk.take([source(asked(turn_id), number)], now)]
    if desk.policy.has_governance:
        plans.append(desk.take([News(key(turn_id), PASSES)], now))
    if desk.policy.has_pre and desk.turns[key(turn_id)].phase.value == "pre":
        plans.append(desk.take([News(key(turn_id), events.PreDone(PASSES.outcome))], now))
    plans.append(desk.take([frame_source(0, turn_id, text="yes", finish_reason="stop", usage=COST)], now))
    plans.append(desk.take(confirm(desk, plans[-1]), now))
    return plans


def test_what_a_turn_spent_is_known_to_the_next_before_it_is_published() -> None:
    """The meter is told when it is decided; that it comes again over the topic changes nothing."""
    meter = hour(100)
    desk = a_desk(BUDGETED, meter)
    (record,) = [
        effect.record
        for plan in answered(desk, "a")
        for out in plan.outgoing
        for effect in out.effects
        if effect.topic.name == "usage"
    ]
    assert not meter.take(record, NOW)  # type: ignore[arg-type]  # the topic tells what it is
    answered(desk, "b", number=1)
    plan = desk.take([source(asked("c"), 2)], NOW)
    plan = desk.take([News(key("c"), PASSES)], NOW)
    (entry,) = entries_of(plan, "c")
    assert isinstance(entry, entries.Governed)
    assert entry.blocked_by == "token-budget"


def test_what_the_meter_said_is_not_asked_again_when_the_journal_is_replayed() -> None:
    """A turn that was let through goes on, and one that was blocked stays so, whatever is left by then."""
    journal = Journal()
    desk = a_desk(BUDGETED, hour(100))
    journal.note(desk.take([source(asked("a"))], NOW))
    journal.note(desk.take([News(key("a"), PASSES)], NOW))
    poor = hour(1)
    after = a_desk(BUDGETED, poor)
    answered(a_desk(BUDGETED, poor), "z")
    at_once(after.restore(journal.by_turn()))
    assert after.turns[key("a")].phase.value == "model"
    plan = after.take([frame_source(0, "a", text="yes", finish_reason="stop")], NOW)
    assert entries_of(plan, "a")[-1].settled


def test_what_a_dead_worker_had_not_published_is_known_to_its_successor() -> None:
    """It is owed, and no topic tells of it yet."""
    journal = Journal()
    desk = a_desk(BUDGETED, hour(100))
    for number, turn_id in enumerate(("a", "b")):
        for plan in answered(desk, turn_id, number=number)[:3]:
            journal.note(plan)
    meter = hour(100)
    after = a_desk(BUDGETED, meter)
    plan = at_once(after.restore(journal.by_turn()))
    assert {effect.topic.name for out in plan.outgoing for effect in out.effects} >= {"usage"}
    assert not meter.afford(after.turns[key("a")], NOW)


def test_the_turns_of_a_thread_are_known_from_its_journal() -> None:
    """Exactly: when they ended, also after every figure of the meter is lost; only those of the same user."""
    desk = a_desk(LIMITED, UsageMeter(recent_s=3600.0))
    plans = [plan for number in (0, 1) for plan in answered(desk, "ab"[number], NOW + number, number)]
    rows = {row.n: (0, row.value) for plan in plans for row in plan.remember}
    for user, recent in (("ann", (NOW, NOW + 1)), ("bob", ())):
        after = a_desk(LIMITED, UsageMeter(recent_s=3600.0))
        at_once(after.restore({}, {"default/h": rows}))
        after.take([source(asked("c", user), 2)], NOW + 9)
        assert after.turns[key("c")].recent == recent


def test_a_turn_counts_once_whether_it_is_known_from_its_thread_or_from_the_meter() -> None:
    """By when it ended."""
    desk = a_desk(LIMITED, UsageMeter(recent_s=3600.0))
    answered(desk, "a", NOW)
    answered(desk, "b", NOW + 5, 1)
    desk.take([source(asked("c"), 2)], NOW + 9)
    assert desk.turns[key("c")].recent == (NOW, NOW + 5)


def test_nobody_is_told_of_turns_who_does_not_ask() -> None:
    """Budgets alone need none."""
    desk = a_desk(LIMITED, hour(1_000))
    answered(desk, "a")
    desk.take([source(asked("b"), 1)], NOW)
    assert desk.turns[key("b")].recent == ()
