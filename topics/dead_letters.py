"""Look at what workers refused, and send it again.

A dead letter says where the refused record is and why it was refused, and holds nothing of it. The record itself stays
on its topic for as long as that retains it; it is fetched from there, and its content shown only to who asks for it.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from topics import codec
from topics.admin import TopicAdmin
from topics.errors import TopicLayoutError, TopicsError, WireError
from topics.names import CANCELS, DEAD_LETTER, DEAD_LETTERS, FRAMES, PROMPTS, REQUESTS, TOOL_CALLS, TOOL_RESULTS, Names
from topics.snapshots import to_the_end
from topics.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aiokafka import ConsumerRecord

    from topics.connection import Connection
    from topics.records import DeadLetter

logger = logging.getLogger(__name__)

#: What may be sent again: the topics that workers take their work from, all keyed by thread.
REPLAYABLE = (REQUESTS, PROMPTS, FRAMES, CANCELS, TOOL_CALLS, TOOL_RESULTS)
#: How long to wait, in seconds, for a record that should be there; the embedded broker does not tell reliably whether.
_RECORD_LIMIT_S = 3.0


class DeadLetterNotFoundError(TopicsError):
    """No dead letter has this id: it is misspelt, or older than what the topic retains."""


class OriginGoneError(TopicsError):
    """The refused record is no longer on its topic, or the topic is gone: it cannot be shown or sent again."""


class NotReplayableError(TopicsError):
    """To send the refused record again would change nothing, or cannot be done: the message says why."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A refused record: where it is, its key, its size in bytes, and when it was written (seconds since the epoch).

    `value` is its content where that was asked for, and None otherwise, as for a record without one (`size` is 0 then).
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    size: int
    at: float
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Shown:
    """A dead letter with its record, or with the reason why there is none."""

    letter: DeadLetter
    origin: Origin | None
    gone: str | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """What was done: the record of `letter` is now also at this place, `moved` there from a wrong partition or key."""

    letter: DeadLetter
    topic: str
    partition: int
    offset: int
    moved: bool
    note: str = (
        "Sent again. To send it once more does no harm: a record is known by its turn, step, attempt and number, and one "
        "that was taken already changes nothing. If it is refused again, there will be a new dead letter."
    )


