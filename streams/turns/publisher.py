"""Publishes the effects of one partition's records, in order, and reports what is confirmed.

Everything waiting is sent at once; only terminal frames wait until all that comes before them is confirmed, so that usage
and text are on their topics before a reader is told that the turn is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from streams.journal.runs import Handed, Run, offsets_of
from streams.ports import Producer
from streams.turns.plan import Outgoing
from streams.turns.tracer import Traced
from topics import codec
from topics.ids import TurnKey
from topics.names import Names, Topic

#: Records whose effects may wait to be confirmed before no more are planned.
BACKLOG = 10_000

#: Told the turn, its last record whose effects are confirmed, and the terminal frame's offset if there was one.
Confirmed = Callable[[TurnKey, int, int | None], None]


class Publisher:
    """The outgoing side of one partition: `put` effects, `run` to send them. `traced` knows its turns' traces."""

    def __init__(
        self,
        partition: int,
        names: Names,
        producer: Producer,
        on_confirmed: Confirmed,
        traced: Traced | None = None,
    ) -> None:
        self._traced = traced
        self._partition = partition
        self._names = names
        self._producer = producer
        self._on_confirmed = on_confirmed
        self._waiting: list[Outgoing] = []
        self._under_way = 0
        self._wake = asyncio.Event()
        self._room = asyncio.Event()

    def put(self, outgoing: Sequence[Outgoing]) -> None:
        """Add effects to be published after those already waiting."""
        if outgoing:
            self._waiting.extend(outgoing)
            self._wake.set()

    @property
    def backlog(self) -> int:
        """How many records' effects are not confirmed yet."""
        return len(self._waiting) + self._under_way

    async def room(self) -> None:
        """Wait until the backlog is short enough for more to be put."""
        while self.backlog > BACKLOG:
            self._room.clear()
            await self._room.wait()

    async def run(self) -> None:
        """Publish what is put, until cancelled.

        Raises whatever the producer raises: the effects stay owed, and a restart publishes them from the journal.
        """
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._publish(self._take())
            self._under_way = 0
            self._room.set()

    def _take(self) -> Sequence[Outgoing]:
        """Return what waits; nothing may hold it longer than it takes to publish it, it can be large."""
        taken, self._waiting = self._waiting, []
        self._under_way = len(taken)
        return taken

    async def _publish(self, batch: Sequence[Outgoing]) -> None:
        before: dict[Topic, list[Handed]] = {}
        ends: dict[Topic, list[tuple[TurnKey, Handed]]] = {}
        for out in batch:
            key = out.turn.thread.encode()
            headers = () if self._traced is None else self._traced.headers(out.turn)
            for effect in out.effects:
                record = (key, codec.encode(effect.record), headers)
                if effect.terminal:
                    ends.setdefault(effect.topic, []).append((out.turn, record))
                else:
                    before.setdefault(effect.topic, []).append(record)
        for runs in [await self._send(topic, records) for topic, records in before.items()]:
            await offsets_of(runs)
        offsets: dict[TurnKey, int] = {}
        for topic, found in ends.items():
            runs = await self._send(topic, [record for _, record in found])
            offsets.update(zip([turn for turn, _ in found], await offsets_of(runs), strict=True))
        if self._traced is not None:
            self._traced.published(batch)
        for turn, n in {out.turn: out.n for out in batch}.items():
            self._on_confirmed(turn, n, offsets.get(turn))

    async def _send(self, topic: Topic, records: Sequence[Handed]) -> Sequence[Run]:
        return await self._producer.send_all(self._names.topic(topic), self._partition, records)
