"""What a desk makes of an operator's wish to erase: which turns are meant, what stands in the way, what stays known."""

from __future__ import annotations

import pytest

from streams.turns import eraser
from streams.turns.desk import Desk
from streams.turns.erasures import Erasures, is_erasure
from streams.turns.plan import Plan
from tests.streams.turns.desks import NOW, PARTITION, PARTITIONS, a_desk, confirm, frame_source, key, source
from topics import names
from topics.ids import ThreadKey
from topics.records import Erase, TurnRequest

ELSEWHERE = next(name for name in map(str, range(99)) if ThreadKey("default", name).partition(PARTITIONS) != PARTITION)


def wish(id_: str = "e", **of: object) -> Erase:
    """Return an operator's wish, about thread `h` unless it says otherwise."""
    data = {"id": id_, "by": "an operator", "at": NOW, **(of or {"thread_id": "h"})}
    return Erase.model_validate(data)


def asked(turn_id: str = "t", thread_id: str = "h", user: str | None = None) -> TurnRequest:
    """Return a request for a turn."""
    who = {"id": user} if user else None
    return TurnRequest.model_validate(
        {"turn_id": turn_id, "thread_id": thread_id, "message": "hello", **({"user": who} if who else {})}
    )


def erase(desk: Desk, record: Erase | bytes, written_at: float | None = None) -> Plan:
    """Have the desk take a record on `erasures` in."""
    return desk.take([source(record, topic=names.ERASURES, written_at=written_at)], NOW)


def finished(desk: Desk, request: TurnRequest) -> None:
    """Have a turn run to its end."""
    desk.take([source(request)], NOW)
    frame = frame_source(0, request.turn_id, thread_id=request.thread_id, text="hi", finish_reason="stop")
    desk.take(confirm(desk, desk.take([frame], NOW)), NOW)
    assert request.turn in desk.done


def same_partition(count: int) -> list[str]:
    """Return threads that belong where the desk is."""
    found = (f"h-{n}" for n in range(count * PARTITIONS * 4))
    return [one for one in found if ThreadKey("default", one).partition(PARTITIONS) == PARTITION][:count]


def test_a_closed_turn_is_forgotten_and_does_not_run_again() -> None:
    """Its rows go whole; a repeated request, a late frame and a result change nothing and are no dead letters."""
    desk = a_desk()
    finished(desk, asked())
    plan = erase(desk, wish())
    assert plan.erased == [str(key())]
    assert all(is_erasure(row.subject) for row in plan.decided)
    (answer,) = plan.answers
    assert (answer.threads, answer.turns, answer.remembered, answer.refused) == (("h",), 1, 1, False)
    again = desk.take([source(asked()), frame_source(1, text="late")], NOW)
    assert (again.journal, again.refused, again.repeats, again.dropped) == ([], [], [], 2)


def test_a_wish_that_comes_again_is_taken_once() -> None:
    """Turns that began meanwhile are not meant; another wish means them."""
    desk = a_desk()
    erase(desk, wish())
    finished(desk, asked("later"))
    assert erase(desk, wish()) == Plan()
    assert erase(desk, wish("another")).erased == [str(key("later"))]


def test_open_turns_stand_in_the_way_unless_they_may_be_cancelled() -> None:
    """Then nothing is done; or all of them are cancelled, and gone when their end is out."""
    desk = a_desk()
    desk.take([source(asked("t")), source(asked("waiting"), 1)], NOW)
    refused = erase(desk, wish())
    assert (refused.answers[0].refused, refused.answers[0].open, refused.decided) == (True, 2, [])
    plan = erase(desk, wish("e2", thread_id="h", cancel_open=True))
    assert [record.entry.checkpoint for _, record in plan.journal] == ["cancelled", "cancelled"]
    assert (plan.remember, plan.erased) == ([], [])
    closed = desk.take(confirm(desk, plan), NOW)
    assert closed.erased == [str(key("t")), str(key("waiting"))]
    assert (closed.closed, desk.done, desk.turns) == ([], {}, {})


