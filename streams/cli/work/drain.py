"""Tell how much a pipeline still has to do for those who have asked it: which is what an old prefix is waited for with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.cli import output, session
from streams.cli.failures import FAILED, OK, CommandError
from streams.gate.records import JournalError
from streams.turns.census import Census
from topics import codec
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.errors import WireError
from topics.ids import TurnKey
from topics.names import REQUEST, REQUESTS, Names
from topics.records import TurnRequest
from topics.snapshots import to_the_end

POLL_S = 1.0


@dataclass(frozen=True, slots=True)
class Left:
    """What is left to do: turns that are open, and requests that no worker has taken in yet."""

    open_turns: int
    requests_waiting: int

    @property
    def drained(self) -> bool:
        """Whether that is nothing."""
        return not self.open_turns and not self.requests_waiting

    def __str__(self) -> str:
        turns = output.count(self.open_turns, "open turn")
        return f"{turns}, {output.count(self.requests_waiting, 'request')} waiting"


def drain(*, wait: bool, timeout_s: float | None, as_json: bool, broker: str | None) -> int:
    """Print what is left, with `wait` until nothing is or `timeout_s` seconds are over; return the exit status.

    Raises:
        CommandError: the journal cannot be read.
        TopicLayoutError: there is no pipeline on this broker.
        BrokerUnreachableError: nobody answers.
    """
    settings = session.begin({"broker": broker})
    connection, names = session.connect(settings)
    try:
        left = asyncio.run(_drain(connection, names, wait=wait, timeout_s=timeout_s))
    except JournalError as error:
        raise CommandError(f"the turns' journal: {error}", FAILED) from None
    if as_json:
        output.json_line(
            {
                "prefix": settings.prefix,
                "open_turns": left.open_turns,
                "requests_waiting": left.requests_waiting,
                "drained": left.drained,
            }
        )
    else:
        output.line(f"{settings.prefix} has {left}.")
    if not left.drained:
        output.note(
            f"An open turn ends by its deadline at the latest ({settings.turn_timeout_s:g} s after its request, unless that "
            "says less), if turn workers run."
        )
    return OK if left.drained else FAILED


async def _drain(connection: Connection, names: Names, *, wait: bool, timeout_s: float | None) -> Left:
    partitions = await TopicAdmin(connection, names).require()
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    before: Left | None = None
    async with connection.consumer(group=names.group("turns")) as consumer:
        watch = Watch(connection, names, partitions, consumer)
        while True:
            left = await watch.look()
            late = deadline is not None and time.monotonic() >= deadline
            if left.drained or late or not wait:
                return left
            if left != before:
                output.note(str(left))
            before = left
            await asyncio.sleep(POLL_S)


class Watch:
    """Looks at a pipeline of `partitions` partitions again and again; each record of its journal is read once.

    `consumer` is one that can tell what the turn workers have committed.
    """

    def __init__(self, connection: Connection, names: Names, partitions: int, consumer: AIOKafkaConsumer) -> None:
        self._connection = connection
        self._consumer = consumer
        self._requests = [TopicPartition(names.topic(REQUESTS), number) for number in range(partitions)]
        self._journal = [TopicPartition(names.journal("turns"), number) for number in range(partitions)]
        self._censuses = [Census() for _ in range(partitions)]
        self._next: dict[TopicPartition, int] = {}

    async def look(self) -> Left:
        """Return what is left now.

        Requests are looked for first: one that is taken in meanwhile is an open turn then, and not overlooked.
        """
        asked = await self._asked()
        async for record in to_the_end(self._connection, self._consumer, self._journal, self._next):
            self._censuses[record.partition].apply(record.offset, record.key, record.value)
            self._next[TopicPartition(record.topic, record.partition)] = record.offset + 1
        waiting = {turn for number, turn in asked if not self._censuses[number].knows(turn)}
        return Left(sum(len(one.open()) for one in self._censuses), len(waiting))

    async def _asked(self) -> Sequence[tuple[int, TurnKey]]:
        """Return which turns the requests ask for that are not committed, each with its partition."""
        found: list[tuple[int, TurnKey]] = []
        starts = await self._committed()
        async for record in to_the_end(self._connection, self._consumer, self._requests, starts):
            try:
                request = codec.decode(record.value, REQUEST)
            except WireError:
                continue  # a worker refuses it, and opens no turn that lasts
            here = request.turn.thread.partition(len(self._requests)) == record.partition
            if here and isinstance(request, TurnRequest):
                found.append((record.partition, request.turn))
        return found

    async def _committed(self) -> Mapping[TopicPartition, int]:
        try:
            offsets = {place: await self._consumer.committed(place) for place in self._requests}
        except KafkaError as error:
            raise self._connection.unreachable(type(error).__name__) from error
        return {place: offset for place, offset in offsets.items() if offset is not None}
