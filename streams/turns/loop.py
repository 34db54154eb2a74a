"""The ingest loop of one partition: the only place where records are acknowledged, in one numbered order.

A batch is everything that waits. For each batch, in this order:

    1. plan       the desk decides what follows (pure)
    2. journal    append every record of the plan, and what threads remember; return once durable and the fence held
    3. refuse     dead-letter what was not taken, answer whoever wants something erased, and wait until that is durable
    4. publish    hand the effects to the publisher, which sends them in order while the loop goes on
    5. ack        acknowledge the batch's source records, in offset order
    6. work       let the turns that were touched have their chains run
    7. clear      remove what closed turns and long threads left in the journal: with the next append, if one is due

A crash before 2 is a batch that never was: its sources come again. A crash after 2 is mended by replay: what was to be
published is owed until a later record says that it was confirmed. Nothing slow happens here: chains run as chores, and
their results come back through the same inbox. An unexpected exception ends the process before another acknowledgement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from streams.gate import events
from streams.inbox import Inbox
from streams.journal.partition import PartitionJournal
from streams.journal.writer import Row
from streams.ports import Clock, Fatal, Producer, Reader
from streams.sources import DeadLetterBox, Source
from streams.turns.chores import Chores
from streams.turns.desk import Desk
from streams.turns.erasures import owed_subject
from streams.turns.inputs import Input, News
from streams.turns.observer import Observer
from streams.turns.plan import Plan
from streams.turns.publisher import Publisher
from streams.turns.repeater import Repeater
from streams.turns.timing import Timing
from streams.turns.tracer import Tracer, traced
from topics import codec, names
from topics.ids import TurnKey
from topics.names import Names

TICK_S = 0.25
#: A clock that moved this much between two ticks means that the process was stopped, or its machine.
PAUSE_S = 2.0
EXPIRY_S = 60.0


@dataclass(frozen=True, slots=True)
class Ports:
    """What all partitions' loops of a worker share."""

    producer: Producer
    reader: Reader
    names: Names
    worker: str
    clock: Clock
    fatal: Fatal
    observer: Observer
    tracer: Tracer | None = None


