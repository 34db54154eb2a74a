"""Reading a journal partition from its beginning: which rows hold, and which may be cleared away."""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.journal.keys import RowKey, is_claim

#: Rows of one subject: by number, the epoch they were written under and their value.
Rows = dict[int, tuple[int, bytes]]


@dataclass(slots=True)
class Replay:
    """The fold of one journal partition's records, fed in offset order.

    A row is void if the epoch in its key is older than the latest claim before it: it was sent by a writer that had been
    superseded. A newer epoch holds too, because the claim that it was written under may have been cleared since. Tombstones
    hold whoever sent them: they are only sent for rows whose subject is closed.
    """

    epoch: int = -1
    rows: dict[str, Rows] = field(default_factory=dict)
    void: list[bytes] = field(default_factory=list)
    claims: list[bytes] = field(default_factory=list)
    claim_values: list[bytes] = field(default_factory=list)

    def apply(self, offset: int, key: bytes, value: bytes | None) -> None:
        """Take in the record at `offset`."""
        if is_claim(key):
            self._claimed(offset, key, value)
            return
        row = RowKey.parse(key)
        if value is None:
            self._cleared(row, key)
        elif row.epoch >= self.epoch:
            self.rows.setdefault(row.subject, {})[row.n] = (row.epoch, value)
        elif self._epoch_of(row) != row.epoch:
            # A superseded producer's retry of a row that holds has that row's key: clearing it would clear both.
            self.void.append(key)

    def _epoch_of(self, row: RowKey) -> int | None:
        """Return the epoch of the row that holds with this subject and number, if one does."""
        held = self.rows.get(row.subject, {}).get(row.n)
        return held[0] if held is not None else None

    def _claimed(self, offset: int, key: bytes, value: bytes | None) -> None:
        if value is not None:
            self.epoch = offset
            self.claims.append(key)
            self.claim_values.append(value)
        elif key in self.claims:
            self.claims.remove(key)

    def _cleared(self, row: RowKey, key: bytes) -> None:
        if key in self.void:
            self.void.remove(key)
        if self._epoch_of(row) == row.epoch:
            rows = self.rows[row.subject]
            del rows[row.n]
            if not rows:
                del self.rows[row.subject]

    def litter(self, own_claim: bytes) -> list[bytes]:
        """Return the keys that the owner, whose claim has the key `own_claim`, may clear: void rows first."""
        return [*self.void, *(key for key in self.claims if key != own_claim)]
