"""The threads of a partition: what each remembers, tells, and forgets."""

from __future__ import annotations

from typing import Any

from streams.gate import events
from streams.gate.state import Turn
from streams.gate.transcript import Entry
from streams.journal.replay import Rows
from streams.journal.writer import Row
from streams.turns.threads import Threads, ThreadSettings, entries_of, is_thread, subject_of
from tests.streams.at_once import at_once
from tests.streams.gate.play import KEY, Play
from topics.content import Message
from topics.ids import TurnKey

THREAD = KEY.thread
SUBJECT = "acme/thread-1"


def a_turn(turn_id: str, reply: str = "yes", *, at: float = 1_000.0, outcome: str = "completed", **fields: Any) -> Turn:
    """Return a turn of the thread that is over."""
    play = Play(turn_id=turn_id, **fields).start().text(reply)
    if outcome == "completed":
        play.finish()
    else:
        play.happen(events.Cancel())
    return play.turn.with_(progress_at=at)


def rows_by_number(rows: list[Row]) -> dict[str, Rows]:
    """Return rows as a replay gives them."""
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(row.subject, {})[row.n] = (0, row.value)
    return found


def key(turn_id: str) -> TurnKey:
    """Return a turn of the thread."""
    return KEY._replace(turn_id=turn_id)


def told(threads: Threads, turn_id: str = "next") -> list[object]:
    """Return what the model of the thread's next turn is told."""
    return [message.content for message in threads.history(key(turn_id), "default")]


def test_a_turn_is_remembered_once_and_told_to_the_next() -> None:
    """Asking again, as a worker does that has just taken over, adds nothing."""
    threads = Threads()
    rows = threads.remember(a_turn("a", "one"))
    assert [(row.subject, row.n) for row in rows] == [(SUBJECT, 0)]
    assert threads.remember(a_turn("a", "one")) == []
    assert told(threads) == ["What is my number?", "one"]
    more = threads.remember(a_turn("b", "two"))
    assert [(row.subject, row.n) for row in more] == [(SUBJECT, 1)]
    assert told(threads)[1::2] == ["one", "two"]


def test_a_restored_memory_is_the_same() -> None:
    """Row for row, and it goes on with the next number."""
    threads = Threads()
    rows = [row for name in "abc" for row in threads.remember(a_turn(name, name))]
    heir = Threads()
    at_once(heir.restore(rows_by_number(rows)))
    assert told(heir) == told(threads)
    assert heir.remember(a_turn("c", "c")) == []
    assert [row.n for row in heir.remember(a_turn("d"))] == [3]


def test_rows_that_a_dead_worker_did_not_come_to_write_are_written() -> None:
    """Those that it did are not written again."""
    small = ThreadSettings(max_row_bytes=5_000)
    threads = Threads(small)
    rows = threads.remember(a_turn("a", "x" * 10_000))
    assert len(rows) > 2
    heir = Threads(small)
    at_once(heir.restore(rows_by_number(rows[:2])))
    assert told(heir) == []
    assert heir.remember(a_turn("a", "x" * 10_000)) == rows[2:]
    assert told(heir) == told(threads)


def test_models_are_told_of_answered_turns_only_and_not_of_their_own() -> None:
    """A question that was never answered would only confuse them."""
    threads = Threads()
    for name, outcome in (("a", "completed"), ("b", "cancelled"), ("c", "completed")):
        threads.remember(a_turn(name, name, outcome=outcome))
    assert told(threads)[1::2] == ["a", "c"]
    assert told(threads, "c")[1::2] == ["a"]


