"""The desk: what follows from a batch of inputs, for all turns of a partition."""

from __future__ import annotations

from typing import Any

import pytest

from processors import LastMessages
from processors.outcomes import Approved, Proceeded, Refused
from streams.gate import entries, events
from streams.gate.policy import Policy
from streams.gate.records import JournalError
from streams.gate.state import Phase
from streams.gate.work import RunOutput, RunPre
from streams.journal.replay import Rows
from streams.turns.desk import Desk
from streams.turns.inputs import News
from streams.turns.threads import ThreadSettings
from tests.streams.at_once import at_once
from tests.streams.turns.desks import (
    NOW,
    PARTITION,
    Journal,
    a_desk,
    checkpoints,
    confirm,
    entries_of,
    frame_source,
    key,
    published,
    source,
)
from tests.streams.turns.simulation import cancel, turn
from topics import codec, names
from topics.content import TextPart, ToolDefinition
from topics.records import FailedFrame, ToolResult

FINISH = {"finish_reason": "stop"}
WORDS = "a very private sentence"


# -- accepting ----------------------------------------------------------------------------------------------------------


def test_a_request_is_accepted_and_started_and_its_prompt_goes_out() -> None:
    """Both records are in one plan; the prompt is the effect of the second."""
    plan = a_desk().take([source(turn(), offset=9)], NOW)
    assert checkpoints(plan) == [("t", "accepted"), ("t", "started")]
    assert published(plan) == ["prompts"]
    (accepted, _) = entries_of(plan)
    assert (accepted.order, accepted.partition, accepted.deadline_at) == (9, PARTITION, NOW + 600)
    assert list(plan.touched) == [key()]


def test_an_open_turn_that_is_submitted_again_changes_nothing() -> None:
    """Neither in the same batch nor later."""
    desk = a_desk()
    plan = desk.take([source(turn(), 0), source(turn(message="other words"), 1)], NOW)
    assert len(plan.journal) == 2
    again = desk.take([source(turn(), 2)], NOW)
    assert (again.journal, again.refused, again.repeats) == ([], [], [])


def test_a_closed_turn_that_is_submitted_again_has_its_terminal_frame_repeated() -> None:
    """The desk still knows where on `released` that frame is."""
    desk = a_desk()
    desk.take([source(turn())], NOW)
    ended = desk.take([source(cancel(), 1)], NOW)
    desk.take(confirm(desk, ended, offset=77), NOW + 1)
    plan = desk.take([source(turn(), 2)], NOW + 2)
    assert plan.journal == []
    ((repeated, done),) = plan.repeats
    assert (repeated, done.outcome, done.partition, done.offset) == (key(), "cancelled", PARTITION, 77)


def test_a_request_in_the_wrong_partition_is_refused_and_names_the_right_one() -> None:
    """Its thread's other records would be elsewhere; nothing is journaled for it."""
    plan = a_desk().take([source(turn(), partition=PARTITION + 1)], NOW)
    (refused,) = plan.refused
    assert refused.error == "WrongPartitionError"
    assert f"partition {PARTITION}" in refused.reason
    assert refused.turn == key()
    assert plan.journal == []


def test_a_cancel_in_the_wrong_partition_is_refused_too() -> None:
    """It could not find its turn here."""
    plan = a_desk().take([source(cancel(), partition=PARTITION + 1)], NOW)
    assert [refused.error for refused in plan.refused] == ["WrongPartitionError"]


# -- what cannot be taken ------------------------------------------------------------------------------------------------


def test_a_thread_takes_no_more_than_its_share_of_the_workers_room() -> None:
    """A turn beyond it ends at once, visibly; when some have ended there is room again."""
    desk = a_desk(max_thread_turns=2)
    desk.take([source(turn("a")), source(turn("b"), 1)], NOW)
    assert published(desk.take([source(turn("c"), 2)], NOW)) == ["failed"]
    for name in "bc":
        desk.take(confirm(desk, desk.take([source(cancel(name), 3)], NOW)), NOW)
    desk.take([News(key("c"), events.Published(9, 100))], NOW)
    assert published(desk.take([source(turn("d"), 4)], NOW)) == []


