"""Releases are written as places in what was journaled before, and come back as exactly what was released."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams.gate import entries
from streams.gate.moves import Spelling, moves_of, resolved, text_of
from streams.gate.records import JournalRecord
from streams.gate.rope import Rope
from tests.streams.gate.play import START, Play

WORDS = "Dear Bob, the parcel is on its way and will arrive on Tuesday before noon, or so they say. "


def rope(text: str, size: int = 7) -> Rope:
    """Return a text that arrived in pieces."""
    whole = Rope()
    for start in range(0, len(text), size):
        whole = whole.append(text[start : start + size])
    return whole


def test_what_a_chain_leaves_as_it_is_takes_one_move() -> None:
    """Its place and its length, in code points."""
    assert moves_of(WORDS[10:60], rope(WORDS), 10) == (((10, 50),), 60)


def test_what_stands_in_place_of_a_finding_is_spelt_out_between_pieces() -> None:
    """And the next release begins where the last piece ended, though it is elsewhere in the released text."""
    buffer = rope(WORDS + "Write to bob@example.com if it does not. " + WORDS)
    released = str(buffer).replace("bob@example.com", "[email]")
    moves, end = moves_of(released[:150], buffer, 0)
    assert text_of(moves, buffer) == released[:150]
    assert [move for move in moves if isinstance(move, str)] == ["[email]"]
    assert moves_of(released[150:], buffer, end) == (((end, len(released) - 150),), len(buffer))


def test_a_text_that_has_nothing_of_the_buffer_is_not_spelt_with_it() -> None:
    """Nor is one that has too little: to say where it is takes as much."""
    assert moves_of(WORDS.upper(), rope(WORDS), 5) == ((), 5)
    assert moves_of("Dear Bob, yes.", rope(WORDS), 0)[0] == ()


def test_a_wrong_hint_costs_a_look_and_nothing_else() -> None:
    """A worker that takes a turn over has none."""
    for hint in (0, 40, len(WORDS)):
        moves, _ = moves_of(WORDS[40:80], rope(WORDS), hint)
        assert text_of(moves, rope(WORDS)) == WORDS[40:80]
        assert len(moves) == 1


@pytest.mark.parametrize("move", [(0, len(WORDS) + 1), (-1, 5), (5, -1), (len(WORDS), 1)])
def test_a_piece_that_is_not_there_is_an_error(move: tuple[int, int]) -> None:
    """A journal that says so has a gap."""
    with pytest.raises(ValueError, match="not there"):
        text_of([move], rope(WORDS))


@given(st.text(max_size=200), st.lists(st.text(alphabet='ab😀\u4e2d"\n', max_size=40), max_size=8), st.integers(0, 300))
@example("", ["a" * 40, "a" * 40], 0)
def test_moves_say_exactly_the_release(other: str, pieces: list[str], hint: int) -> None:
    """Whatever is released, wherever it is looked for."""
    buffer = rope("".join(pieces) + WORDS)
    for release in (other, "".join(reversed(pieces)), WORDS + other + WORDS, "".join(pieces) + other):
        moves, end = moves_of(release, buffer, min(hint, len(buffer)))
        assert not moves or text_of(moves, buffer) == release
        assert 0 <= end <= max(len(buffer), hint)


def test_records_come_back_from_the_journal_as_they_were() -> None:
    """Progress and the settled answer; others are left alone."""
    play = Play().start().text(WORDS)
    before = play.turn
    tail = re.sub("Bob", "[name]", WORDS)
    for entry in (
        entries.Llm(seq=2, text="And more of it. ", release=WORDS + "And more"),
        entries.OutputProcessed(tail=tail),
        entries.Cancelled(),
    ):
        record = JournalRecord(before.n, START, -1, entry)
        written = Spelling().spelt(before, record)
        raw = written.encode()
        assert resolved(before, JournalRecord.decode(before.n, raw)) == record
        assert bool(written.moves) == (b'"m":' in raw) == (not isinstance(entry, entries.Cancelled))
        assert written == record._replace(moves=written.moves)


def test_a_record_that_releases_as_the_older_version_does_is_readable_by_it() -> None:
    """Only moves are new."""
    assert entries.Llm(seq=1, text="a", release="b").version == 1
    assert entries.Llm(seq=1, text="a", moves=((0, 1),)).version == 3
    assert entries.OutputProcessed(tail="a").version == 1
    assert entries.OutputProcessed(moves=((0, 1),)).version == 3


def test_a_chain_that_changes_everything_is_not_looked_after_for_ever() -> None:
    """Its releases are spelt out, and after some of them nobody looks for pieces, until a new attempt."""
    play = Play().start().text(WORDS)
    spelling = Spelling()
    for _ in range(8):
        spelling.spelt(play.turn, JournalRecord(play.turn.n, START, -1, entries.Llm(release=WORDS.upper())))
    again = JournalRecord(play.turn.n, START, -1, entries.Llm(release=WORDS))
    assert spelling.spelt(play.turn, again).moves == ()
    assert spelling.spelt(replace(play.turn, attempt=1), again).moves == ((0, len(WORDS)),)
