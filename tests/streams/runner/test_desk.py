"""The runner's desk: which calls are new, which were interrupted, which are known well enough to be forgotten."""

from __future__ import annotations

import pytest

from streams.journal.replay import Rows
from streams.journal.writer import Row
from streams.runner.desk import FINISHED, STARTED, CallDesk, CallDone
from streams.runner.kind import CallKey
from streams.runner.models import MODEL_CALLS
from streams.runner.tools import TOOL_CALLS
from streams.sources import Source
from tests.streams.at_once import at_once
from tests.streams.runner.simulation import prompt
from topics import codec, names
from topics.content import ToolCall
from topics.ids import TurnKey
from topics.names import Topic
from topics.records import CancelCall, Record, ToolCallRequest

NOW = 1_800_000_000.0
CALL = CallKey(TurnKey("default", "h", "t"), 0, 0)


def source(record: Record | bytes | None, topic: Topic = names.PROMPTS, offset: int = 0) -> Source:
    """Return a source record."""
    value = codec.encode(record) if isinstance(record, Record) else record
    return Source(topic, 0, offset, value, lambda: None)


def rows(*appended: Row, epoch: int = 0) -> dict[str, Rows]:
    """Return rows as a replay gives them."""
    found: dict[str, Rows] = {}
    for row in appended:
        found.setdefault(row.subject, {})[row.n] = (epoch, row.value)
    return found


def test_a_call_key_reads_back() -> None:
    """It is the journal's subject."""
    assert CallKey.parse(str(CALL)) == CALL
    assert CALL.record().turn == CALL.turn
    with pytest.raises(ValueError, match=r".+"):
        CallKey.parse("t")


def test_a_new_prompt_is_journaled_as_started_and_called() -> None:
    """The row comes first in the plan's order; the call is made of the same request."""
    request = prompt("t", ["hi"])
    plan = CallDesk(MODEL_CALLS, keep_s=10).take([source(request)], NOW)
    assert [(row.subject, row.n) for row in plan.rows] == [(str(CALL), STARTED)]
    assert plan.starts == [request]


def test_a_prompt_that_comes_again_is_not_called_again() -> None:
    """In one batch, in the next, after its end, and after a restart."""
    desk = CallDesk(MODEL_CALLS, keep_s=10)
    first = desk.take([source(prompt("t", ["hi"])), source(prompt("t", ["hi"]), offset=1)], NOW)
    assert len(first.starts) == len(first.rows) == 1
    assert desk.take([source(prompt("t", ["hi"]), offset=2)], NOW).starts == []
    ended = desk.take([CallDone(CALL)], NOW)
    assert desk.take([source(prompt("t", ["hi"]), offset=3)], NOW).starts == []
    restored = CallDesk(MODEL_CALLS, keep_s=10)
    assert at_once(restored.restore(rows(*first.rows, *ended.rows))) == []
    assert restored.take([source(prompt("t", ["hi"]), offset=4)], NOW).starts == []


def test_another_attempt_is_another_call() -> None:
    """The turn machine asked for it."""
    desk = CallDesk(MODEL_CALLS, keep_s=10)
    desk.take([source(prompt("t", ["hi"]))], NOW)
    assert len(desk.take([source(prompt("t", ["hi"], attempt=1))], NOW).starts) == 1


def test_calls_that_started_and_never_finished_are_interrupted() -> None:
    """Once their end is journaled they are not reported again."""
    started = CallDesk(MODEL_CALLS, keep_s=10).take([source(prompt("t", ["hi"]))], NOW)
    desk = CallDesk(MODEL_CALLS, keep_s=10)
    assert at_once(desk.restore(rows(*started.rows))) == [CALL]
    finished = desk.finished(CALL, NOW)
    assert finished.n == FINISHED
    assert at_once(CallDesk(MODEL_CALLS, keep_s=10).restore(rows(*started.rows, finished))) == []


def test_a_call_whose_first_row_was_cleared_already_is_over() -> None:
    """Its owner died while it forgot it."""
    desk = CallDesk(MODEL_CALLS, keep_s=10)
    assert at_once(desk.restore(rows(CallDesk(MODEL_CALLS, keep_s=10).finished(CALL, NOW)))) == []
    assert desk.expired(NOW + 11) == [str(CALL)]


def test_calls_are_forgotten_some_time_after_their_end_and_never_while_they_run() -> None:
    """`keep_s` counts from the end, also over a restart."""
    desk = CallDesk(MODEL_CALLS, keep_s=10)
    started = desk.take([source(prompt("t", ["hi"]))], NOW)
    assert desk.expired(NOW + 1000) == []
    ended = desk.take([CallDone(CALL)], NOW + 1000)
    assert desk.expired(NOW + 1010) == []
    restored = CallDesk(MODEL_CALLS, keep_s=10)
    at_once(restored.restore(rows(*started.rows, *ended.rows)))
    for one in (desk, restored):
        assert one.expired(NOW + 1010.5) == [str(CALL)]
        assert one.expired(NOW + 1010.5) == []


