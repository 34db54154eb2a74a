"""The hub: one reader of `released` for all readers of this gateway.

It starts a little before the end, so that it holds the turns that are open, and takes in all turns from there on. A turn
that is asked for and began earlier, or was let go, is read again by `recovery`. Nothing of a turn is shown before it is
whole: half a turn would be shown with a hole, or in the wrong order.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from streams.gateway.held import Held, Holding, Reader, time_of
from streams.gateway.recovery import Recovery
from streams.gateway.tail import extents
from topics import codec
from topics.errors import BrokerUnreachableError, WireError
from topics.fold import TurnView
from topics.ids import TurnKey
from topics.names import RELEASED, RELEASED_FRAMES, Names
from topics.records import TERMINAL_KINDS, ReleasedFrame

if TYPE_CHECKING:
    from aiokafka import AIOKafkaConsumer, ConsumerRecord

    from topics.connection import Connection

log = logging.getLogger(__name__)

_POLL_MS = 200
_RETRY_S = 1.0
#: How long a hub that starts waits, in seconds, until it holds what was there before it answers anybody.
_CATCH_UP_S = 20.0
#: How many frames are kept of a turn while it is read again; of one with more the reading starts over.
_MAX_LATE = 10_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a hub holds, and from when on it reads.

    `longest_turn_s` is how long a turn may take, and `lookback_s` has to be more: so all that was released of a turn that is
    open now comes after the hub's beginning.
    """

    max_turns: int = 20_000
    max_chars: int = 20_000_000
    lookback_s: float = 900.0
    longest_turn_s: float = 600.0


