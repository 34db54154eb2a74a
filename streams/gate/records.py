"""The journal record: an entry, its number in the turn, when it was written, and how far publishing had come."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import ValidationError

from streams.gate.entries import (
    MOVES_SINCE,
    SHAPES,
    Accepted,
    AnyEntry,
    Llm,
    Move,
    OutputProcessed,
    Started,
    brings_text_alone,
)
from topics import codec
from topics.errors import WireError
from topics.trusted import like

#: The newest version of the entries' shapes. A record says the oldest version that can express it, so that workers which
#: know no newer one go on reading the journal of a pipeline that uses nothing new. A worker that reads a newer version
#: than it knows stops: going on would skip what the record says.
JOURNAL_VERSION = 3


class JournalError(Exception):
    """A journal record cannot be understood: the worker must stop rather than go on without it."""


class NewerJournalError(JournalError):
    """The journal was written by a newer turngate: start that version again, or a newer one."""


class JournalRecord(NamedTuple):
    """Record number `n` of a turn, written at `at` (epoch seconds).

    `confirmed` is the number of the last record whose effects were known to be published by then, -1 for none. `moves`, if
    there are some, are what the entry's release is written as (`streams.gate.moves`).
    """

    n: int
    at: float
    confirmed: int
    entry: AnyEntry
    moves: tuple[Move, ...] = ()

    def spelt(self, moves: tuple[Move, ...]) -> JournalRecord:
        """Return this record with the moves that its release is to be written as."""
        return JournalRecord(self.n, self.at, self.confirmed, self.entry, moves)

    def encode(self) -> bytes:
        """Return the record's value as JSON. `n` is not in it: it is part of the key."""
        entry = self.entry
        if brings_text_alone(entry):
            return _text_record(self.at, self.confirmed, entry, self.moves)
        if self.moves:
            entry = _with_moves(entry, self.moves)
        data = {"v": entry.version, "k": entry.checkpoint, "at": self.at, "c": self.confirmed}
        if fields := _fields(entry):
            data["d"] = fields
        return codec.dump(data)

    @classmethod
    def decode(cls, n: int, value: bytes) -> JournalRecord:
        """Return record `n` from its value.

        Raises:
            NewerJournalError: the value's version is newer than this build's.
            JournalError: the value is not a journal record.
        """
        try:
            data = codec.load(value)
            if data["v"] > JOURNAL_VERSION:
                raise NewerJournalError(
                    f"journal record {n} has version {data['v']}, this build knows {JOURNAL_VERSION}: "
                    "start the newer turngate again"
                )
            return cls(n, data["at"], data["c"], _entry(data["k"], data.get("d", {})))
        except (KeyError, TypeError, ValueError, ValidationError, WireError) as exc:
            raise JournalError(f"journal record {n} cannot be read ({type(exc).__name__})") from None


def _with_moves(entry: AnyEntry, moves: tuple[Move, ...]) -> AnyEntry:
    if isinstance(entry, Llm):
        return like(entry, release="", moves=moves)
    if isinstance(entry, OutputProcessed):
        return like(entry, tail="", moves=moves)
    raise ValueError(f"{entry.checkpoint} releases nothing")


def _text_record(at: float, confirmed: int, entry: Llm, moves: tuple[Move, ...]) -> bytes:
    """Return what `JournalRecord.encode` does, for the entry that nearly all records have: no other field needs a look."""
    said = entry.__dict__
    fields = {"a": said["attempt"]} if said["attempt"] else {}
    fields["q"] = said["seq"]
    if said["text"]:
        fields["t"] = said["text"]
    if said["live"] is not None:
        fields["l"] = said["live"]
    if moves:
        fields["m"] = moves
    elif said["release"]:
        fields["r"] = said["release"]
    version = MOVES_SINCE if moves else Llm.since
    return codec.dump({"v": version, "k": f"{Llm.name}:{said['step']}", "at": at, "c": confirmed, "d": fields})


def _fields(entry: AnyEntry) -> dict[str, Any]:
    """Return the entry's fields that differ from their defaults.

    Only those of the entry itself are left out: the objects in it are told apart by a `type` that is a default too.
    """
    said: set[str] = set()
    plain: dict[str, Any] = {}
    for name, alias, default in _FIELDS[type(entry)]:
        value = getattr(entry, name)
        if value != default:
            said.add(name)
            if type(value) in _PLAIN or name == "moves":
                plain[alias] = value
    if len(plain) == len(said):
        return plain
    # What a request says about its user, or an agent's tools about their parameters, may be None and must come back.
    spelt_out = isinstance(entry, Accepted | Started)
    return entry.model_dump(mode="json", by_alias=True, include=said, exclude_none=not spelt_out)


#: Each shape's fields, but for the step, which its name tells: their names, here and in the journal, and defaults.
_FIELDS: dict[type[AnyEntry], list[tuple[str, str, Any]]] = {
    shape: [
        (name, field.alias or name, field.get_default(call_default_factory=True))
        for name, field in shape.model_fields.items()
        if name != "step"
    ]
    for shape in SHAPES.values()
}
#: Values that JSON spells as they are: most entries have no others, and need no model to write them.
_PLAIN = (str, int, float, bool)


def _entry(checkpoint: object, fields: dict[str, Any]) -> AnyEntry:
    if not isinstance(checkpoint, str):
        raise TypeError("a checkpoint is named by a text")
    name, _, last = checkpoint.rpartition(":")
    if last.isdecimal():
        return SHAPES[name].model_validate({**fields, "step": int(last)})
    return SHAPES[checkpoint].model_validate(fields)
