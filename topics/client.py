"""The Python client: submit turns, and follow what is released of them.

    async with TurnClient("127.0.0.1:9092") as client:
        turn = await client.submit("What is Kafka?", thread_id="t-1")
        async for frame in client.follow(turn, timeout_s=60):
            ...

Each `follow` has a consumer of its own on the one partition of its turn: one connection, and every record of that
partition from its start on, of which other turns' records are dropped by key without being decoded. That is simple and
right for a command, a test or dozens of turns. Whoever follows very many at once uses `follow_all` and sorts by turn.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from topics import codec
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.errors import RecordTooLargeError, TopicLayoutError, TopicsError, WireError
from topics.fold import TurnView, fold
from topics.ids import TurnKey
from topics.names import RELEASED, RELEASED_FRAMES, REQUESTS, Names
from topics.records import CancelTurn, ReleasedFrame, TurnRequest
from topics.trace_context import headers_in

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
    from types import TracebackType

    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord

logger = logging.getLogger(__name__)

#: How many turns a client remembers: where the text of its own starts, and which of all have ended.
REMEMBERED_TURNS = 10_000
_POLL_MS = 200

#: Puts the trace context of its caller into a mapping.
Inject: TypeAlias = Callable[[MutableMapping[str, str]], object]


class ContradictedTextError(TopicsError):
    """Released frames disagree about a turn's text: a fault of whoever wrote them; show none of it."""


