"""Which trace a record belongs to, as W3C's Trace Context spells it in the headers of a Kafka record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, TypeAlias

TRACEPARENT: Final = "traceparent"
TRACESTATE: Final = "tracestate"

#: Headers of a Kafka record, in their order; a name may come more than once.
Headers: TypeAlias = tuple[tuple[str, bytes], ...]

_PARENT = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_STATE = re.compile(r"[\x20-\x7e]{1,512}")
#: No `traceparent` of a version to come is worth reading that is longer.
_LONGEST_PARENT: Final = 200
_SAMPLED: Final = 0x01
_NAMES: Final = (TRACEPARENT, TRACESTATE)
#: Longer than what is understood of either, and one more than there are: then one of them is there twice.
_LONGEST_HEADER: Final = 600
_ENOUGH_HEADERS: Final = len(_NAMES) + 1


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A span and its trace: `trace_id` has 32 hexadecimal digits, `span_id` 16.

    `sampled` says that whoever began the trace records it, `state` is what tracing systems tell each other beside that.
    """

    trace_id: str
    span_id: str
    sampled: bool
    state: str = ""

    def __str__(self) -> str:
        """Return `traceparent`, and `tracestate` after a space where there is one: what `parse` reads."""
        return f"{self.parent} {self.state}".rstrip()

    @property
    def parent(self) -> str:
        """The value of `traceparent`."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"

    @property
    def headers(self) -> Headers:
        """The headers of a record that this span caused."""
        parent = (TRACEPARENT, self.parent.encode())
        return (parent, (TRACESTATE, self.state.encode())) if self.state else (parent,)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return what `str()` gave, or the bare value of a `traceparent`; None if it is not one."""
        parent, _, state = text.partition(" ")
        found = _PARENT.fullmatch(parent) if len(parent) <= _LONGEST_PARENT else None
        if found is None or (found[1] == "00" and found[5]):
            return None
        kept = state if _STATE.fullmatch(state) else ""
        return cls(found[2], found[3], bool(int(found[4], 16) & _SAMPLED), kept)


def context_in(headers: Iterable[tuple[Any, Any]] | None) -> TraceContext | None:
    """Return the trace context in a record's headers, None if there is none that can be understood."""
    said: dict[str, str] = {}
    for name, value in headers or ():
        if name in _NAMES and isinstance(value, bytes):
            if name in said:
                return None  # two of them contradict each other
            said[name] = value.decode("latin-1").strip()
    if TRACEPARENT not in said:
        return None
    return TraceContext.parse(f"{said[TRACEPARENT]} {said.get(TRACESTATE, '')}".strip())


def kept_of(headers: Iterable[tuple[Any, Any]]) -> Headers:
    """Return of a record's headers no more than `context_in` needs to say the same.

    Records wait in memory, where what they take is counted by their values; headers may be as long as these, and thousands.
    """
    said = [(name, value[:_LONGEST_HEADER]) for name, value in headers if name in _NAMES and isinstance(value, bytes)]
    return tuple(said[:_ENOUGH_HEADERS])


def headers_in(carrier: Mapping[str, str]) -> Headers:
    """Return the headers for what a propagator has put into `carrier`; what it says beside the trace is left out."""
    context = TraceContext.parse(f"{carrier.get(TRACEPARENT, '')} {carrier.get(TRACESTATE, '')}".strip())
    return context.headers if context is not None else ()
