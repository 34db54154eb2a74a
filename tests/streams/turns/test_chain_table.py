"""Which chains turns run through: pinned at their start, kept while they are open, replaced where they are gone."""

from __future__ import annotations

from typing import Any

from processors.outcomes import Approved
from streams.gate import entries, events
from streams.gate.policy import Policy
from streams.gate.work import RunOutput
from streams.turns.chain_table import ChainTable, TurnChains
from streams.turns.desk import Desk
from streams.turns.desk_settings import DeskSettings
from streams.turns.inputs import News
from tests.streams.at_once import at_once
from tests.streams.turns.desks import (
    NOW,
    PARTITION,
    PARTITIONS,
    Journal,
    checkpoints,
    confirm,
    entries_of,
    frame_source,
    key,
    published,
    source,
)
from tests.streams.turns.simulation import turn
from topics import names
from topics.records import CompletedFrame


def chains(pin: str, **policy: Any) -> TurnChains:
    """Return chains that judge whole answers."""
    return TurnChains(Policy(mode="whole", pin=pin, chain=(f"output/judge@{pin}",), **policy), None)


OLD, NEW = chains("old"), chains("new", has_input=True, has_post=True)


def a_desk(table: ChainTable) -> Desk:
    """Return a desk of these chains."""
    return Desk(PARTITION, table, DeskSettings(partitions=PARTITIONS))


def test_a_turn_keeps_what_it_began_with() -> None:
    """One that begins later gets the new chains."""
    table = ChainTable(OLD)
    desk = a_desk(table)
    desk.take([source(turn())], NOW)
    table.begin_with(NEW, {})
    desk.take([source(turn("second", thread_id="h"), 1)], NOW)
    assert table.of(desk.turns[key()]) is OLD
    assert desk.turns[key()].started.pin == "old"
    desk.take([frame_source(0, text="hi", finish_reason="stop")], NOW)
    assert desk.work(key()) == RunOutput(0, 0, 2, final=True)
    passed = desk.take([News(key(), events.PassDone(0, 0, 2, True, Approved("hi")))], NOW)
    assert published(passed)[-1] == "completed"
    later = desk.take(confirm(desk, passed), NOW)
    assert ("second", "started") in checkpoints(later)
    assert desk.turns[key("second")].started.pin == "new"


def test_chains_are_forgotten_when_no_turn_has_pinned_them() -> None:
    """Those that turns begin with, a tenant's among them, never are."""
    table, theirs = ChainTable(OLD), chains("theirs")
    table.begin_with(NEW, {"acme": theirs})
    assert list(table.forget_all_but({"old"})) == []
    assert list(table.forget_all_but(())) == [OLD]
    assert table.begun_with == (NEW, theirs)


def test_a_tenant_begins_with_its_own() -> None:
    """Others do not."""
    table, theirs = ChainTable(OLD), chains("theirs")
    table.begin_with(OLD, {"default": theirs})
    desk = a_desk(table)
    desk.take([source(turn())], NOW)
    assert desk.turns[key()].started.pin == "theirs"


def test_a_turn_whose_chains_are_gone_goes_on_with_those_that_are_there_and_says_so() -> None:
    """From the first record that its new owner writes; nothing is run for it before."""
    journal, before = Journal(), a_desk(ChainTable(OLD))
    journal.note(before.take([source(turn())], NOW))
    journal.note(before.take([frame_source(0, text="hi")], NOW))
    after = a_desk(ChainTable(NEW))
    at_once(after.restore(journal.by_turn()))
    assert after.startable() == [News(key(), events.Rechain())]
    assert after.work(key()) is None
    (changed,) = entries_of(journal.note(after.take(after.startable(), NOW)))
    assert changed == entries.Rechained(pin="new", chain=("output/judge@new",), input=True, post=True)
    assert after.turns[key()].started.pin == "new"
    assert after.startable() == []
    journal.note(after.take([frame_source(1, text="!", finish_reason="stop")], NOW))
    settled = after.take([News(key(), events.PassDone(0, 0, 3, True, Approved("hi!")))], NOW)
    journal.note(settled)
    assert "completed" not in published(settled), "the new chains have a post-processor"
    again = a_desk(ChainTable(NEW))
    at_once(again.restore(journal.by_turn()))
    assert again.startable() == []
    late = again.take([News(key(), events.Tick())], NOW + 100)
    (end,) = [one.record for out in late.outgoing for one in out.effects if one.topic is names.RELEASED_FRAMES]
    assert isinstance(end, CompletedFrame)
    assert (end.chain_changed, end.length) == (True, 3)


def test_a_turn_that_waits_for_its_thread_has_pinned_nothing() -> None:
    """It begins with whatever is there when its time comes."""
    journal, before = Journal(), a_desk(ChainTable(OLD))
    journal.note(before.take([source(turn()), source(turn("second"), 1)], NOW))
    after = a_desk(ChainTable(NEW))
    at_once(after.restore(journal.by_turn()))
    assert after.startable() == [News(key(), events.Rechain())]
