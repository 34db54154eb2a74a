"""The journal of one partition as its owner uses it: append rows of subjects, clear subjects that are closed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from streams.journal.ledger import Ledger
from streams.journal.replay import Rows
from streams.journal.writer import Row


class Writer(Protocol):
    """What appends (`streams.journal.writer.JournalWriter` on Kafka)."""

    @property
    def epoch(self) -> int:
        """The offset of the claim that it writes under."""

    async def append(self, rows: Sequence[Row]) -> None:
        """Append `rows` in order; return once they are durable and the fence held."""

    async def clear(self, keys: Sequence[bytes]) -> None:
        """Append tombstones for `keys`."""


class PartitionJournal:
    """A writer that knows which rows each subject has, so that subjects can be cleared by name."""

    def __init__(self, writer: Writer, rows: Mapping[str, Rows]) -> None:
        self._writer = writer
        self._ledger = Ledger(rows)

    async def append(self, rows: Sequence[Row]) -> None:
        """Append `rows` in order; return once they are durable and the fence held."""
        if not rows:
            return
        await self._writer.append(rows)
        for row in rows:
            self._ledger.note(row.subject, row.n, self._writer.epoch)

    async def clear_but_last(self, subjects: Iterable[str]) -> None:
        """Clear all rows of `subjects` but each one's last."""
        await self._clear([key for subject in subjects for key in self._ledger.clear_all_but_last(subject)])

    async def clear_before(self, subject: str, n: int) -> None:
        """Clear the rows of `subject` whose numbers are lower than `n`."""
        await self._clear(self._ledger.clear_before(subject, n))

    async def clear(self, subjects: Iterable[str]) -> None:
        """Clear all rows of `subjects`."""
        await self._clear([key for subject in subjects for key in self._ledger.clear(subject)])

    async def _clear(self, keys: Sequence[bytes]) -> None:
        if keys:
            await self._writer.clear(keys)
