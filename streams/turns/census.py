"""Which turns of a partition are open, told by its journal alone: for whoever reads along and keeps none of the text.

Pure, and a shorter form of `streams.journal.replay.Replay`: of each turn only its last row is kept.
"""

from __future__ import annotations

from typing import NamedTuple

from streams.gate.entries import Closed
from streams.gate.records import JournalError
from streams.journal.keys import RowKey, is_claim
from streams.turns.erasures import is_erasure
from streams.turns.threads import is_thread
from topics import codec
from topics.errors import WireError
from topics.ids import TurnKey


class _Last(NamedTuple):
    n: int
    epoch: int
    closed: bool


class Census:
    """The turns of one journal partition, fed with its records in offset order."""

    def __init__(self) -> None:
        self._epoch = -1
        self._last: dict[str, _Last] = {}

    def apply(self, offset: int, key: bytes, value: bytes | None) -> None:
        """Take in the record at `offset`.

        Raises:
            JournalError: it is no record of a journal.
        """
        if is_claim(key):
            if value is not None:
                self._epoch = offset
            return
        row = RowKey.parse(key)
        if is_thread(row.subject) or is_erasure(row.subject):
            return
        last = self._last.get(row.subject)
        if value is None:
            if last is not None and (last.n, last.epoch) == (row.n, row.epoch):
                del self._last[row.subject]
        elif row.epoch >= self._epoch and (last is None or row.n >= last.n):
            self._last[row.subject] = _Last(row.n, row.epoch, _closes(value))

    def open(self) -> list[TurnKey]:
        """Return the turns that have not ended, or whose end is not confirmed."""
        return [TurnKey.parse(subject) for subject, last in self._last.items() if not last.closed]

    def knows(self, turn: TurnKey) -> bool:
        """Say whether the journal has something of a turn, open or closed."""
        return str(turn) in self._last


def _closes(value: bytes) -> bool:
    try:
        return bool(codec.load(value)["k"] == Closed.name)
    except (KeyError, TypeError, WireError):
        raise JournalError("a record cannot be read: give this command the key ring of the turn workers") from None