def test_a_turn_submitted_again_between_its_end_and_its_closing_is_repeated_once_it_is_closed() -> None:
    """Its end is on its way, and this caller may have come too late to see it."""
    desk = a_desk()
    desk.take([source(turn())], NOW)
    ending = desk.take([source(cancel(), 1)], NOW)
    again = desk.take([source(turn(), 2), source(turn(), 3)], NOW)
    assert (again.journal, again.repeats) == ([], [])
    closing = desk.take(confirm(desk, ending), NOW)
    assert [(repeated, done.offset) for repeated, done in closing.repeats] == [(key(), 100)]


def test_an_unreadable_request_with_ids_fails_its_turn_visibly_and_once() -> None:
    """A dead letter for the operator, a `failed` frame for the reader; the same record again is only a dead letter."""
    desk = a_desk()
    raw = b'{"thread_id": "h", "turn_id": "t", "message": 5, "agent": "' + WORDS.encode() + b'"}'
    plan = desk.take([source(raw)], NOW)
    assert checkpoints(plan) == [("t", "accepted"), ("t", "failed")]
    assert published(plan) == ["failed"]
    assert [refused.error for refused in plan.refused] == ["MalformedRecordError"]
    again = desk.take([source(raw)], NOW)
    assert again.journal == []
    assert len(again.refused) == 1


@pytest.mark.parametrize(
    "raw", [None, b"\xff\xfe", b"[]", b"not json", b'{"thread_id": "h"}', b'{"turn_id": "a/b", "thread_id": "h"}']
)
def test_an_unreadable_request_without_credible_ids_is_a_dead_letter_only(raw: bytes | None) -> None:
    """There is no turn to fail."""
    plan = a_desk().take([source(raw)], NOW)
    assert plan.journal == []
    assert len(plan.refused) == 1


def test_an_unreadable_request_fails_no_turn_of_another_partition() -> None:
    """Whoever owns that partition may know the turn."""
    plan = a_desk().take([source(b'{"thread_id": "h", "turn_id": "t"}', partition=PARTITION + 1)], NOW)
    assert plan.journal == []
    assert len(plan.refused) == 1


def test_an_unreadable_copy_of_an_open_turns_request_leaves_the_turn_alone() -> None:
    """The turn was accepted from a good one."""
    desk = a_desk()
    desk.take([source(turn())], NOW)
    plan = desk.take([source(b'{"thread_id": "h", "turn_id": "t"}', 1)], NOW)
    assert plan.journal == []
    assert desk.turns[key()].phase is Phase.MODEL


def test_an_oversized_request_is_refused_before_it_is_read() -> None:
    """The reason gives both sizes; its turn fails if it says which."""
    desk = a_desk(max_request_bytes=300)
    plan = desk.take([source(turn(message="x" * 300))], NOW)
    assert [refused.error for refused in plan.refused] == ["RecordTooLargeError"]
    assert "at most 300" in plan.refused[0].reason
    assert published(plan) == ["failed"]


def test_a_user_that_no_tool_call_could_carry_is_refused() -> None:
    """It goes along with each call, the arguments of which may be long, too."""
    policy = Policy(default_persona=entries.Persona(tools=(ToolDefinition(name="write"),), max_steps=2))
    desk = a_desk(policy)
    plan = desk.take([source(turn(user={"id": "ann", "portrait": "x" * 524_288}))], NOW)
    assert [(one.error, published(plan)) for one in plan.refused] == [("RecordTooLargeError", ["failed"])]
    desk.take([source(turn("u", "h", user={"id": "ann", "portrait": "x" * 524_000}))], NOW)
    desk.take(confirm(desk, plan), NOW)
    delta = {"id": "c", "name": "write", "arguments": "y" * (policy.max_tool_call_bytes - 100)}
    plan = desk.take([frame_source(0, "u", tool_call_delta=delta, finish_reason="tool_calls")], NOW)
    (call,) = [effect.record for out in plan.outgoing for effect in out.effects if effect.topic is names.TOOL_CALLS]
    assert len(codec.encode(call)) < 1_000_000


