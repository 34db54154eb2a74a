"""The journal record: an entry, its number in the turn, when it was written, and how far publishing had come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError

from streams.gate.entries import SHAPES, AnyEntry

#: The version of the entries' shapes. A worker that reads a newer one stops: going on would skip what it says.
JOURNAL_VERSION = 1


class JournalError(Exception):
    """A journal record cannot be understood: the worker must stop rather than go on without it."""


class NewerJournalError(JournalError):
    """The journal was written by a newer turngate: start that version again, or a newer one."""


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """Record number `n` of a turn, written at `at` (epoch seconds).

    `confirmed` is the number of the last record whose effects were known to be published by then, -1 for none.
    """

    n: int
    at: float
    confirmed: int
    entry: AnyEntry

    def encode(self) -> bytes:
        """Return the record's value as JSON. `n` is not in it: it is part of the key."""
        fields = self.entry.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"step"})
        head = {"v": JOURNAL_VERSION, "k": self.entry.checkpoint, "at": self.at, "c": self.confirmed}
        return orjson.dumps({**head, "d": fields} if fields else head)

    @classmethod
    def decode(cls, n: int, value: bytes) -> JournalRecord:
        """Return record `n` from its value.

        Raises:
            NewerJournalError: the value's version is newer than this build's.
            JournalError: the value is not a journal record.
        """
        try:
            data: dict[str, Any] = orjson.loads(value)
            if data["v"] > JOURNAL_VERSION:
                raise NewerJournalError(
                    f"journal record {n} has version {data['v']}, this build knows {JOURNAL_VERSION}: "
                    "start the newer turngate again"
                )
            return cls(n, data["at"], data["c"], _entry(data["k"], data.get("d", {})))
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, ValidationError) as exc:
            raise JournalError(f"journal record {n} cannot be read ({type(exc).__name__})") from None


def _entry(checkpoint: str, fields: dict[str, Any]) -> AnyEntry:
    name, _, last = checkpoint.rpartition(":")
    if last.isdecimal():
        return SHAPES[name].model_validate({**fields, "step": int(last)})
    return SHAPES[checkpoint].model_validate(fields)