CANCEL = CancelCall(turn_id="t", thread_id="h", partition=0)


def test_a_cancel_of_a_known_call_is_passed_on() -> None:
    """Whether the call runs or is over: that is for who makes it to say."""
    desk = CallDesk(MODEL_CALLS, keep_s=10)
    desk.take([source(prompt("t", ["hi"]))], NOW)
    running = desk.take([source(CANCEL, names.CANCELS)], NOW)
    desk.take([CallDone(CALL)], NOW)
    over = desk.take([source(CANCEL, names.CANCELS)], NOW)
    assert [(plan.cancels, plan.rows) for plan in (running, over)] == [([CANCEL], [])] * 2


def test_a_cancel_that_comes_before_its_prompt_outlives_the_runner() -> None:
    """The call is never made: in the same batch, in a later one, or by a successor. Other attempts are."""
    desk = CallDesk(MODEL_CALLS, keep_s=10)
    both = [source(CANCEL, names.CANCELS), source(prompt("t", ["hi"]))]
    first = desk.take(both, NOW)
    assert [(row.subject, row.n) for row in first.rows] == [(str(CALL), FINISHED)]
    assert first.starts == []
    assert desk.take(both, NOW).rows == []
    successor = CallDesk(MODEL_CALLS, keep_s=10)
    assert at_once(successor.restore(rows(*first.rows))) == []
    assert successor.take([source(prompt("t", ["hi"]))], NOW).starts == []
    assert len(successor.take([source(prompt("t", ["hi"], attempt=1))], NOW).starts) == 1
    assert successor.expired(NOW + 11) == [str(CALL)]


def test_a_cancelled_attempt_has_its_tool_calls_not_made() -> None:
    """A cancel names no tool call: it is about all of them, those that were asked for before it stay known."""
    desk = CallDesk(TOOL_CALLS, keep_s=10)
    asked = desk.take([source(tool_call("a"), names.TOOL_CALLS)], NOW)
    assert len(asked.starts) == 1
    cancelled = desk.take([source(CANCEL, names.CANCELS), source(tool_call("b"), names.TOOL_CALLS)], NOW)
    assert (cancelled.cancels, cancelled.starts) == ([CANCEL], [])
    successor = CallDesk(TOOL_CALLS, keep_s=10)
    assert [call.call_id for call in at_once(successor.restore(rows(*asked.rows, *cancelled.rows)))] == ["a"]
    assert successor.take([source(tool_call("c"), names.TOOL_CALLS)], NOW).starts == []


def tool_call(call_id: str) -> ToolCallRequest:
    """Return a request for a tool call of the turn's first attempt."""
    call = ToolCall(id=call_id, name="look", arguments="{}")
    return ToolCallRequest(turn_id="t", thread_id="h", partition=0, call=call)


@pytest.mark.parametrize("topic", [names.PROMPTS, names.CANCELS])
def test_what_cannot_be_read_is_refused_without_content(topic: Topic) -> None:
    """The ids are told if they can be."""
    secret = b'{"turn_id": "t", "thread_id": "h", "partition": "a very private sentence"}'
    plan = CallDesk(MODEL_CALLS, keep_s=10).take([source(secret, topic), source(None, topic, 1)], NOW)
    assert [(refused.error, refused.turn and refused.turn.turn_id) for refused in plan.refused] == [
        ("MalformedRecordError", "t"),
        ("MalformedRecordError", None),
    ]
    assert not any("private" in refused.reason for refused in plan.refused)
    assert (plan.rows, plan.starts, plan.cancels) == ([], [], [])


def test_a_prompt_that_wants_its_answer_elsewhere_is_refused() -> None:
    """There may be no such partition: its frames would end the worker, and the next one."""
    request = prompt("t", ["hi"]).model_copy(update={"partition": 7})
    plan = CallDesk(MODEL_CALLS, keep_s=10).take([source(request)], NOW)
    assert (plan.rows, plan.starts) == ([], [])
    (refused,) = plan.refused
    assert (refused.error, refused.turn) == ("WrongPartitionError", request.turn)
    assert "partition 7 and is in 0" in refused.reason


@pytest.mark.parametrize("tenant", ["erased-", "erased-0123456789abcdef", "erasure-x", "answer-x"])
def test_a_tenant_s_name_may_begin_like_what_the_journal_says_of_erased_calls(tenant: str) -> None:
    """Its calls are known after a restart as others are: none is made twice, and interrupted ones are reported."""
    call = CallKey(TurnKey(tenant, "h", "t"), 0, 0)
    request = prompt("t", ["hi"]).model_copy(update={"tenant": tenant})
    plan = CallDesk(MODEL_CALLS, keep_s=10).take([source(request)], NOW)
    heir = CallDesk(MODEL_CALLS, keep_s=10)
    assert at_once(heir.restore(rows(*plan.rows))) == [call]
    assert heir.take([source(request)], NOW).starts == []