def test_a_request_past_the_idempotency_window_is_refused_visibly() -> None:
    """Whether its turn was answered long ago is not known any more; within the window it is taken."""
    desk = a_desk(idempotency_window_s=100)
    plan = desk.take([source(turn("old"), 0, written_at=NOW - 101), source(turn("new"), 1, written_at=NOW - 99)], NOW)
    assert [refused.error for refused in plan.refused] == ["ExpiredRequestError"]
    assert checkpoints(plan) == [("old", "accepted"), ("old", "failed"), ("new", "accepted")]


def test_an_old_request_of_a_known_turn_leaves_it_alone() -> None:
    """Open or closed: it is a dead letter, and no second ending."""
    desk = a_desk(idempotency_window_s=100)
    desk.take([source(turn("a"), 0), source(turn("b"), 1)], NOW)
    desk.take(confirm(desk, desk.take([source(cancel("b"), 2)], NOW)), NOW)
    again = [source(turn(name), offset, written_at=NOW - 101) for offset, name in enumerate(("a", "b"), 3)]
    plan = desk.take(again, NOW)
    assert (plan.journal, plan.repeats) == ([], [])
    assert [refused.error for refused in plan.refused] == ["ExpiredRequestError"] * 2


def test_an_old_cancel_makes_no_turn() -> None:
    """It ends an open turn at any age, and says nothing about an unknown one."""
    desk = a_desk(idempotency_window_s=100)
    plan = desk.take([source(cancel("gone"), 0, written_at=NOW - 101)], NOW)
    assert (plan.journal, plan.refused) == ([], [])
    desk.take([source(turn(), 1)], NOW)
    assert published(desk.take([source(cancel(), 2, written_at=NOW - 101)], NOW))[-1] == "cancelled"


def test_no_reason_quotes_what_was_refused() -> None:
    """Reasons are logged, dead-lettered and shown to readers."""
    desk = a_desk(max_frame_bytes=400)
    desk.take([source(turn())], NOW)
    words = WORDS.encode()
    bad = [
        source(b'{"thread_id": "h", "turn_id": "u", "message": {"x": "' + words + b'"}}', 1),
        source(b'{"v": "' + words + b'", "thread_id": "h", "turn_id": "u"}', 2),
        source(b'"' + words + b'"', 3),
        source(words, 4),
        source(turn("w", "elsewhere", message=WORDS), 5),
        source(b'{"thread_id": "h", "turn_id": "t", "seq": "' + words + b'"}', topic=names.FRAMES),
        frame_source(0, "nobody", text=WORDS),
        frame_source(0, text=WORDS * 30),
    ]
    plan = desk.take(bad, NOW)
    assert len(plan.refused) == len(bad)
    for refused in plan.refused:
        assert WORDS not in refused.reason
        assert WORDS not in repr(refused.error)
    for out in plan.outgoing:
        for effect in out.effects:
            assert words not in codec.encode(effect.record)


# -- frames -------------------------------------------------------------------------------------------------------------


def test_all_frames_of_a_turn_in_a_batch_are_one_record_and_one_release() -> None:
    """Also when something else stands between them."""
    desk = a_desk()
    desk.take([source(turn("a"))], NOW)
    batch = [frame_source(0, "a", text="one "), source(cancel("nobody"), 2), frame_source(1, "a", text="two")]
    plan = desk.take(batch, NOW)
    assert checkpoints(plan) == [("a", "llm:0")]
    assert entries_of(plan, "a")[0].text == "one two"
    assert published(plan) == ["text"]


def test_a_repeated_frame_is_dropped_and_counted() -> None:
    """Delivered again or sent again: it changes nothing."""
    desk = a_desk()
    desk.take([source(turn())], NOW)
    desk.take([frame_source(0, text="one")], NOW)
    plan = desk.take([frame_source(0, text="one"), frame_source(0, text="one")], NOW)
    assert (plan.journal, plan.dropped, plan.refused) == ([], 2, [])