def test_the_window_chooses_and_an_agent_may_have_its_own() -> None:
    """What it chooses from is bounded too."""

    def last(messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return messages[-1:]

    def none(_: tuple[Message, ...]) -> tuple[Message, ...]:
        return ()

    threads = Threads(ThreadSettings(window=last, windows={"terse": none}, max_told_bytes=600))
    for name in "abcdef":
        threads.remember(a_turn(name, name * 100))
    assert told(threads) == ["f" * 100]
    assert threads.history(key("next"), "terse") == ()
    whole = Threads(ThreadSettings(max_told_bytes=600))
    for name in "abcdef":
        whole.remember(a_turn(name, name * 100))
    assert told(whole)[1::2] == ["e" * 100, "f" * 100]


def test_the_newest_messages_are_told_by_their_number() -> None:
    """As many as there were, or all that are left of them."""
    threads = Threads()
    for name in "ab":
        threads.remember(a_turn(name, name))
    asked = "What is my number?"
    told_of = [[message.content for message in threads.newest(key("next"), count)] for count in (0, 1, 3, 4, 5, 9)]
    assert told_of == [[], ["b"], ["a", asked, "b"], *([[asked, "a", asked, "b"]] * 3)]
    assert [message.content for message in threads.newest(key("b"), 9)] == [asked, "a"]


def test_a_long_thread_forgets_its_beginning() -> None:
    """By turns and by bytes; the last turn always stays. A worker that takes over clears what was not cleared."""
    threads = Threads(ThreadSettings(max_turns=2))
    trims, rows = [], []
    for name in "abcd":
        rows += threads.remember(a_turn(name))
        trims.append(threads.trimmed(THREAD))
    assert [[(trim.subject, trim.keep_from) for trim in one] for one in trims] == [
        [],
        [],
        [(SUBJECT, 1)],
        [(SUBJECT, 2)],
    ]
    heavy = Threads(ThreadSettings(max_bytes=10))
    heavy.remember(a_turn("a"))
    heavy.remember(a_turn("b", "z" * 100))
    assert [trim.keep_from for trim in heavy.trimmed(THREAD)] == [1]
    assert told(heavy)[1:] == ["z" * 100]
    heir = Threads(ThreadSettings(max_turns=2))
    at_once(heir.restore(rows_by_number(rows)))
    assert heir.outgrown(busy=[THREAD]) == []
    assert [(trim.subject, trim.keep_from) for trim in heir.outgrown(busy=[])] == [(SUBJECT, 2)]


def test_a_silent_thread_is_forgotten() -> None:
    """So long after its last turn; then it begins anew."""
    threads = Threads(ThreadSettings(retention_s=100.0))
    threads.remember(a_turn("a", at=1_000.0))
    threads.remember(a_turn("b", at=1_050.0))
    assert (threads.expired(1_150.0), len(threads)) == ([], 1)
    assert (threads.expired(1_151.0, busy=[THREAD]), len(threads)) == ([], 1)
    assert (threads.expired(1_151.0), len(threads)) == ([SUBJECT], 0)
    assert [row.n for row in threads.remember(a_turn("c"))] == [0]


def test_when_a_threads_turns_were_is_known_exactly() -> None:
    """For whoever counts them."""
    threads = Threads()
    for name, at in (("a", 10.0), ("b", 20.0)):
        threads.remember(a_turn(name, at=at))
    assert threads.recent(key("c"), None) == {key("a"): 10.0, key("b"): 20.0}
    assert threads.recent(key("b"), None) == {key("a"): 10.0}
    assert threads.recent(key("c"), "somebody") == {}
    assert threads.recent(key("c")._replace(thread_id="other"), None) == {}


def test_subjects_of_threads_and_turns_differ() -> None:
    """They share a journal."""
    assert subject_of(THREAD) == SUBJECT
    assert is_thread(SUBJECT)
    assert not is_thread(str(KEY))


def test_whoever_only_reads_sees_what_is_remembered() -> None:
    """As `turngate threads` does."""
    threads = Threads()
    rows = [row for name in "ab" for row in threads.remember(a_turn(name, name))]
    found = entries_of(rows_by_number(rows), THREAD)
    assert [(entry.turn_id, entry.messages[-1].content) for entry in found] == [("a", "a"), ("b", "b")]
    assert all(isinstance(entry, Entry) for entry in found)
    assert entries_of(rows_by_number(rows), THREAD._replace(tenant="other")) == []
