"""What the meter says of budgets and of users' turns, with a clock that is moved by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors import Budget
from processors.budgets import Spent, exhausted
from streams.gate import events, machine
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.gate.state import Turn
from streams.turns import meter as meters
from streams.turns.meter import SLOTS, RecentIds, SlidingSum, UsageMeter
from tests.streams.turns.desks import NOW
from topics.content import Usage, User
from topics.ids import TurnKey
from topics.records import TurnRequest, UsageRecord

HOUR = 3600.0


def turn(turn_id: str = "t", *, tenant: str = "acme", user: str | None = "ann", thread: str = "h") -> Turn:
    """Return a turn that nothing has happened to."""
    request = TurnRequest.model_validate(
        {"tenant": tenant, "thread_id": thread, "turn_id": turn_id, "message": "hello", "user": user and User(id=user)}
    )
    entry = machine.accept(request, partition=0, order=0, now=NOW, policy=Policy())
    return machine.begin(JournalRecord(0, NOW, -1, entry))


def usage(turn_id: str = "t", tokens: int = 10, at: float = NOW, **fields: Any) -> UsageRecord:
    """Return what a call of a turn cost."""
    said: dict[str, Any] = {"tenant": "acme", "thread_id": "h", "agent": "a", "outcome": "completed", "user_id": "ann"}
    said |= {"id": f"{turn_id}/0", "usage": Usage(total_tokens=tokens)}
    return UsageRecord.model_validate({**said, **fields, "turn_id": turn_id, "at": at})


def tenants(tokens: int = 100, per_s: float = HOUR, **fields: Any) -> Budget:
    """Return a budget of each tenant."""
    return Budget("tenant", tokens, per_s, **fields)


# -- budgets ----------------------------------------------------------------------------------------------------------


def test_a_budget_is_used_up_by_all_users_of_a_tenant() -> None:
    """And by nobody else; at the limit nothing is left."""
    meter = UsageMeter([tenants()])
    meter.take(usage("a", 60), NOW)
    assert meter.afford(turn(), NOW)
    meter.take(usage("b", 40, user_id="bob"), NOW)
    assert not meter.afford(turn(user=None), NOW)
    assert meter.afford(turn(tenant="other"), NOW)


def test_a_record_is_counted_once() -> None:
    """However often it comes: from this worker, from the topic, and from the topic again."""
    meter = UsageMeter([tenants()])
    assert [meter.take(usage("a", 60), NOW) for _ in range(3)] == [True, False, False]
    assert meter.afford(turn(), NOW)


def test_the_window_slides() -> None:
    """What is older counts no more, a thousandth of the window later at the latest."""
    meter = UsageMeter([tenants()])
    meter.take(usage("a", 100), NOW)
    assert not meter.afford(turn(), NOW + HOUR - 0.001)
    assert meter.afford(turn(), NOW + HOUR + HOUR / SLOTS + 0.001)


def test_what_was_spent_before_the_window_is_not_counted() -> None:
    """A tail begins a little before it."""
    meter = UsageMeter([tenants()])
    meter.take(usage("a", 100, at=NOW - HOUR), NOW)
    assert meter.afford(turn(), NOW)


def test_a_clock_that_is_ahead_spends_now() -> None:
    """Not only when its time has come."""
    meter = UsageMeter([tenants()])
    meter.take(usage("a", 100, at=NOW + 60), NOW)
    assert not meter.afford(turn(), NOW)


def test_processors_spend_too_and_parts_are_added_where_no_total_is_told() -> None:
    """Some servers tell no total."""
    meter = UsageMeter([tenants()])
    meter.take(usage("a", 50), NOW)
    meter.take(usage("a", usage=Usage(prompt_tokens=49, completion_tokens=1), id="a/0/guard/3", processor="guard"), NOW)
    assert not meter.afford(turn(), NOW)


def test_nobody_earns_tokens_by_a_number_below_zero() -> None:
    """What a model server tells is not to be trusted."""
    meter = UsageMeter([tenants()])
    meter.take(usage("a", -1_000), NOW)
    meter.take(usage("b", 100), NOW)
    assert not meter.afford(turn(), NOW)


BUDGETS = [
    tenants(50, 10.0),
    Budget("user", 20, 20.0),
    Budget("user", 5, 40.0, only="ann"),
    tenants(15, 5.0, only="acme"),
]
_SPENT = st.builds(
    Spent,
    at=st.integers(-50, 0).map(lambda tenths: NOW + tenths),
    tenant=st.sampled_from(["acme", "other"]),
    user=st.sampled_from(["ann", "bob", None]),
    tokens=st.integers(0, 12),
)


@given(spent=st.lists(_SPENT, max_size=30), later=st.integers(0, 50), budgets=st.permutations(BUDGETS))
def test_it_says_what_the_arithmetic_says(spent: list[Spent], later: int, budgets: list[Budget]) -> None:
    """Of records in any order, each told at any time; here all times are at the edges of slots."""
    meter = UsageMeter(budgets)
    for number, one in enumerate(spent):
        record = usage(str(number), one.tokens, one.at, tenant=one.tenant, user_id=one.user)
        meter.take(record, NOW)
    # A slot counts until it is out of the window as a whole: just before its end all that is in it does.
    now = NOW + later
    for tenant in ("acme", "other"):
        for user in ("ann", "bob", None):
            asked = turn(tenant=tenant, user=user)
            strict = exhausted(
                budgets, spent, tenant=tenant, user=user, now=now - max(b.per_s for b in budgets) / SLOTS
            )
            exact = exhausted(budgets, spent, tenant=tenant, user=user, now=now)
            affords = meter.afford(asked, now)
            assert affords is (exact is None) or (not affords and strict is not None)


def test_the_memory_of_a_sum_does_not_grow_with_what_is_spent() -> None:
    """Nor does its cost: records close to each other share a slot."""
    total = SlidingSum(HOUR)
    for number in range(20_000):
        total.add(NOW + number * 0.36, 1)
    assert len(total) <= 2 * SLOTS + 1
    assert total.at(NOW + 20_000 * 0.36) == pytest.approx(HOUR / 0.36, abs=11)
    assert len(total) <= SLOTS + 1


def test_those_who_fell_silent_are_forgotten() -> None:
    """Not only when they ask again, which they may never do."""
    meter = UsageMeter([Budget("user", 5, 100.0)], recent_s=100.0)
    for number in range(50):
        meter.take(usage(str(number), user_id=f"user-{number}"), NOW)
    assert meter.kept == 100
    meter.take(usage("last", at=NOW + 200), NOW + 200)
    assert meter.kept == 2


def test_a_record_that_comes_again_after_very_many_others_counts_twice() -> None:
    """That is what bounds what is known of them, and it errs on the strict side."""
    ids = RecentIds(2)
    assert [ids.add(one) for one in ("a", "b", "a", "c", "a", "c")] == [True, True, False, True, True, False]
    meter = UsageMeter([tenants()], max_ids=1)
    for one in ("a", "b", "a"):
        meter.take(usage(one, 40), NOW)
    assert not meter.afford(turn(), NOW)


def test_the_window_of_all_is_the_longest() -> None:
    """So far back a tail has to begin."""
    assert UsageMeter(BUDGETS).window_s == 40.0
    assert UsageMeter(BUDGETS, recent_s=50.0).window_s == 50.0
    assert UsageMeter(recent_s=7.0).window_s == 7.0


# -- turns ------------------------------------------------------------------------------------------------------------


def started(one: Turn, policy: Policy, meter: UsageMeter, now: float = NOW) -> Turn:
    """Let a turn begin, as the desk tells it."""
    (entry,) = machine.decide(one, events.Start(), now, policy)
    after = machine.evolve(one, JournalRecord(one.n, now, -1, entry))
    meter.note(one, after, (), now)
    return after


def key(turn_id: str) -> TurnKey:
    """Return the key of a turn."""
    return TurnKey("acme", "h", turn_id)


def test_a_turn_is_counted_once_whatever_it_spends() -> None:
    """It is as old as the last that was heard of it; what its processors spend makes no turn."""
    meter = UsageMeter(recent_s=HOUR)
    meter.take(usage("a", id="a/1", at=NOW - 5), NOW)
    meter.take(usage("a", id="a/0", at=NOW - 9), NOW)
    meter.take(usage("b", id="b/0/guard/2", processor="guard"), NOW)
    assert meter.recent(turn()) == {key("a"): NOW - 5}


def test_turns_are_those_of_the_user_and_tenant() -> None:
    """Who does not say who they are share a name, and no turn counts against itself."""
    meter = UsageMeter(recent_s=HOUR)
    for number, user in enumerate(["ann", "bob", None]):
        meter.take(usage(str(number), user_id=user), NOW)
    assert set(meter.recent(turn(user="ann"))) == {key("0")}
    assert set(meter.recent(turn(user=None))) == {key("2")}
    assert meter.recent(turn(tenant="other")) == {}
    assert meter.recent(turn("0")) == {}


def test_a_turn_of_this_worker_is_seen_from_its_beginning() -> None:
    """So that many at once do not all see none."""
    meter = UsageMeter(recent_s=HOUR)
    started(turn("a"), Policy(has_pre=True), meter)
    assert meter.recent(turn("b")) == {key("a"): NOW}


def test_a_turn_that_asked_no_model_was_none() -> None:
    """Else who is turned away for asking too often would never be let in again."""
    meter = UsageMeter(recent_s=HOUR)
    policy = Policy(has_pre=True)
    one = started(turn("a"), policy, meter)
    (entry,) = machine.decide(one, events.Cancel(), NOW, policy)
    meter.note(one, machine.evolve(one, JournalRecord(one.n, NOW, -1, entry)), (), NOW)
    assert meter.recent(turn("b")) == {}


def test_a_turn_that_ends_after_its_model_was_asked_stays_one() -> None:
    """Whatever became of it."""
    meter = UsageMeter(recent_s=HOUR)
    one = started(turn("a"), Policy(), meter)
    (entry,) = machine.decide(one, events.Cancel(), NOW, Policy())
    meter.note(one, machine.evolve(one, JournalRecord(one.n, NOW, -1, entry)), (), NOW)
    assert set(meter.recent(turn("b"))) == {key("a")}


def test_only_the_newest_turns_of_a_user_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that is larger could not be kept, and none can be declared."""
    monkeypatch.setattr(meters, "MAX_RECENT", 3)
    meter = UsageMeter(recent_s=HOUR)
    for number in (3, 0, 4, 1, 2):
        meter.take(usage(str(number), at=NOW - 10 + number), NOW)
    assert set(meter.recent(turn())) == {key("2"), key("3"), key("4")}


def test_who_asks_for_no_turns_keeps_none() -> None:
    """They cost memory."""
    meter = UsageMeter([tenants()])
    meter.take(usage("a"), NOW)
    started(turn("b"), Policy(), meter)
    assert not meter.counts_turns
    assert meter.recent(turn()) == {}
    assert meter.kept == 1
