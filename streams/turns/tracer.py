"""What traces turns, as the turn worker sees it: `streams.tracing` has the one that does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from streams.gate.state import Turn
from streams.turns.plan import Outgoing
from topics.ids import TurnKey
from topics.trace_context import Headers


class Tracer(Protocol):
    """Knows the traces of turns."""

    def headers(self, turn: Turn) -> Headers:
        """Return the headers of what is published about a turn."""

    def published(self, turn: Turn, outgoing: Outgoing) -> None:
        """Hear that all effects of one of a turn's records are confirmed; `turn` is as it is now."""

    def lost(self, turns: Iterable[TurnKey]) -> None:
        """Hear that these turns are no longer this worker's."""


class Traced:
    """The open turns of one partition, as their publisher has them traced."""

    def __init__(self, turns: Mapping[TurnKey, Turn], tracer: Tracer) -> None:
        self._turns = turns
        self._tracer = tracer

    def headers(self, turn: TurnKey) -> Headers:
        """Return the headers of what is published about a turn."""
        known = self._turns.get(turn)
        return self._tracer.headers(known) if known is not None else ()

    def published(self, batch: Iterable[Outgoing]) -> None:
        """Pass on that all of this is confirmed."""
        for outgoing in batch:
            known = self._turns.get(outgoing.turn)
            if known is not None and outgoing.effects:
                self._tracer.published(known, outgoing)


def traced(turns: Mapping[TurnKey, Turn], tracer: Tracer | None) -> Traced | None:
    """Return these turns with their tracer, None where nothing is traced."""
    return Traced(turns, tracer) if tracer is not None else None
