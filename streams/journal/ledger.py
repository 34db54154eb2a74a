"""Which rows of each subject the journal holds, so that they can be cleared once the subject is closed."""

from __future__ import annotations

from collections.abc import Mapping

from streams.journal.keys import RowKey
from streams.journal.replay import Rows
from streams.steps import Steps


class Ledger:
    """The rows of one journal partition by subject, kept as runs: nearly all rows of a subject have one epoch."""

    def __init__(self) -> None:
        self._runs: dict[str, list[tuple[int, int, int]]] = {}

    @classmethod
    def of(cls, rows: Mapping[str, Rows]) -> Steps[Ledger]:
        """Make one of the rows that a journal was found to hold, step by step."""
        ledger = cls()
        for subject, numbered in rows.items():
            yield
            for n, (epoch, _) in sorted(numbered.items()):
                ledger.note(subject, n, epoch)
        return ledger

    def note(self, subject: str, n: int, epoch: int) -> None:
        """Note that row `n` of `subject` was written under `epoch`."""
        runs = self._runs.setdefault(subject, [])
        if runs and runs[-1][2] == epoch and runs[-1][1] == n - 1:
            runs[-1] = (runs[-1][0], n, epoch)
        else:
            runs.append((n, n, epoch))

    def clear_all_but_last(self, subject: str) -> list[bytes]:
        """Return the keys of all rows of `subject` but the last, and forget them."""
        runs = self._runs.get(subject, [])
        if not runs:
            return []
        _, last, epoch = runs[-1]
        self._runs[subject] = [(last, last, epoch)]
        return [key for key in _keys(subject, runs) if key != RowKey(subject, last, epoch).encode()]

    def clear_before(self, subject: str, n: int) -> list[bytes]:
        """Return the keys of the rows of `subject` whose numbers are lower than `n`, and forget them."""
        gone: list[tuple[int, int, int]] = []
        kept: list[tuple[int, int, int]] = []
        for first, last, epoch in self._runs.get(subject, []):
            if first < n:
                gone.append((first, min(last, n - 1), epoch))
            if last >= n:
                kept.append((max(first, n), last, epoch))
        if kept:
            self._runs[subject] = kept
        else:
            self._runs.pop(subject, None)
        return _keys(subject, gone)

    def clear(self, subject: str) -> list[bytes]:
        """Return the keys of all rows of `subject`, and forget it."""
        return _keys(subject, self._runs.pop(subject, []))


def _keys(subject: str, runs: list[tuple[int, int, int]]) -> list[bytes]:
    return [RowKey(subject, n, epoch).encode() for first, last, epoch in runs for n in range(first, last + 1)]