def test_a_frame_of_an_unknown_turn_is_refused() -> None:
    """Somebody writes to the wrong partition, or invents ids."""
    plan = a_desk().take([frame_source(0)], NOW)
    assert [(refused.error, refused.turn) for refused in plan.refused] == [("UnknownTurnError", key())]


def test_a_late_frame_of_a_closed_turn_is_dropped() -> None:
    """A call that is cancelled may still say something."""
    desk = a_desk()
    desk.take([source(turn())], NOW)
    desk.take(confirm(desk, desk.take([source(cancel(), 1)], NOW)), NOW)
    assert desk.turns == {}
    plan = desk.take([frame_source(0, text="late")], NOW)
    assert (plan.dropped, plan.refused, plan.journal) == (1, [], [])


def test_an_unreadable_frame_fails_the_open_turn_it_names() -> None:
    """Its answer can never be whole."""
    desk = a_desk()
    desk.take([source(turn())], NOW)
    plan = desk.take([source(b'{"thread_id": "h", "turn_id": "t", "seq": "x"}', topic=names.FRAMES)], NOW)
    assert [refused.error for refused in plan.refused] == ["MalformedRecordError"]
    assert published(plan) == ["cancels", "usage", "failed"]


def test_an_oversized_frame_fails_its_turn() -> None:
    """It would not fit into the journal."""
    desk = a_desk(max_frame_bytes=200)
    desk.take([source(turn())], NOW)
    plan = desk.take([frame_source(0, text="x" * 300)], NOW)
    assert [refused.error for refused in plan.refused] == ["RecordTooLargeError"]
    assert published(plan)[-1] == "failed"


# -- threads ------------------------------------------------------------------------------------------------------------


def test_turns_of_a_thread_run_one_at_a_time_in_request_order() -> None:
    """The next one starts when the one before it is closed, in the very same plan."""
    desk = a_desk()
    plan = desk.take([source(turn("a"), 0), source(turn("b"), 1), source(turn("c"), 2)], NOW)
    assert checkpoints(plan) == [("a", "accepted"), ("a", "started"), ("b", "accepted"), ("c", "accepted")]
    ended = desk.take([frame_source(0, "a", **FINISH)], NOW)
    assert checkpoints(ended) == [("a", "llm:0")], "a decided outcome does not free the thread: its frame is not out"
    closed = desk.take(confirm(desk, ended), NOW)
    assert checkpoints(closed) == [("a", "closed"), ("b", "started")]
    assert desk.turns[key("c")].phase is Phase.QUEUED


def test_turns_of_different_threads_do_not_wait_for_each_other() -> None:
    """Only a thread is in order."""
    other = next(f"h{n}" for n in range(100) if key("b", f"h{n}").thread.partition(4) == PARTITION)
    plan = a_desk().take([source(turn("a"), 0), source(turn("b", other), 1)], NOW)
    assert checkpoints(plan) == [("a", "accepted"), ("a", "started"), ("b", "accepted"), ("b", "started")]


def test_a_queued_turn_that_is_cancelled_leaves_the_running_one_alone() -> None:
    """It ends without ever having started; the next in line is not started early."""
    desk = a_desk()
    desk.take([source(turn("a"), 0), source(turn("b"), 1), source(turn("c"), 2)], NOW)
    ended = desk.take([source(cancel("b"), 3)], NOW)
    assert published(ended) == ["cancelled"]
    closed = desk.take(confirm(desk, ended), NOW)
    assert checkpoints(closed) == [("b", "closed")]
    assert (desk.turns[key("a")].phase, desk.turns[key("c")].phase) == (Phase.MODEL, Phase.QUEUED)


def test_a_busy_thread_may_reject() -> None:
    """The newcomer fails and says what to do; the running turn goes on."""
    desk = a_desk(on_busy="reject")
    desk.take([source(turn("a"), 0)], NOW)
    plan = desk.take([source(turn("b"), 1)], NOW)
    assert checkpoints(plan) == [("b", "accepted"), ("b", "failed")]
    failed = plan.outgoing[-1].effects[-1].record
    assert isinstance(failed, FailedFrame)
    assert failed.error == "InvalidRequestError"
    assert desk.turns[key("a")].phase is Phase.MODEL


