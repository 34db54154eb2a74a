"""Publishes the effects of one partition's records, in order, and reports what is confirmed.

Everything waiting is sent at once; only terminal frames wait until all that comes before them is confirmed, so that usage
and text are on their topics before a reader is told that the turn is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from streams.gate.effects import Publish
from streams.ports import Producer
from streams.turns.desk import Outgoing
from streams.turns.tracer import Traced
from topics import codec
from topics.ids import TurnKey
from topics.names import Names

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
        before = [await self._send(out.turn, effect) for out in batch for effect in out.effects if not effect.terminal]
        for sent in before:
            await sent
        ends: dict[TurnKey, asyncio.Future[int]] = {}
        for out in batch:
            for effect in out.effects:
                if effect.terminal:
                    ends[out.turn] = await self._send(out.turn, effect)
        offsets = {turn: await sent for turn, sent in ends.items()}
        if self._traced is not None:
            self._traced.published(batch)
        for turn, n in {out.turn: out.n for out in batch}.items():
            self._on_confirmed(turn, n, offsets.get(turn))

    async def _send(self, turn: TurnKey, effect: Publish) -> asyncio.Future[int]:
        value = codec.encode(effect.record)
        topic = self._names.topic(effect.topic)
        if self._traced is None:
            return await self._producer.send(topic, self._partition, turn.thread.encode(), value)
        headers = self._traced.headers(turn)
        return await self._producer.send(topic, self._partition, turn.thread.encode(), value, headers)
