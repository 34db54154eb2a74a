"""A runner's loop over one partition of requests and cancels, in one numbered order.

    1. plan       which calls are new (pure)
    2. journal    `started` for each of them, `finished` for those that ended; durable before anything else
    3. refuse     dead-letter what could not be read, and tell what was erased
    4. ack        the batch's source records, in offset order
    5. call       start the new calls, cancel those that are not wanted any more
    6. clear      remove what is left of calls that were erased

A crash before 2 is a batch that never was. After 2 the call counts as made: a successor finds it started and reports it as
interrupted instead of making it again, and the turn worker decides what becomes of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from streams.inbox import Inbox
from streams.journal.partition import PartitionJournal
from streams.ports import Clock, Fatal, Producer
from streams.runner.desk import CallDesk, CallDone, Input
from streams.runner.kind import CallKey, CallKind, CallMaker, R
from streams.runner.tracer import CallTracer
from streams.sources import DeadLetterBox, Source
from topics import codec, names
from topics.names import Names
from topics.records import Erased

EXPIRY_S = 60.0


@dataclass(frozen=True, slots=True)
class Ports:
    """What all partitions' loops of a runner share. `tracer` traces its calls, `refused` counts errors of bad records."""

    producer: Producer
    names: Names
    worker: str
    clock: Clock
    fatal: Fatal
    tracer: CallTracer[Any] | None = None
    refused: Callable[[str], None] = lambda _: None


class CallLoop(Generic[R]):
    """Owns the calls of one kind in one partition."""

    def __init__(
        self,
        partition: int,
        kind: CallKind[R],
        desk: CallDesk[R],
        maker: CallMaker[R],
        journal: PartitionJournal,
        ports: Ports,
    ) -> None:
        self._partition = partition
        self._kind = kind
        self._desk = desk
        self._maker = maker
        self._journal = journal
        self._ports = ports
        self._dead_letters = DeadLetterBox(ports.producer, ports.names, ports.worker, ports.clock)
        self._inbox: Inbox[Input] = Inbox()
        self._tasks: list[asyncio.Task[None]] = []
        self._expiry_due = False
        #: How many requests were delivered whose calls have not been started yet.
        self.requests_waiting = 0

    def start(self, interrupted: Sequence[CallKey]) -> None:
        """Begin: report the calls that a dead predecessor left behind, then take inputs in."""
        self._tasks = [
            asyncio.create_task(self._guarded(self._ingest(interrupted)), name=f"calls of partition {self._partition}"),
            asyncio.create_task(self._guarded(self._watch_clock()), name=f"clock of partition {self._partition}"),
        ]

    async def stop(self) -> None:
        """Stop at once, and abandon the partition's calls: its next owner reports them as interrupted."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        self._inbox.close()
        await self._maker.abandon([self._partition])
        if self._ports.tracer is not None:
            self._ports.tracer.lost(self._partition)

    async def deliver(self, source: Source) -> None:
        """Add a source record to the inbox; waits while the inbox is full."""
        await self._inbox.deliver(source, source.size)
        if source.topic is self._kind.requests:
            self.requests_waiting += 1

    async def _ingest(self, interrupted: Sequence[CallKey]) -> None:
        await self._report(interrupted)
        while True:
            await self._apply(await self._inbox.take())
            await self._expire()

    async def _report(self, interrupted: Sequence[CallKey]) -> None:
        topic = self._ports.names.topic(self._kind.answers)
        for call in interrupted:
            self._kind.log_interrupted(call)
        sent = [
            await self._ports.producer.send(
                topic, self._partition, call.turn.thread.encode(), codec.encode(self._kind.interrupted(call))
            )
            for call in interrupted
        ]
        for one in sent:
            await one
        now = self._ports.clock()
        await self._journal.append([self._desk.finished(call, now) for call in interrupted])
        self._journal.clear(self._desk.leftovers())
        await self._journal.flush()
        if self._ports.tracer is not None:
            for call, (parent, began) in self._desk.causes.items():
                self._ports.tracer.interrupted(call, parent, began, now)
            self._desk.causes.clear()

    async def _apply(self, batch: Sequence[Input]) -> None:
        now = self._ports.clock()
        plan = self._desk.take(batch, now)  # 1
        await self._journal.append(plan.rows)  # 2
        await self._dead_letters.put(plan.refused)  # 3
        await self._tell(plan.told)
        for refused in plan.refused:
            self._ports.refused(refused.error)
        for item in batch:  # 4
            if isinstance(item, Source):
                item.ack()
        for request, parent in zip(plan.starts, plan.parents, strict=True):  # 5
            if self._ports.tracer is not None and parent is not None:
                self._ports.tracer.started(request, parent, now)
            self._maker.start(request, self._done)
        self.requests_waiting -= sum(isinstance(item, Source) and item.topic is self._kind.requests for item in batch)
        for cancel in plan.cancels:
            self._maker.cancel(cancel)
        self._journal.clear(self._desk.leftovers())  # 6
        await self._journal.flush()

    async def _tell(self, told: Sequence[Erased]) -> None:
        topic = self._ports.names.topic(names.ERASURES)
        sender = self._ports.producer.send
        for sent in [await sender(topic, self._partition, one.id.encode(), codec.encode(one)) for one in told]:
            await sent

    async def _done(self, request: R, end: object) -> None:
        if self._ports.tracer is not None:
            self._ports.tracer.ended(request, end, self._ports.clock())
        self._inbox.put(CallDone(CallKey.of(request)))

    async def _watch_clock(self) -> None:
        while True:
            await asyncio.sleep(EXPIRY_S)
            self._expiry_due = True
            self._inbox.nudge()

    async def _expire(self) -> None:
        if self._expiry_due:
            self._expiry_due = False
            self._journal.clear(self._desk.expired(self._ports.clock()))
            await self._journal.flush()

    async def _guarded(self, run: Coroutine[Any, Any, None]) -> None:
        try:
            await run
        except asyncio.CancelledError:
            raise
        except BaseException as exc:  # noqa: BLE001 - whatever it is, going on would skip a record
            self._ports.fatal(exc)