def test_a_thread_whose_turn_has_its_outcome_is_not_busy() -> None:
    """A caller that has just read the terminal frame may be quicker than the journal's `closed`."""
    desk = a_desk(on_busy="reject")
    desk.take([source(turn("a"), 0)], NOW)
    ended = desk.take([frame_source(0, "a", **FINISH)], NOW)
    plan = desk.take([source(turn("b"), 1)], NOW)
    assert checkpoints(plan) == [("b", "accepted")]
    assert checkpoints(desk.take(confirm(desk, ended), NOW)) == [("a", "closed"), ("b", "started")]


def test_a_busy_thread_may_cancel_what_came_before() -> None:
    """Running and queued turns end before the newcomer is accepted, so that a crash in between loses nobody."""
    journal = Journal()
    journal.note(a_desk(on_busy="queue").take([source(turn("a"), 0), source(turn("b"), 1)], NOW))
    newest = a_desk(on_busy="cancel_previous")
    at_once(newest.restore(journal.by_turn()))
    plan = newest.take([source(turn("c"), 2)], NOW)
    assert checkpoints(plan) == [("a", "cancelled"), ("b", "cancelled"), ("c", "accepted")]
    closed = newest.take(confirm(newest, plan), NOW)
    assert checkpoints(closed) == [("a", "closed"), ("b", "closed"), ("c", "started")]


# -- recovery -----------------------------------------------------------------------------------------------------------


def test_a_desk_restored_from_any_prefix_of_its_journal_knows_as_much() -> None:
    """States, thread order and what is owed follow from the records alone."""
    journal, desk = Journal(), a_desk()
    journal.note(desk.take([source(turn("a"), 0), source(turn("b"), 1)], NOW))
    journal.note(desk.take([frame_source(0, "a", text="one")], NOW))
    states = dict(desk.turns)
    restored = a_desk()
    plan = at_once(restored.restore(journal.by_turn()))
    assert restored.turns == states
    assert published(plan) == ["prompts", "text"], "nothing is known to be confirmed, so all of it is owed"
    assert list(plan.touched) == [key("a"), key("b")]
    assert restored.startable() == []
    earlier = a_desk()
    at_once(earlier.restore(journal.by_turn(1)))
    assert earlier.startable() == [News(key("a"), events.Start())]


def test_only_what_is_not_known_to_be_confirmed_is_owed() -> None:
    """Each record names the last one whose effects were confirmed when it was written."""
    journal, desk = Journal(), a_desk()
    started = journal.note(desk.take([source(turn())], NOW))
    confirm(desk, started)
    journal.note(desk.take([frame_source(0, text="one")], NOW))
    journal.note(desk.take([frame_source(1, text=" two")], NOW))
    restored = a_desk()
    plan = at_once(restored.restore(journal.by_turn()))
    assert [(out.n, [effect.topic.name for effect in out.effects]) for out in plan.outgoing] == [
        (2, ["released"]),
        (3, ["released"]),
    ]
    after = restored.take([frame_source(2, text=" three")], NOW)
    assert after.journal[0][1].confirmed == 1, "what was owed is not taken for confirmed before it is"


def test_closed_turns_are_restored_as_closed_from_their_last_record_alone() -> None:
    """All that is left of them says where their terminal frame is."""
    journal, desk = Journal(), a_desk()
    journal.note(desk.take([source(turn())], NOW))
    ended = journal.note(desk.take([source(cancel(), 1)], NOW))
    journal.note(desk.take(confirm(desk, ended, offset=42), NOW + 5))
    last = {turn_key: records[-1:] for turn_key, records in journal.by_turn().items()}
    restored = a_desk()
    plan = at_once(restored.restore(last))
    assert restored.turns == {}
    assert (restored.done[key()].offset, restored.done[key()].at) == (42, NOW + 5)
    assert (plan.outgoing, plan.closed) == ([], [key()])