class TurnClient:
    """Submits turns to one pipeline and follows what it releases; an async context manager.

    `connection` is a `Connection`, or `host:port` for one without security. Entering raises `BrokerUnreachableError`
    when no broker answers, and `TopicLayoutError` when the pipeline's topics are missing or wrong. A client that is only
    allowed to see `released` can follow and not submit. `inject` says which trace a turn belongs to: given an empty
    mapping when one is submitted, it puts `traceparent` there, as OpenTelemetry's `propagate.inject` does.
    """

    def __init__(
        self, connection: Connection | str, names: Names | None = None, *, inject: Inject | None = None
    ) -> None:
        self._connection = Connection(connection) if isinstance(connection, str) else connection
        self._names = names or Names()
        self._requests = self._names.topic(REQUESTS)
        self._released = self._names.topic(RELEASED_FRAMES)
        self._inject = inject
        self._stack = AsyncExitStack()
        self._may_submit = False
        self._started: tuple[AIOKafkaProducer, AIOKafkaConsumer, int] | None = None
        self._starts: OrderedDict[TurnKey, int] = OrderedDict()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            partitions = await self._look_at_topics()
            producer = await stack.enter_async_context(self._connection.producer())
            positions = await stack.enter_async_context(self._connection.consumer())
            self._stack = stack.pop_all()
        self._started = (producer, positions, partitions)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._started = None
        await self._stack.aclose()

    @property
    def partitions(self) -> int:
        """The number of partitions that the pipeline's turn topics have."""
        return self._running()[2]

    async def submit(self, request: TurnRequest | str, **fields: Any) -> TurnKey:
        """Publish a turn and return its identity once the broker has it.

        `request` is a whole `TurnRequest`, or the user's text, with any of the record's other `fields` by name; a
        `thread_id` or `turn_id` that is not given is made up. To submit a turn again (after an error, say) changes
        nothing: give the same `turn_id`.

        Raises:
            TypeError: a field that requests do not have, or fields beside a whole request.
            pydantic.ValidationError: a field has the wrong type; never quotes its value.
            RecordTooLargeError: the request is larger than a record may be.
            TopicLayoutError: there is no `requests`, or this client may not see it.
            BrokerUnreachableError: the broker did not confirm it; it may have it nonetheless.
        """
        if not isinstance(request, TurnRequest):
            request = _request(request, fields)
        elif fields:
            raise TypeError(f"give these in the TurnRequest, not beside it: {', '.join(sorted(fields))}")
        if request.turn not in self._starts:
            # What is released of this turn comes after what is there now. The embedded broker tells a lower end than
            # the true one, which only means to skip a few records more.
            self._starts[request.turn] = (await self._ends([self._partition(request.turn)])).popitem()[1]
            if len(self._starts) > REMEMBERED_TURNS:
                self._starts.popitem(last=False)
        await self._publish(request)
        return request.turn

    async def cancel(self, turn: TurnKey) -> None:
        """Ask for an open turn to be ended; it ends with a `cancelled` frame, unless it ended before.

        Raises:
            BrokerUnreachableError: the broker did not confirm it.
        """
        await self._publish(CancelTurn(**turn._asdict()))

    async def follow(
        self, turn: TurnKey | str, *, timeout_s: float | None = None
    ) -> AsyncGenerator[ReleasedFrame, None]:
        """Yield what is released of `turn`, folded: in order, nothing twice, up to and with the terminal frame.

        Frames published before the call are yielded too, as long as the broker keeps them. Show texts as they come, and
        drop a step's text on `reset`; see `topics.fold` for what else holds. `turn` may also be a `turn_id`, or what
        `str(turn)` gives. For a bare `turn_id` that this client did not submit, all partitions are searched for the
        first turn of that name.

        Raises:
            TimeoutError: nothing of the turn came for `timeout_s` seconds.
            ContradictedTextError: the frames disagree about the text.
        """
        async with aclosing(self.watch(turn, timeout_s=timeout_s)) as views:
            async for view in views:
                for frame in view.news:
                    yield frame

    async def run(self, request: TurnRequest | str, *, timeout_s: float | None = None, **fields: Any) -> TurnView:
        """Submit a turn, wait for its end, and return it; arguments and errors are those of `submit` and `follow`."""
        turn = await self.submit(request, **fields)
        view = TurnView(turn)
        async with aclosing(self.watch(turn, timeout_s=timeout_s)) as views:
            async for view in views:  # noqa: B007 - the last one is the result
                pass
        return view

    async def watch(self, turn: TurnKey | str, *, timeout_s: float | None = None) -> AsyncGenerator[TurnView, None]:
        """Yield the state of `turn` after every frame that changes it; otherwise as `follow`."""
        wanted = self._find(turn)
        starts = self._reading_starts(wanted)
        view = TurnView(wanted) if isinstance(wanted, TurnKey) else None
        # From which offset on all of the turn has been read: only then is a contradiction one.
        whole_from = None if any(starts.values()) else 0
        async with self._reading(starts) as consumer:
            quiet_since = asyncio.get_running_loop().time()
            while True:
                for record in await self._poll(consumer):
                    frame = self._frame_of(record, view.turn if view else wanted)
                    if frame is None:
                        continue
                    quiet_since = asyncio.get_running_loop().time()
                    view = fold(view or TurnView(frame.turn), frame)
                    if view.news:
                        yield view
                    if view.closed:
                        return
                    if whole_from is None and (view.pending or view.contradicted):
                        # An ending without its text: the turn began earlier than where this reader began, for example
                        # because another process had submitted it before. Read it all, once.
                        whole_from = record.offset
                        await consumer.seek_to_beginning()
                        break
                    if view.contradicted and whole_from is not None and record.offset >= whole_from:
                        raise ContradictedTextError(
                            f"The released frames of turn {view.turn} disagree about its text at {record.topic}/"
                            f"{record.partition}, offset {record.offset}: discard what was shown of it, and look for a "
                            "second pipeline that writes to this prefix."
                        )
                if timeout_s is not None and asyncio.get_running_loop().time() - quiet_since > timeout_s:
                    raise TimeoutError(
                        f"Nothing of turn {turn} was released for {timeout_s:g} s: do a turn worker and a model runner "
                        f"run on {self._connection.bootstrap_servers} with the prefix {self._names.prefix!r}?"
                    )

    async def follow_all(self, *, from_beginning: bool = False) -> AsyncGenerator[ReleasedFrame, None]:
        """Yield what is released of all turns, each folded, until the caller stops; from now on, or all that is kept.

        Of a turn that began before, texts are not shown, as what precedes them is missing: only its terminal frame is.
        """
        starts = dict.fromkeys(range(self.partitions), 0)
        if not from_beginning:
            starts = await self._ends(starts)
        views: OrderedDict[TurnKey, TurnView] = OrderedDict()
        async with self._reading(starts) as consumer:
            while True:
                for record in await self._poll(consumer):
                    frame = self._frame_of(record, None)
                    if frame is None:
                        continue
                    view = fold(views.get(frame.turn) or TurnView(frame.turn), frame)
                    for news in view.news:
                        yield news
                    if view.pending and not view.closed:
                        yield view.pending
                        view = replace(view, terminal=view.pending)
                    if view.closed:
                        # All that is needed from now on is to know that it ended.
                        view = TurnView(view.turn, pending=view.pending, terminal=view.terminal)
                    views[frame.turn] = view
                    views.move_to_end(frame.turn)
                    if len(views) > REMEMBERED_TURNS:
                        views.popitem(last=False)

    async def _look_at_topics(self) -> int:
        """Return the partition count, and find out whether there is a topic to submit to."""
        admin = TopicAdmin(self._connection, self._names)
        states = await admin.describe()
        counts = [states[name].partitions for name in (self._released, self._requests) if name in states]
        self._may_submit = self._requests in states
        if self._released in states and len(set(counts)) == 1:
            return counts[0]
        return await admin.require()

    def _running(self) -> tuple[AIOKafkaProducer, AIOKafkaConsumer, int]:
        if self._started is None:
            raise RuntimeError("this TurnClient is not open: use it inside `async with TurnClient(...) as client:`")
        return self._started

    def _find(self, turn: TurnKey | str) -> TurnKey | str:
        """Return the identity of `turn`, or its bare id if only that is known."""
        if isinstance(turn, TurnKey):
            return turn
        if "/" in turn:
            return TurnKey.parse(turn)
        return next((mine for mine in reversed(self._starts) if mine.turn_id == turn), turn)

    def _partition(self, turn: TurnKey) -> int:
        return turn.thread.partition(self.partitions)

    def _reading_starts(self, turn: TurnKey | str) -> dict[int, int]:
        """Return where to start reading, by partition, so that nothing of `turn` is missed."""
        if isinstance(turn, TurnKey):
            return {self._partition(turn): self._starts.get(turn, 0)}
        return dict.fromkeys(range(self.partitions), 0)

    async def _ends(self, partitions: Iterable[int]) -> dict[int, int]:
        """Return the end of each of these partitions of `released`."""
        places = [TopicPartition(self._released, number) for number in partitions]
        try:
            ends = await self._running()[1].end_offsets(places)
        except KafkaError as error:
            raise self._connection.unreachable(type(error).__name__) from error
        return {place.partition: offset for place, offset in ends.items()}

    async def _publish(self, record: TurnRequest | CancelTurn) -> None:
        producer = self._running()[0]
        turn = record.turn
        if not self._may_submit:  # and do not try: that may bring the topic into being
            raise TopicLayoutError(
                f"Turn {turn} was not submitted: there is no topic {self._requests}, or this client may not see it. Run "
                "`turngate topics create`, or ask for permission to write to it."
            )
        value = codec.encode(record)
        carrier: dict[str, str] = {}
        if self._inject is not None:
            self._inject(carrier)
        headers = list(headers_in(carrier)) or None
        try:
            await producer.send_and_wait(
                self._requests, value, key=turn.thread.encode(), partition=self._partition(turn), headers=headers
            )
        except MessageSizeTooLargeError as error:
            raise RecordTooLargeError(
                f"Turn {turn} was not submitted: its request has {len(value)} bytes, and a record must stay below "
                "1 MB. Send images and files by url, or shorten the history."
            ) from error
        except KafkaError as error:
            raise self._connection.unreachable(type(error).__name__) from error

    @asynccontextmanager
    async def _reading(self, starts: Mapping[int, int]) -> AsyncIterator[AIOKafkaConsumer]:
        """Yield a consumer of `released` that starts at these offsets; one behind the oldest record starts there."""
        self._running()
        async with self._connection.consumer() as consumer:
            places = {TopicPartition(self._released, number): offset for number, offset in starts.items()}
            consumer.assign(list(places))
            for place, offset in places.items():
                consumer.seek(place, offset)
            yield consumer

    async def _poll(self, consumer: AIOKafkaConsumer) -> list[ConsumerRecord]:
        """Return what has come, or nothing after a moment."""
        self._running()
        try:
            batches = await consumer.getmany(timeout_ms=_POLL_MS)
        except KafkaError as error:
            raise self._connection.unreachable(type(error).__name__) from error
        return [record for batch in batches.values() for record in batch]

    def _frame_of(self, record: ConsumerRecord, turn: TurnKey | str | None) -> ReleasedFrame | None:
        """Return the frame that `record` holds, or None if it is not about `turn` (None is any) or unreadable."""
        if isinstance(turn, TurnKey) and record.key != turn.thread.encode():
            return None
        try:
            frame = codec.decode(record.value, RELEASED)
        except WireError as error:
            # Only turn workers write here, so this is a newer one, or somebody who should not be able to.
            logger.warning("skipped %s/%s offset %s: %s", record.topic, record.partition, record.offset, error)
            return None
        if turn is None or turn in {frame.turn, frame.turn_id}:
            return frame
        return None


def _request(text: str, fields: dict[str, Any]) -> TurnRequest:
    """Return the request for a user's `text`, with made-up ids where `fields` has none."""
    if unknown := sorted(fields.keys() - TurnRequest.model_fields.keys()):
        raise TypeError(f"a TurnRequest has no {', '.join(unknown)}")
    ids = {"thread_id": str(uuid.uuid4()), "turn_id": str(uuid.uuid4())}
    return TurnRequest.model_validate({**ids, **fields, "message": text})
