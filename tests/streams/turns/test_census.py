"""Which turns are open, told by the journal alone: the same as the worker that takes it over would say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.gate import entries
from streams.gate.records import JournalError, JournalRecord
from streams.journal.claims import Claim
from streams.journal.keys import RowKey, claim_key
from streams.journal.replay import Replay
from streams.turns.census import Census
from tests.streams.turns.desks import key

CLOSED = JournalRecord(0, 0.0, -1, entries.Closed(outcome="completed", partition=0, offset=7)).encode()
OPEN = JournalRecord(0, 0.0, -1, entries.Llm(seq=0, text="a", step=0)).encode()
SUBJECTS = [str(key("one")), str(key("two")), "default/h", "erasure-e"]

#: What a partition may hold: a claim, or a row of a subject that an owner, past or present, wrote or cleared.
RECORDS = st.lists(
    st.one_of(
        st.none(),
        st.tuples(st.sampled_from(SUBJECTS), st.integers(0, 12), st.sampled_from([OPEN, CLOSED, None])),
    ),
    max_size=40,
)


def replayed(records: list[tuple[int, bytes, bytes | None]]) -> set[str]:
    """Return which turns are open for whoever keeps all rows."""
    replay = Replay()
    for record in records:
        replay.apply(*record)
    last = {subject: rows[max(rows)][1] for subject, rows in replay.rows.items()}
    return {subject for subject, value in last.items() if subject in SUBJECTS[:2] and value != CLOSED}


def counted(records: list[tuple[int, bytes, bytes | None]]) -> Census:
    """Return a census of these records."""
    census = Census()
    for record in records:
        census.apply(*record)
    return census


@given(RECORDS)
def test_it_says_what_a_replay_of_all_rows_says(given_: list[tuple[str, int, bytes | None] | None]) -> None:
    """Also of rows that a superseded worker wrote, and of those that were cleared since."""
    records: list[tuple[int, bytes, bytes | None]] = []
    told: dict[tuple[str, int], int] = {}
    for offset, one in enumerate(given_):
        if one is None:
            records.append((offset, claim_key(str(offset)), Claim("w", 4).encode()))
            continue
        subject, epoch, value = one
        # As workers do it: rows in order, cleared from the first on, and the last one only once it says closed.
        highest = max((number for name, number in told if name == subject), default=-1)
        if value is None:
            first = min((number for name, number in told if name == subject), default=None)
            if first is None:
                continue
            records.append((offset, RowKey(subject, first, told.pop((subject, first))).encode(), None))
        else:
            records.append((offset, RowKey(subject, highest + 1, epoch).encode(), value))
            claims = [at for at, key_, _ in records if key_.startswith(claim_key(""))]
            if epoch >= max(claims, default=-1):
                told[subject, highest + 1] = epoch
    assert {str(turn) for turn in counted(records).open()} == replayed(records)


def test_a_turn_is_known_until_its_last_row_is_cleared() -> None:
    """Open, closed, then expired."""
    rows: list[tuple[int, bytes, bytes | None]] = [(0, claim_key("a"), Claim("w", 4).encode())]
    rows.append((1, RowKey(SUBJECTS[0], 0, 0).encode(), OPEN))
    assert counted(rows).open() == [key("one")]
    assert not counted(rows).knows(key("two"))
    rows += [(2, RowKey(SUBJECTS[0], 1, 0).encode(), CLOSED), (3, RowKey(SUBJECTS[0], 0, 0).encode(), None)]
    assert counted(rows).open() == []
    assert counted(rows).knows(key("one"))
    rows.append((4, RowKey(SUBJECTS[0], 1, 0).encode(), None))
    assert not counted(rows).knows(key("one"))


def test_a_row_that_cannot_be_read_is_no_closed_turn() -> None:
    """Whoever lacks the key ring must not be told that all is done."""
    with pytest.raises(JournalError, match="key ring"):
        counted([(0, RowKey(SUBJECTS[0], 0, 0).encode(), b"\x01sealed")])