def test_a_thread_with_a_closed_turn_goes_on_with_the_next_after_recovery() -> None:
    """The crash came right after `closed`, before the next turn was started."""
    journal, desk = Journal(), a_desk()
    journal.note(desk.take([source(turn("a"), 0), source(turn("b"), 1)], NOW))
    ended = journal.note(desk.take([source(cancel("a"), 2)], NOW))
    plan = journal.note(desk.take(confirm(desk, ended), NOW))
    assert checkpoints(plan) == [("a", "closed"), ("b", "started")]
    restored = a_desk()
    at_once(restored.restore(journal.by_turn(len(journal.records) - 1)))
    assert restored.startable() == [News(key("b"), events.Start())]


def test_a_rejected_newcomer_is_rejected_after_a_crash_between_its_two_records() -> None:
    """It must not become a turn that is merely queued."""
    journal, desk = Journal(), a_desk(on_busy="reject")
    journal.note(desk.take([source(turn("a"), 0)], NOW))
    journal.note(desk.take([source(turn("b"), 1)], NOW))
    restored = a_desk(on_busy="reject")
    at_once(restored.restore(journal.by_turn(len(journal.records) - 1)))
    plan = restored.take(restored.startable(), NOW)
    assert checkpoints(plan) == [("b", "failed")]


def test_an_unreadable_request_fails_after_a_crash_between_its_two_records() -> None:
    """At once, though its thread is busy, as it would have without the crash."""
    journal, desk = Journal(), a_desk()
    journal.note(desk.take([source(turn("a"), 0)], NOW))
    journal.note(desk.take([source(b'{"thread_id": "h", "turn_id": "b"}', 1)], NOW))
    restored = a_desk()
    at_once(restored.restore(journal.by_turn(len(journal.records) - 1)))
    plan = restored.take(restored.startable(), NOW)
    assert checkpoints(plan) == [("b", "failed")]


def test_a_journal_with_a_gap_stops_the_worker() -> None:
    """Going on would skip what the missing record says; the message quotes nothing."""
    journal, desk = Journal(), a_desk()
    journal.note(desk.take([source(turn(message=WORDS))], NOW))
    journal.note(desk.take([frame_source(0, text=WORDS)], NOW))
    records = dict(journal.by_turn())
    del records[key()][1]
    with pytest.raises(JournalError, match=f"partition {PARTITION}") as caught:
        at_once(a_desk().restore(records))
    assert WORDS not in str(caught.value)


# -- time ---------------------------------------------------------------------------------------------------------------


def test_overdue_turns_get_a_tick_and_end() -> None:
    """A silent model ends the turn after the idle limit, not before."""
    desk = a_desk(Policy(idle_timeout_s=10))
    desk.take([source(turn())], NOW)
    assert desk.overdue(NOW + 9, 0.0) == []
    ticks = desk.overdue(NOW + 10, 0.0)
    assert [news.turn for news in ticks] == [key()]
    plan = desk.take(ticks, NOW + 10)
    assert published(plan) == ["cancels", "usage", "failed"]
    assert desk.overdue(NOW + 1000, 0.0) == [], "a turn whose outcome is decided is not overdue"


def test_silence_counts_from_when_somebody_listened() -> None:
    """An outage of the worker proves nothing about the model: what it wrote meanwhile is still to be read."""
    desk = a_desk(Policy(idle_timeout_s=10, turn_timeout_s=1000))
    desk.take([source(turn())], NOW)
    assert desk.overdue(NOW + 50, NOW + 45) == []
    (tick,) = desk.overdue(NOW + 55, NOW + 45)
    assert published(desk.take([tick], NOW + 55)) == ["cancels", "usage", "failed"]


def test_a_deadline_is_absolute_whoever_listened() -> None:
    """It was promised to the caller in seconds from the turn's acceptance."""
    desk = a_desk(Policy(idle_timeout_s=10, turn_timeout_s=100))
    desk.take([source(turn())], NOW)
    assert len(desk.overdue(NOW + 100, NOW + 99)) == 1


