"""The only writer of a journal partition: appends in order, and notices when somebody else has written.

The fence needs nothing from the broker but offsets. The writer's claim has an offset, its epoch; from then on every
append must be acknowledged at exactly the next one. If it is not, the records between are read: a newer claim means
that this worker was superseded and must end before it publishes anything. Rows of older epochs are void and change nothing;
rows of the own epoch are the producer's own retry of a send whose acknowledgement got lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from streams.journal.claims import Claim
from streams.journal.errors import SupersededError, UnreadableGapError
from streams.journal.keys import RowKey, claim_key, is_claim
from streams.journal.runs import Handed, Run, offsets_of


class JournalLog(Protocol):
    """One partition of the journal's topic, as the writer needs it."""

    async def send_all(self, records: Sequence[Handed]) -> Sequence[Run]:
        """Hand records to the producer, in order; each run's future is done once all replicas have its records."""

    async def read(self, start: int, stop: int) -> Sequence[tuple[int, bytes, bytes | None]]:
        """Return the records with offsets in [`start`, `stop`), those that are still there."""


@dataclass(frozen=True, slots=True)
class Row:
    """A record to append: number `n` of `subject`. The writer adds its epoch."""

    subject: str
    n: int
    value: bytes


class JournalWriter:
    """Appends to one journal partition under one claim.

    Not safe for concurrent appends: its owner awaits one before it begins the next.
    """

    def __init__(self, log: JournalLog, *, epoch: int, own_claim: bytes, place: str) -> None:
        #: How many rows of superseded workers were found between this one's own.
        self.void = 0
        self._log = log
        self._next = epoch + 1
        self._place = place
        self.epoch = epoch
        self.own_claim = own_claim

    @classmethod
    async def claim(cls, log: JournalLog, claim: Claim, *, unique: str, place: str) -> JournalWriter:
        """Claim the partition: from the returned writer's epoch on, everybody else's rows are void.

        `place` names the topic and partition in errors; `unique` must never be used twice.
        """
        key = claim_key(unique)
        (epoch,) = await offsets_of(await log.send_all([(key, claim.encode(), ())]))
        return cls(log, epoch=epoch, own_claim=key, place=place)

    async def append(self, rows: Sequence[Row], gone: Sequence[bytes] = ()) -> None:
        """Append tombstones for the keys that are `gone`, then `rows`, in order.

        Returns once all of them are acknowledged and the fence held.

        Raises:
            SupersededError: another worker has claimed the partition.
            UnreadableGapError: somebody else wrote, and what cannot be established.
        """
        tombstones: list[Handed] = [(key, None, ()) for key in gone]
        await self._send(
            [*tombstones, *((RowKey(row.subject, row.n, self.epoch).encode(), row.value, ()) for row in rows)]
        )

    async def _send(self, records: Sequence[Handed]) -> None:
        for run in await self._log.send_all(records):
            # A broker appends all records of a run or none, one after the other: nobody can have written between them.
            first = await run.first
            if first != self._next:
                await self._explain(first)
            self._next = first + run.length

    async def _explain(self, offset: int) -> None:
        """Find out who wrote between the expected offset and `offset`; return if it changes nothing."""
        where = f"{self._place}: an append was acknowledged at offset {offset}, {self._next} was expected"
        if offset < self._next:
            raise UnreadableGapError(f"{where}: the log went back, was the topic recreated?")
        for found, key, value in await self._log.read(self._next, offset):
            if is_claim(key) and value is not None:
                raise SupersededError(f"{where}: the claim at {found} is newer than this worker's at {self.epoch}")
            if value is not None and not is_claim(key) and _epoch(key, where) > self.epoch:
                raise SupersededError(f"{where}: the row at {found} has a newer epoch than {self.epoch}")
            self.void += value is not None and not is_claim(key) and _epoch(key, where) < self.epoch


def _epoch(key: bytes, where: str) -> int:
    try:
        return RowKey.parse(key).epoch
    except ValueError:
        raise UnreadableGapError(f"{where}: a record that is no journal row stands between") from None
