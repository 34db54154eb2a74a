"""Keys of the journal's Kafka records.

A row's key names its subject, its number and the epoch of its writer. The epoch is in the key so that compaction can
never drop a valid row in favour of one that a superseded writer sent later. A claim's key is unique for that reason.
"""

from __future__ import annotations

from typing import NamedTuple, Self

_CLAIM = b"\x00claim/"


class RowKey(NamedTuple):
    """One row: number `n` of `subject`, written under `epoch` (the offset of the writer's claim)."""

    subject: str
    n: int
    epoch: int

    def encode(self) -> bytes:
        """Return the Kafka key, `subject/n/epoch` in UTF-8."""
        return f"{self.subject}/{self.n}/{self.epoch}".encode()

    @classmethod
    def parse(cls, key: bytes) -> Self:
        """Return the row that `key` names.

        Raises:
            ValueError: it names none.
        """
        subject, n, epoch = key.decode().rsplit("/", 2)
        return cls(subject, int(n), int(epoch))


def claim_key(unique: str) -> bytes:
    """Return the key of a claim record; `unique` must differ from every other claim's."""
    return _CLAIM + unique.encode()


def is_claim(key: bytes | None) -> bool:
    """Return whether a record with this key is a claim."""
    return key is not None and key.startswith(_CLAIM)