def test_a_request_that_grows_when_it_is_journaled_is_refused() -> None:
    """Five bytes of a number can come back as eighteen; the worker must say no, and not die of its own record."""
    desk = a_desk()
    raw = b'{"thread_id":"h","turn_id":"t","message":"hi","attributes":{"x":[' + b",".join([b"1e15"] * 140_000) + b"]}}"
    plan = desk.take([source(raw)], NOW)
    assert [one.error for one in plan.refused] == ["RecordTooLargeError"]
    assert published(plan) == ["failed"]
    assert all(len(record.encode()) < 900_000 for _, record in plan.journal)


def test_a_frame_that_grows_when_it_is_journaled_fails_its_turn() -> None:
    """An early frame is journaled as it is; where it does not fit, the turn ends, and not the worker."""
    desk = a_desk(Policy(max_entry_bytes=2_000))
    desk.take([source(turn())], NOW)
    early = b'{"thread_id":"h","turn_id":"t","seq":5,"text":"' + b"x" * 3_000 + b'"}'
    plan = desk.take([source(early, 1, topic=names.FRAMES)], NOW)
    assert published(plan)[-1] == "failed"
    assert all(len(record.encode()) < 2_100 for _, record in plan.journal)


def test_a_cancel_that_cannot_be_read_begins_no_turn() -> None:
    """It would be a failed turn, and the request that comes after it would only get that failure."""
    desk = a_desk()
    plan = desk.take([source(b'{"type":"cancel","v":2,"thread_id":"h","turn_id":"t"}')], NOW)
    assert [one.error for one in plan.refused] == ["UnsupportedVersionError"]
    assert desk.turns == {}


def test_closed_turns_expire_an_hour_after_the_idempotency_window() -> None:
    """Until then a late duplicate is answered; then their last record can go."""
    desk = a_desk(idempotency_window_s=100)
    desk.take([source(turn())], NOW)
    desk.take(confirm(desk, desk.take([source(cancel(), 1)], NOW)), NOW)
    assert desk.expired(NOW + 3700) == []
    assert desk.expired(NOW + 3701) == [str(key())]
    assert desk.expired(NOW + 3701) == []
    assert desk.done == {}


# -- work and limits ----------------------------------------------------------------------------------------------------


def test_work_is_what_the_turn_waits_for() -> None:
    """Nothing for unknown turns."""
    desk = a_desk(Policy(has_pre=True, mode="whole"))
    desk.take([source(turn())], NOW)
    assert desk.work(key()) == RunPre()
    desk.take([News(key(), events.PreDone(Proceeded((TextPart(text="hi"),))))], NOW)
    assert desk.work(key()) is None
    desk.take([frame_source(0, text="one", **FINISH)], NOW)
    assert desk.work(key()) == RunOutput(0, 0, 3, final=True)
    assert desk.work(key("nobody")) is None


