"""Which rows a subject has, so that its journal can shrink."""

from __future__ import annotations

from streams.journal.keys import RowKey
from streams.journal.ledger import Ledger
from tests.streams.at_once import at_once


def keys(subject: str, *rows: tuple[int, int]) -> list[bytes]:
    """Return the keys of rows given as (number, epoch)."""
    return [RowKey(subject, n, epoch).encode() for n, epoch in rows]


def test_all_rows_but_the_last_are_cleared_once() -> None:
    """The last one stays noted, so that it can be cleared later."""
    ledger = Ledger()
    for n in range(3):
        ledger.note("s", n, 5)
    assert ledger.clear_all_but_last("s") == keys("s", (0, 5), (1, 5))
    assert ledger.clear_all_but_last("s") == []
    assert ledger.clear("s") == keys("s", (2, 5))
    assert ledger.clear("s") == []


def test_rows_of_several_owners_keep_their_epochs() -> None:
    """A row is cleared by the key it was written with."""
    ledger = at_once(Ledger.of({"s": {1: (5, b""), 0: (5, b""), 2: (9, b"")}}))
    ledger.note("s", 3, 12)
    assert ledger.clear_all_but_last("s") == keys("s", (0, 5), (1, 5), (2, 9))


def test_subjects_are_apart() -> None:
    """Clearing one leaves the others; an unknown one has nothing to clear."""
    ledger = Ledger()
    ledger.note("a", 0, 1)
    ledger.note("b", 0, 1)
    assert ledger.clear("a") == keys("a", (0, 1))
    assert ledger.clear("nobody") == []
    assert ledger.clear_all_but_last("nobody") == []
    assert ledger.clear("b") == keys("b", (0, 1))


def test_rows_left_by_a_predecessor_that_died_while_clearing_are_still_known() -> None:
    """Its tombstones went out from the front, so the rest begins later than 0."""
    ledger = at_once(Ledger.of({"s": {4: (5, b""), 5: (5, b"")}}))
    assert ledger.clear_all_but_last("s") == keys("s", (4, 5))