class PartitionLoop:
    """Owns one partition: its desk, its journal, its publisher and its turns' chores."""

    def __init__(self, desk: Desk, journal: PartitionJournal, chores: Chores, ports: Ports) -> None:
        self.desk = desk
        self._journal = journal
        self._chores = chores
        self._ports = ports
        self._dead_letters = DeadLetterBox(ports.producer, ports.names, ports.worker, ports.clock)
        self._publisher = Publisher(
            desk.partition, ports.names, ports.producer, self._confirmed, traced(desk.turns, ports.tracer)
        )
        self._repeater = Repeater(desk.partition, ports.names, ports.producer, ports.reader)
        self._timing = Timing(desk, ports.observer, ports.clock)
        self._inbox: Inbox[Input] = Inbox()
        self._expiry_due = False
        self._ticked = False
        self._tasks: list[asyncio.Task[None]] = []
        #: How many requests were delivered whose turns the desk does not know yet.
        self.requests_waiting = 0

    def start(self, owed: Plan) -> None:
        """Begin: first publish what the journal says is `owed`, then go on with the open turns, then take inputs in."""
        self._chores.report_to(self.tell)
        self._publisher.put(owed.outgoing)
        self._tasks = [
            asyncio.create_task(self._guarded(run), name=f"partition {self.desk.partition} {name}")
            for name, run in (
                ("ingest", self._ingest(owed)),
                ("publish", self._publisher.run()),
                ("repeat", self._repeater.run()),
                ("clock", self._watch_clock()),
            )
        ]

    async def stop(self) -> None:
        """Stop at once. What is journaled is owed to readers and will be published by the partition's next owner."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        self._inbox.close()
        await self._chores.stop()
        self._ports.observer.lost(self.desk.partition)
        if self._ports.tracer is not None:
            self._ports.tracer.lost(self.desk.turns)

    async def deliver(self, source: Source) -> None:
        """Add a source record to the inbox; waits while the inbox is full."""
        self._timing.read()
        await self._inbox.deliver(source, source.size)
        if source.topic is names.REQUESTS:
            self.requests_waiting += 1

    async def deliver_all(self, sources: Sequence[Source]) -> None:
        """Add source records of one topic to the inbox, all at once; waits while the inbox is full."""
        self._timing.read()
        await self._inbox.deliver_all(sources, [source.size for source in sources])
        if sources and sources[0].topic is names.REQUESTS:
            self.requests_waiting += len(sources)

    def tell(self, key: TurnKey, event: events.Event) -> None:
        """Add news about a turn to the inbox."""
        self._inbox.put(News(key, event))

    # -- the loop -----------------------------------------------------------------------------------------------------

    async def _ingest(self, owed: Plan) -> None:
        await self._journal.append(owed.remember)
        await self._answer(owed)
        await self._clear(owed)
        for start in self.desk.startable():
            self._inbox.put(start)
        self._give_work(owed)
        while True:
            # Journaling is quicker than publishing what follows from it; what is not published yet is kept in memory.
            await self._publisher.room()
            await self._apply(await self._inbox.take())
            await self._expire()

    async def _apply(self, batch: Sequence[Input]) -> None:
        sources = [item for item in batch if isinstance(item, Source)]
        began = self._ports.clock()
        self._timing.taken(began)
        plan = self.desk.take(batch, round(began, 3))  # 1
        self.requests_waiting -= sum(source.topic is names.REQUESTS for source in sources)
        self._ticked = False
        rows = [Row(str(key), record.n, record.encode()) for key, record in plan.journal]
        await self._journal.append([*plan.decided, *rows, *plan.remember])  # 2
        self._timing.journaled(began)
        await self._dead_letters.put(plan.refused)  # 3
        await self._answer(plan)
        self._timing.put(plan)
        self._publisher.put(plan.outgoing)  # 4
        if plan.outgoing:
            await asyncio.sleep(0)  # readers wait for what is sent now, and for nothing of what follows
        for source in sources:  # 5
            source.ack()
        self._give_work(plan)  # 6
        await self._clear(plan)  # 7
        self._repeater.put(plan.repeats)
        self._ports.observer.applied(plan, len(sources))
        self._ports.observer.open_turns(self.desk.partition, len(self.desk.turns))
        self._ports.observer.waiting(self.desk.partition, len(self._inbox), self._publisher.backlog)

    async def _answer(self, plan: Plan) -> None:
        """Tell operators what was erased, or why not; what was owed to them in the journal goes with the rest."""
        sender = self._ports.producer.send
        topic = self._ports.names.topic(names.ERASURES)
        sent = [
            await sender(topic, self.desk.partition, answer.id.encode(), codec.encode(answer))
            for answer in plan.answers
        ]
        for one in sent:
            await one

    def _give_work(self, plan: Plan) -> None:
        for key in plan.touched:
            turn = self.desk.turns.get(key)
            self._chores.reconcile(key, turn, self.desk.work(key))

    async def _clear(self, plan: Plan) -> None:
        self._journal.clear_but_last([str(key) for key in plan.closed])
        for trim in plan.trims:
            self._journal.clear_before(trim.subject, trim.keep_from)
        told = [answer for answer in plan.answers if not answer.refused]
        await self._journal.append([self.desk.erasures.told(answer) for answer in told])
        self._journal.clear([*plan.erased, *map(owed_subject, told)])
        if not self._inbox:
            await self._journal.flush()

    async def _expire(self) -> None:
        """Remove closed turns that no duplicate can ask for any more. Here, because only this task appends."""
        if self._expiry_due:
            self._expiry_due = False
            self._journal.clear(self.desk.expired(self._ports.clock()))
            await self._journal.flush()

    # -- beside it ----------------------------------------------------------------------------------------------------

    async def _watch_clock(self) -> None:
        since_expiry = 0.0
        listening_since = last = self._ports.clock()
        while True:
            await asyncio.sleep(TICK_S)
            now = self._ports.clock()
            if now - last > PAUSE_S:
                # This process stood still; what was written meanwhile is still to be read.
                listening_since = now
            last = now
            self._timing.count_held(now)
            if not self._ticked:  # those from before are still to be taken in
                for tick in self.desk.overdue(now, listening_since):
                    self._inbox.put(tick)
                    self._ticked = True
            since_expiry += TICK_S
            if since_expiry >= EXPIRY_S:
                since_expiry = 0.0
                self._expiry_due = True
                self._inbox.nudge()

    def _confirmed(self, key: TurnKey, n: int, terminal_offset: int | None) -> None:
        self.desk.confirmed(key, n)
        self._timing.confirmed(key, n)
        if terminal_offset is not None:
            self.tell(key, events.Published(n, terminal_offset))

    async def _guarded(self, run: Coroutine[Any, Any, None]) -> None:
        try:
            await run
        except asyncio.CancelledError:
            raise
        except BaseException as exc:  # noqa: BLE001 - whatever it is, going on would skip a record
            self._ports.fatal(exc)