@pytest.mark.parametrize("char", ["x", "\u4e2d"], ids=["ascii", "three bytes"])
def test_what_a_processor_made_must_fit_into_a_record(char: str) -> None:
    """The limit counts bytes, whatever the script; the turn fails, and the worker lives."""
    desk = a_desk(Policy(has_pre=True, max_entry_bytes=1000, max_prompt_bytes=10_000))
    desk.take([source(turn())], NOW)
    long = (TextPart(text=char * (1200 // len(char.encode()))),)
    plan = desk.take([News(key(), events.PreDone(Proceeded(long)))], NOW)
    (entry,) = entries_of(plan)
    assert isinstance(entry, entries.Failed)
    assert entry.error == "ProcessorFailedError"


def test_an_endless_reason_for_an_early_rejection_does_not_reach_the_broker() -> None:
    """It rides a record that is otherwise bounded where it is taken in."""
    desk = a_desk(Policy(mode="incremental", max_entry_bytes=1000))
    desk.take([source(turn())], NOW)
    desk.take([frame_source(0, text="one")], NOW)
    outcome = Refused("chatty", "because " * 1000)
    plan = desk.take([News(key(), events.PassDone(0, 0, 3, final=False, outcome=outcome))], NOW)
    (entry,) = entries_of(plan)
    assert isinstance(entry, entries.Failed)


def test_news_of_turns_that_are_gone_changes_nothing() -> None:
    """A chain may come to its end after its turn did."""
    plan = a_desk().take([News(key(), events.PassDone(0, 0, 3, final=False, outcome=Approved("one")))], NOW)
    assert (plan.journal, plan.outgoing, list(plan.touched)) == ([], [], [])


def test_what_follows_an_entry_that_does_not_fit_is_dropped_with_it() -> None:
    """The failure that takes its place is the turn's end: nothing begins another step after it."""
    persona = entries.Persona(tools=(ToolDefinition(name="look_up"),), timeouts={"look_up": 5.0}, max_steps=3)
    desk = a_desk(Policy(default_persona=persona, max_entry_bytes=1_000))
    desk.take([source(turn())], NOW)
    deltas = [{"index": index, "id": f"c{index}", "name": "look_up"} for index in range(2)]
    frames = [frame_source(seq, tool_call_delta=delta) for seq, delta in enumerate(deltas)]
    desk.take([*frames, frame_source(2, finish_reason="tool_calls")], NOW)
    assert desk.turns[key()].phase is Phase.TOOLS
    results = tuple(
        ToolResult(turn_id="t", thread_id="h", tool_call_id=f"c{index}", content=content)
        for index, content in enumerate(("x" * 2_000, "fine"))
    )
    plan = desk.take([News(key(), events.ToolsAnswered(results))], NOW)
    assert checkpoints(plan) == [("t", "failed")]
    assert published(plan) == ["cancels", "failed"]
    assert desk.turns[key()].phase is Phase.ENDED


def talk(desk: Desk, journal: Journal, name: str, said: str = "yes") -> None:
    """Have a turn of the thread answered, and close it."""
    journal.note(desk.take([source(turn(name))], NOW))
    plan = journal.note(desk.take([frame_source(0, name, text=said, **FINISH)], NOW))
    journal.note(desk.take(confirm(desk, plan), NOW))


def owed(desk: Desk, journal: Journal, **changes: Any) -> list[bytes]:
    """Return what a successor with other settings publishes of the turns that are open."""
    rows: Rows = {row.n: (0, row.value) for row in journal.rows}
    for trim in journal.trims:
        rows = {n: row for n, row in rows.items() if n >= trim.keep_from}
    heir = a_desk(desk.policy, threads=ThreadSettings(**changes))
    plan = at_once(
        heir.restore(
            {turn: records for turn, records in journal.by_turn().items() if turn in desk.turns}, {"default/h": rows}
        )
    )
    return [codec.encode(effect.record) for out in plan.outgoing for effect in out.effects]


@pytest.mark.parametrize(
    "settings",
    [
        {"window": LastMessages(1)},
        {"max_told_bytes": 10},
        {"windows": {"default": LastMessages(3)}},
        {"window": LastMessages(0)},
    ],
    ids=str,
)
def test_a_turn_that_has_begun_tells_its_model_the_same_whatever_is_declared_since(settings: dict[str, Any]) -> None:
    """Its prompt is published again with the same bytes, also if less of a thread rides along from now on."""
    journal = Journal()
    desk = a_desk()
    talk(desk, journal, "a")
    talk(desk, journal, "b", "no")
    plan = journal.note(desk.take([source(turn("c"))], NOW))
    sent = [codec.encode(effect.record) for out in plan.outgoing for effect in out.effects]
    assert b"yes" in sent[0]
    assert owed(desk, journal, **settings) == sent


def test_a_thread_forgets_nothing_that_an_open_turn_was_told() -> None:
    """Not before its end is confirmed: until then its successor may have to say it all again."""
    journal = Journal()
    desk = a_desk(threads=ThreadSettings(max_turns=1))
    talk(desk, journal, "a", "told to b")
    plans = [
        journal.note(desk.take(sources, NOW))
        for sources in ([source(turn("b"))], [frame_source(0, "b", text="fine", **FINISH)])
    ]
    sent = [codec.encode(effect.record) for plan in plans for out in plan.outgoing for effect in out.effects]
    assert b"told to b" in sent[0]
    assert owed(desk, journal, max_turns=1) == sent
    journal.note(desk.take(confirm(desk, plans[-1]), NOW))
    assert [trim.keep_from for trim in journal.trims] == [1]