class Hub:
    """Reads `released` and tells readers; an async context manager.

    `seen` is told of every frame that is read, and of when it was written (epoch seconds).
    Entering raises `BrokerUnreachableError` when no broker answers. A broker that is lost later is waited for.
    """

    def __init__(
        self,
        connection: Connection,
        names: Names,
        partitions: int,
        bounds: Bounds,
        clock: Callable[[], float] = time.time,
        *,
        seen: Callable[[ReleasedFrame, float], None] | None = None,
    ) -> None:
        self._connection = connection
        self._seen = seen
        self._topic = names.topic(RELEASED_FRAMES)
        self._partitions = partitions
        self._bounds = bounds
        self._clock = clock
        self._turns = Holding(bounds.max_turns, bounds.max_chars)
        self._next: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._caught_up = asyncio.Event()
        #: Partitions of which everything that the broker has is held or was.
        self._from_the_first: set[int] = set()
        self._covered_since = 0.0
        self._recovery = Recovery(connection, self._topic, self._recovered)
        self._running: asyncio.Task[None] | None = None
        self.reading = False
        self.closing = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._covered_since = self._clock() - self._bounds.lookback_s
        async with self._consumer() as consumer:
            await self._find_beginnings(consumer)
        self._running = asyncio.create_task(self._run())
        with suppress(TimeoutError):
            async with asyncio.timeout(_CATCH_UP_S):
                await self._caught_up.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
        await self._recovery.stop()
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    def close(self) -> None:
        """Have every reader end its stream."""
        self.closing.set()
        for held in self._turns.newest_first():
            held.wake()

    # -- what readers ask ---------------------------------------------------------------------------------------------

    def expect(self, turn: TurnKey, *, new: bool) -> None:
        """Hold `turn`, which is about to be submitted; `new` if its id cannot have been submitted before.

        One that was submitted before and is open has been released in part since this hub covers all turns, or not at all.
        One that has ended gets its ending again.
        """
        if self._turns.get(turn) is not None:
            return
        now = self._clock()
        held = Held(TurnView(turn), whole=new or self._covers(now), began_at=now)
        if new:
            held.start = self._position(turn)
        self._put(turn, held)

    def find(self, turn: TurnKey, *, start: int | None = None) -> Held:
        """Return what is held of `turn`; it is read again from `start` (None: the oldest record) if that is not whole.

        Of a turn that nothing was ever released of, what is held is empty.
        """
        held = self._turns.get(turn)
        if held is None:
            held = Held(TurnView(turn), whole=self._partition(turn) in self._from_the_first)
            self._put(turn, held)
        if not held.whole and not held.recovering:
            held.recovering = True
            self._recovery.add(turn, self._partition(turn), start or 0, lambda: self._position(turn))
        return held

    @contextmanager
    def reader(self, turn: TurnKey, *, start: int | None = None) -> Iterator[tuple[Held, Reader]]:
        """Yield what is held of `turn`, and a reader that is told of its news."""
        held, reader = self.find(turn, start=start), Reader()
        held.readers.add(reader)
        try:
            yield held, reader
        finally:
            held.readers.discard(reader)

    async def whole(self, turn: TurnKey, *, limit_s: float) -> Held:
        """Return what is held of `turn` once it is whole.

        Raises:
            TimeoutError: that took longer than `limit_s` seconds.
        """
        with self.reader(turn) as (held, reader):
            async with asyncio.timeout(limit_s):
                while not held.whole:
                    await reader.news(limit_s)
        return held

    def recent(self, tenant: str, limit: int, right: Callable[[Held], bool] | None = None) -> list[Held]:
        """Return up to `limit` turns of `tenant` of which something was released or is expected, the latest first.

        Only those that are `right`, where that is given.
        """
        found: list[Held] = []
        for held in self._turns.newest_first():
            if held.view.turn.tenant == tenant and held.began_at is not None and (right is None or right(held)):
                found.append(held)
                if len(found) >= limit:
                    break
        return found

    # -- reading ------------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            try:
                async with self._consumer() as consumer:
                    for number, offset in self._next.items():
                        consumer.seek(TopicPartition(self._topic, number), offset)
                    self.reading = True
                    await self._read(consumer)
            except (KafkaError, BrokerUnreachableError, OSError) as error:
                log.warning("released is out of reach (%s): trying again", type(error).__name__)
            self.reading = False
            await asyncio.sleep(_RETRY_S)

    @asynccontextmanager
    async def _consumer(self) -> AsyncIterator[AIOKafkaConsumer]:
        async with self._connection.consumer() as consumer:
            consumer.assign([TopicPartition(self._topic, number) for number in range(self._partitions)])
            yield consumer

    async def _find_beginnings(self, consumer: AIOKafkaConsumer) -> None:
        """Find where to start: `lookback_s` before now, as the broker dates records."""
        places = [TopicPartition(self._topic, number) for number in range(self._partitions)]
        try:
            found = await extents(consumer, places, self._covered_since)
        except KafkaError as error:
            raise self._connection.unreachable(type(error).__name__) from error
        for place in places:
            oldest, at, end = found[place]
            self._next[place.partition], self._ends[place.partition] = at, end
            if at <= oldest:
                self._from_the_first.add(place.partition)

    async def _read(self, consumer: AIOKafkaConsumer) -> None:
        while True:
            batches = await consumer.getmany(timeout_ms=_POLL_MS)
            for place, records in batches.items():
                for record in records:
                    self._take(record)
                    self._next[place.partition] = record.offset + 1
            if not self._caught_up.is_set() and all(self._next[one] >= end for one, end in self._ends.items()):
                self._caught_up.set()

    def _take(self, record: ConsumerRecord) -> None:
        try:
            frame = codec.decode(record.value, RELEASED)
        except WireError as error:
            log.warning("skipped %s/%s offset %s: %s", record.topic, record.partition, record.offset, error)
            return
        at = time_of(record)
        if self._seen is not None:
            self._seen(frame, at)
        held = self._turns.get(frame.turn) or Held(TurnView(frame.turn))
        if held.start is None:
            held.whole = held.whole and self._is_first(frame, record.partition, at)
        if not held.recovering:
            held.take(frame, record.offset, at)
        elif len(held.late) < _MAX_LATE:
            held.late.append((frame, record.offset, at))
        if held.view.pending is not None and not held.view.closed and not held.recovering:
            held.whole = False  # an ending without its text: the turn began before this hub did
        self._put(frame.turn, held)
        if held.readers and not held.whole:
            self.find(frame.turn)
        held.wake()

    def _is_first(self, frame: ReleasedFrame, partition: int, at: float) -> bool:
        """Return whether a frame, the first one seen here of its turn, can stand for all that came before it."""
        if partition in self._from_the_first:
            return True
        first = frame.step == 0 and frame.offset == 0
        if frame.kind in TERMINAL_KINDS:
            # These two say the whole reply. Of the others this may be the second copy, which a repeated request gets.
            return first or frame.kind in {"completed", "blocked"}
        return first or self._covers(at)

    def _covers(self, at: float) -> bool:
        """Return whether a turn that was open at `at` can have been released only since this hub holds all turns."""
        return at - self._covered_since > self._bounds.longest_turn_s

    def _put(self, turn: TurnKey, held: Held) -> None:
        lost = [one for one in self._turns.put(turn, held) if one.start is not None]
        if lost:
            self._from_the_first.clear()
        if any(not one.view.closed for one in lost):
            # What comes of it from now on is not its beginning.
            self._covered_since = self._clock()

    def _recovered(self, turn: TurnKey, found: Held) -> None:
        """Take in what was read again of a turn."""
        held = self._turns.get(turn)
        if held is None:
            return
        late, held.late, held.recovering = held.late, [], False
        held.view, held.shown, held.whole = found.view, found.shown, len(late) < _MAX_LATE
        held.start = found.start
        if found.start is not None:
            held.began_at, held.changed_at = found.began_at, found.changed_at
        for one in late:
            held.take(*one)
        self._put(turn, held)
        if not held.whole:
            self.find(turn, start=held.start)
        held.wake()

    def _partition(self, turn: TurnKey) -> int:
        return turn.thread.partition(self._partitions)

    def _position(self, turn: TurnKey) -> int:
        return self._next[self._partition(turn)]