class DeadLetters:
    """The dead letters of the pipeline that `names` describes, on the broker that `connection` reaches.

    Each method opens its own connection and closes it. All of them raise `BrokerUnreachableError` when nobody answers,
    and `TopicLayoutError` when the pipeline's topics are missing.
    """

    def __init__(self, connection: Connection, names: Names | None = None) -> None:
        self._connection = connection
        self._names = names or Names()

    async def list(self) -> Sequence[DeadLetter]:
        """Return all that are kept, oldest first; one that was written twice is there once."""
        return await self._read(await self._partitions())

    async def show(self, letter_id: str, *, with_content: bool = False) -> Shown:
        """Return the dead letter `letter_id` and what is known of its record; its value only `with_content`.

        Raises:
            DeadLetterNotFoundError: there is no such letter.
        """
        partitions = await self._partitions()
        letter = await self._find(letter_id, partitions)
        try:
            record = await self._fetch(letter, partitions)
        except OriginGoneError as error:
            return Shown(letter, None, str(error))
        value = record.value if with_content else None
        size = len(record.value or b"")
        place = (record.topic, record.partition, record.offset)
        return Shown(letter, Origin(*place, record.key, size, record.timestamp / 1000, value))

    async def replay(self, letter_id: str) -> Replay:
        """Publish the record of dead letter `letter_id` again, to the same topic, byte for byte.

        It goes to the partition of the thread that its value names, with that thread's key, which mends a record that
        was refused for being in the wrong one; if the value names none, it goes where it was. A record that cannot be
        read as Kafka stores it is made anew from its value, without the headers that it may have had.

        Raises:
            DeadLetterNotFoundError: there is no such letter.
            NotReplayableError: the record's topic is not one that workers take work from, or not even the record's
                value can be read.
            OriginGoneError: the record is no longer there.
        """
        partitions = await self._partitions()
        letter = await self._find(letter_id, partitions)
        if letter.origin_topic not in {self._names.topic(topic) for topic in REPLAYABLE}:
            raise NotReplayableError(
                f"Dead letter {letter.id} is about {letter.origin_topic}, which is not a topic that workers of the "
                f"prefix {self._names.prefix!r} take work from, so it was not sent again. Look at it with `turngate "
                f"dead-letters show {letter.id}`."
            )
        record = await self._fetch(letter, partitions)
        key, partition = record.key, record.partition
        value: bytes | None = record.value
        headers = list(record.headers)
        if isinstance(value, Unreadable):
            if not value:
                raise NotReplayableError(
                    f"The record of dead letter {letter.id} is damaged, so it cannot be sent again: {value.reason}."
                )
            value, headers = bytes(value), []
        turn = codec.identify(value)
        if turn is not None:
            key, partition = turn.thread.encode(), turn.thread.partition(partitions[record.topic])
        try:
            async with self._connection.producer() as producer:
                sent = await producer.send_and_wait(record.topic, value, key=key, partition=partition, headers=headers)
        except KafkaError as error:
            raise self._connection.unreachable(type(error).__name__) from error
        moved = (key, partition) != (record.key, record.partition)
        return Replay(letter, record.topic, partition, sent.offset, moved)

    async def _read(self, partitions: Mapping[str, int]) -> Sequence[DeadLetter]:
        name = self._names.topic(DEAD_LETTERS)
        letters: dict[str, DeadLetter] = {}
        try:
            async with self._connection.consumer() as consumer:
                places = [TopicPartition(name, number) for number in range(partitions[name])]
                async for record in to_the_end(self._connection, consumer, places):
                    try:
                        letter = codec.decode(record.value, DEAD_LETTER)
                    except WireError as error:
                        logger.warning("skipped %s/%s offset %s: %s", name, record.partition, record.offset, error)
                    else:
                        letters.setdefault(letter.id, letter)
        except KafkaError as error:
            raise self._connection.unreachable(type(error).__name__) from error
        return sorted(letters.values(), key=lambda letter: letter.at)

    async def _find(self, letter_id: str, partitions: Mapping[str, int]) -> DeadLetter:
        letters = await self._read(partitions)
        for letter in letters:
            if letter.id == letter_id:
                return letter
        raise DeadLetterNotFoundError(
            f"There is no dead letter {letter_id} among the {len(letters)} on {self._names.topic(DEAD_LETTERS)}. See "
            "`turngate dead-letters list`."
        )

    async def _partitions(self) -> dict[str, int]:
        """Return the partition counts of the topics that exist under the prefix, `dead-letters` among them."""
        states = await TopicAdmin(self._connection, self._names).describe()
        name = self._names.topic(DEAD_LETTERS)
        if name not in states:
            raise TopicLayoutError(
                f"There is no topic {name} on {self._connection.bootstrap_servers}: check --broker and TURNGATE_PREFIX, "
                "or run `turngate topics create`."
            )
        return {state.name: state.partitions for state in states.values()}

    async def _fetch(self, letter: DeadLetter, partitions: Mapping[str, int]) -> ConsumerRecord:
        """Return the record that `letter` is about."""
        place = TopicPartition(letter.origin_topic, letter.origin_partition)
        gone = OriginGoneError(
            f"The record of dead letter {letter.id} is no longer at {place.topic}/{place.partition}, offset "
            f"{letter.origin_offset}: its topic let go of it when its time was over, or was made anew. Ask its writer to "
            "send it again."
        )
        if place.partition >= partitions.get(place.topic, 0):
            raise gone  # and do not ask for it by name, which may bring the topic into being
        async with self._connection.consumer() as consumer:
            consumer.assign([place])
            consumer.seek(place, letter.origin_offset)
            try:
                async with asyncio.timeout(_RECORD_LIMIT_S):
                    record = await consumer.getone()
            except TimeoutError:
                raise gone from None
            except KafkaError as error:
                raise self._connection.unreachable(type(error).__name__) from error
        # An offset that is out of range, or was compacted away, gives another record.
        if record.offset != letter.origin_offset:
            raise gone
        return record
