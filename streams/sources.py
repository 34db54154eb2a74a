"""Records as workers read them, and what becomes of those that cannot be taken."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from streams.ports import Clock, Producer
from topics import codec, names
from topics.ids import TurnKey
from topics.names import Names, Topic
from topics.records import DeadLetter
from topics.trace_context import Headers

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Source:
    """One record read from `topic`, as it was on the wire. Calling `ack` lets its offset be committed.

    `written_at` is the record's timestamp in epoch seconds, None where it has none; `headers` are those that say its trace.
    Nobody changes one; it is not frozen because that makes each three times as dear, and there is one for every record.
    """

    topic: Topic
    partition: int
    offset: int
    value: bytes | None
    ack: Callable[[], object] = field(repr=False, compare=False)
    written_at: float | None = None
    headers: Headers = ()

    @property
    def size(self) -> int:
        """The value's length in bytes."""
        return len(self.value or b"")


@dataclass(frozen=True, slots=True)
class Refused:
    """A source record that was not taken: `error` is a class name, `reason` says what to do, without content."""

    source: Source
    error: str
    reason: str
    turn: TurnKey | None = None


class DeadLetterBox:
    """Writes dead letters: where a refused record is and why it was refused, never what it says."""

    def __init__(self, producer: Producer, topic_names: Names, worker: str, clock: Clock) -> None:
        self._producer = producer
        self._names = topic_names
        self._worker = worker
        self._clock = clock

    async def put(self, refused: Sequence[Refused]) -> None:
        """Write a dead letter for each; return once all are durable, so that their sources may be acknowledged."""
        for sent in [await self._send(one) for one in refused]:
            await sent

    async def _send(self, refused: Refused) -> asyncio.Future[int]:
        source, turn = refused.source, refused.turn
        topic = self._names.topic(source.topic)
        letter = DeadLetter(
            id=f"{topic}/{source.partition}/{source.offset}",
            origin_topic=topic,
            origin_partition=source.partition,
            origin_offset=source.offset,
            error=refused.error,
            reason=refused.reason,
            tenant=turn.tenant if turn else None,
            thread_id=turn.thread_id if turn else None,
            turn_id=turn.turn_id if turn else None,
            worker=self._worker,
            at=self._clock(),
            size=source.size,
        )
        log.warning("refused a record: %s at %s: %s", refused.error, letter.id, refused.reason)
        return await self._producer.send(
            self._names.topic(names.DEAD_LETTERS), source.partition, letter.id.encode(), codec.encode(letter)
        )