def test_a_user_s_threads_are_those_they_spoke_in() -> None:
    """Remembered or open, of this tenant; others' threads stay."""
    desk = a_desk()
    mine, opened, other = same_partition(3)
    finished(desk, asked("a", mine, "jane"))
    finished(desk, asked("b", mine, "joe"))
    finished(desk, asked("c", other, "joe"))
    desk.take([source(asked("d", opened, "jane"))], NOW)
    plan = erase(desk, wish(user_id="jane", cancel_open=True))
    assert set(plan.answers[0].threads) == {mine, opened}
    assert desk.threads.turns_of(ThreadKey("default", mine)) == []
    assert desk.threads.turns_of(ThreadKey("default", other)) == [key("c", other)]
    assert erase(desk, wish("e2", user_id="joe", tenant="another")).answers[0].threads == ()


def test_more_threads_than_an_answer_holds_are_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until there are none."""
    monkeypatch.setattr(eraser, "MAX_THREADS", 2)
    desk = a_desk()
    threads = same_partition(3)
    for thread in threads:
        finished(desk, asked("a", thread, "jane"))
    answers = [erase(desk, wish(f"e{n}", user_id="jane")).answers[0] for n in range(3)]
    assert [(len(one.threads), one.more) for one in answers] == [(2, True), (1, False), (0, False)]


def test_what_was_refused_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many threads there are beside: as long as a turn is open, the answer would be the same, without end."""
    monkeypatch.setattr(eraser, "MAX_THREADS", 1)
    desk = a_desk()
    opened, closed = same_partition(2)
    finished(desk, asked("a", opened, "jane"))
    finished(desk, asked("b", closed, "jane"))
    desk.take([source(asked("c", opened, "jane"))], NOW)
    (answer,) = erase(desk, wish(user_id="jane")).answers
    assert (answer.refused, answer.open, answer.more, answer.threads) == (True, 1, False, ())


@pytest.mark.parametrize(
    ("record", "written_at", "error"),
    [
        (b"{", None, "MalformedRecordError"),
        (b'{"id": "e", "by": "x", "at": 1}', None, "MalformedRecordError"),
        (b'{"id": "e", "by": "x", "at": 1, "thread_id": "h", "user_id": "u"}', None, "MalformedRecordError"),
        (wish(thread_id=ELSEWHERE), None, "WrongPartitionError"),
        (wish(), NOW - 25 * 3600, "ExpiredRequestError"),
    ],
    ids=["no-json", "nobody", "both", "elsewhere", "old"],
)
def test_a_wish_that_cannot_be_taken_is_a_dead_letter(
    record: Erase | bytes, written_at: float | None, error: str
) -> None:
    """And nothing is erased: a wish that lay there for a day would erase what came after it."""
    desk = a_desk()
    finished(desk, asked())
    plan = erase(desk, record, written_at)
    assert [one.error for one in plan.refused] == [error]
    assert (plan.answers, plan.erased) == ([], [])
    assert "h" not in {one.reason for one in plan.refused}


def test_answers_are_nothing_to_a_turn_worker() -> None:
    """They stand on the same topic."""
    desk = a_desk()
    (answer,) = erase(desk, wish()).answers
    assert desk.take([source(answer, topic=names.ERASURES)], NOW) == Plan()


def test_digests_go_when_no_request_can_come_again() -> None:
    """With the row that says so."""
    desk = a_desk()
    finished(desk, asked())
    (answer,) = erase(desk, wish()).answers
    assert desk.erasures.told(answer).subject == "erasure-e"
    assert "erasure-e" not in desk.expired(NOW + 25 * 3600 - 1)
    assert desk.erasures.covers(key())
    assert "erasure-e" in desk.expired(NOW + 25 * 3600 + 1)
    assert not desk.erasures.covers(key())


def test_half_a_decision_is_none() -> None:
    """Digests without an answer are cleared: the wish was not acknowledged, and comes again."""
    first = Erasures()
    (answer,) = erase(a_desk(), wish()).answers
    digests, owed = first.decide(answer, [key()])
    half = Erasures()
    assert half.restore({digests.subject: {0: (1, digests.value)}}) == ([], ["erasure-e"])
    assert not half.covers(key())
    whole = Erasures()
    rows = {digests.subject: {0: (1, digests.value)}, owed.subject: {0: (1, owed.value)}}
    assert whole.restore(rows) == ([answer], [])
    assert whole.covers(key())
    told = Erasures()
    rows = {digests.subject: {0: (1, digests.value), 1: (1, first.told(answer).value)}}
    assert told.restore(rows) == ([], [])
    assert told.knows("e")
    assert told.covers(key())
