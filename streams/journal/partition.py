"""The journal of one partition as its owner uses it: append rows of subjects, clear subjects that are closed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from streams.journal.ledger import Ledger
from streams.journal.writer import Row


class Writer(Protocol):
    """What appends (`streams.journal.writer.JournalWriter` on Kafka)."""

    @property
    def epoch(self) -> int:
        """The offset of the claim that it writes under."""

    async def append(self, rows: Sequence[Row], gone: Sequence[bytes] = ()) -> None:
        """Append tombstones for the keys that are `gone`, then `rows`; return once durable and the fence held."""


class PartitionJournal:
    """A writer that knows which rows each subject has, so that subjects can be cleared by name.

    What is cleared goes with the next append, before its rows: a batch of its own would be waited for by everything behind
    it. Whoever has nothing to append says `flush`.
    """

    def __init__(self, writer: Writer, ledger: Ledger) -> None:
        self._writer = writer
        self._ledger = ledger
        self._gone: list[bytes] = []

    async def append(self, rows: Sequence[Row]) -> None:
        """Append `rows` in order; return once they are durable and the fence held. Does nothing for no rows."""
        if rows:
            await self._append(rows)

    async def flush(self) -> None:
        """Append what was cleared and has not gone yet; return once it is durable and the fence held."""
        if self._gone:
            await self._append(())

    def clear_but_last(self, subjects: Iterable[str]) -> None:
        """Clear all rows of `subjects` but each one's last."""
        for subject in subjects:
            self._gone += self._ledger.clear_all_but_last(subject)

    def clear_before(self, subject: str, n: int) -> None:
        """Clear the rows of `subject` whose numbers are lower than `n`."""
        self._gone += self._ledger.clear_before(subject, n)

    def clear(self, subjects: Iterable[str]) -> None:
        """Clear all rows of `subjects`."""
        for subject in subjects:
            self._gone += self._ledger.clear(subject)

    async def _append(self, rows: Sequence[Row]) -> None:
        gone, self._gone = self._gone, []
        await self._writer.append(rows, gone)
        for row in rows:
            self._ledger.note(row.subject, row.n, self._writer.epoch)
