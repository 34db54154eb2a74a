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
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from topics import codec
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.errors import MalformedRecordError, RecordTooLargeError, TopicsError, WireError
from topics.fold import TurnView, fold
from topics.ids import TurnKey
from topics.names import RELEASED, RELEASED_FRAMES, REQUESTS, Names
from topics.records import TERMINAL_KINDS, CancelTurn, ReleasedFrame, TurnRequest

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping
    from types import TracebackType

    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord

logger = logging.getLogger(__name__)

#: How many turns a client remembers: where the text of its own starts, and which of all have ended.
REMEMBERED_TURNS = 10_000
_POLL_MS = 200


class ContradictedTextError(TopicsError):
    """Released frames disagree about a turn's text: a fault of whoever wrote them; show none of it."""


class TurnClient:
    """Submits turns to one pipeline and follows what it releases; an async context manager.

    `connection` is a `Connection`, or `host:port` for one without security. Entering raises `BrokerUnreachableError`
    when no broker answers, and `TopicLayoutError` when the pipeline's topics are missing or wrong.
    """

    def __init__(self, connection: Connection | str, names: Names | None = None) -> None:
        self._connection = Connection(connection) if isinstance(connection, str) else connection
        self._names = names or Names()
        self._requests = self._names.topic(REQUESTS)
        self._released = self._names.topic(RELEASED_FRAMES)
        self._stack = AsyncExitStack()
        self._started: tuple[AIOKafkaProducer, AIOKafkaConsumer, int] | None = None
        self._starts: OrderedDict[TurnKey, int] = OrderedDict()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            partitions = await TopicAdmin(self._connection, self._names).require()
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
        `str(turn)` gives: of a bare `turn_id` that this client did not submit, all partitions are searched for the first
        turn of that name.

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
        key = self._find(turn)
        view = None if key is None else TurnView(key)
        starts = dict.fromkeys(range(self.partitions), 0) if key is None else self._places(key)
        rewound_at = None if any(starts.values()) else -1
        async with self._reading(starts) as consumer:
            async with aclosing(self._records(consumer, timeout_s, lambda: view)) as records:
                async for record, frame in records:
                    if view is None and frame.turn_id == turn:
                        view = TurnView(frame.turn)
                    if view is None:
                        continue
                    view = fold(view, frame)
