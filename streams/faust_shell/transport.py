"""Faust's Kafka clients, changed in how a fetch waits, what it brings and how, what is committed, and what a retry is."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from faust.exceptions import NotReady
from faust.transport.consumer import RecordMap
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, Message
from faust.types.tuples import ConsumerMessage
from mode import Service
from mode.utils.futures import maybe_async

from topics.producing import BatchingProducer, producer_of
from topics.reading import read_everything

#: How long the broker may hold a fetch while it has nothing, in milliseconds. Faust hard-codes 1,500, and a broker that
#: does not wake on data makes every quiet partition pay it.
FETCH_WAIT_MS = 20


class KafkaClient(driver.AIOKafkaConsumerThread):
    """What Faust calls the consumer's thread, without the thread: its Kafka client runs in the worker's event loop.

    With a thread every fetch waits for the interpreter's lock, twice, which takes as long as the fetch itself where single
    records come in. And a worker whose loop stands still sends no heartbeats any more: its group gives its partitions to
    one that works. It fetches with a short wait, and stumbles over no record.
    """

    #: There is no thread that would say when it has shut down.
    wait_for_shutdown = False

    def __init__(self, consumer: Consumer, *, loop: asyncio.AbstractEventLoop, **kwargs: Any) -> None:
        super().__init__(consumer, loop=loop, thread_loop=loop, **kwargs)
        self._calls: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        """Start here, as services do that have no thread."""
        await self._default_start()

    async def maybe_start(self) -> bool:
        """Start, unless that was done; return whether it was not."""
        return await Service.maybe_start(self)

    async def on_start(self) -> None:
        """Start the consumer: it is assigned nothing before it reads as it should."""
        await super().on_start()
        sealing = cast("Any", self.consumer.app).connection.sealing
        read_everything(self._ensure_consumer(), sealing, as_read=True)

    async def on_stop(self) -> None:
        """Leave the group: everything is committed by now."""
        if self._consumer is not None:
            await self._consumer.stop()

    def _stopped_set(self) -> None:
        self._stopped.set()

    async def _stop_children(self) -> None:
        await self._default_stop_children()

    async def _stop_futures(self) -> None:
        await self._default_stop_futures()

    async def _stop_exit_stacks(self) -> None:
        await self._default_stop_exit_stacks()

    async def call_thread(self, fun: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        """Call here what Faust would call in the thread; like there, it goes on if whoever called does not wait for it."""
        call = asyncio.ensure_future(maybe_async(fun(*args, **kwargs)))
        self._calls.add(call)
        call.add_done_callback(self._called)
        return await asyncio.shield(call)

    def _called(self, call: asyncio.Task[Any]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()  # whoever called has it, or went away

    def _create_worker_consumer(self, transport: driver.Transport) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = FETCH_WAIT_MS  # noqa: SLF001 - no setting reaches it
        if getattr(transport, "knows_transactions", False):
            # A request whose transaction was aborted was never made.
            consumer._isolation_level = "read_committed"  # noqa: SLF001 - Faust sets it for exactly-once alone
        return consumer

    async def getmany(self, active_partitions: set[TP] | None, timeout: float) -> RecordMap:  # noqa: ASYNC109 - Faust's
        """Fetch, without the task that other calls are: it may be cancelled, and brings nothing then."""
        consumer = self._ensure_consumer()
        # Faust passes None on too, whatever it says: all partitions, for an app that is only a client.
        active = cast("set[TP]", active_partitions)
        return await self._fetch_records(consumer, active, timeout, consumer._max_poll_records)  # noqa: SLF001

    def rewind(self, offsets: Mapping[TP, int]) -> None:
        """Have these partitions, as far as they are still assigned, fetched again from `offsets` on; never skip any."""
        consumer = self._ensure_consumer()
        assignment = consumer._subscription.subscription.assignment  # noqa: SLF001 - asking for a position would wait for it
        for tp, offset in offsets.items():
            place = driver.ensure_aiokafka_TP(tp)
            state = assignment.state_value(place) if assignment is not None else None
            if state is not None and state.has_valid_position and state.position > offset:
                consumer.seek(place, offset)


class Batch(ConsumerMessage):
    """All records that one fetch brought from one partition, as one message to Faust.

    It has the place of the last of them, so that acknowledging it acknowledges all, and a journal that is read up to it
    is read up to there. `records` are in offset order.
    """

    records: Sequence[Any] = ()


class Consumer(driver.Consumer):
    """Faust's consumer for agents that take batches, and acknowledge each partition's strictly in offset order."""

    def _new_consumer_thread(self) -> KafkaClient:
        return KafkaClient(self, loop=self.loop, beacon=self.beacon)

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> RecordMap:  # noqa: ASYNC109 - Faust's
        # Faust hands on its live set. If a rebalance empties it while a fetch waits, aiokafka takes the empty set for "all
        # partitions" and returns records that Faust then drops (faust-streaming#596).
        if active_partitions is None:
            return await super()._getmany(None, timeout)
        snapshot = set(active_partitions)
        if not snapshot:
            await asyncio.sleep(0)
            return {}
        return await super()._getmany(snapshot, timeout)

    async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, Message]]:  # noqa: ASYNC109 - Faust's
        """Fetch, and yield what came in batches, one for each partition.

        Faust spends some 0.3 ms on every message that it delivers to an agent, and 0.1 ms on one that recovery reads: a
        wait, a task and several futures.
        """
        records, active = await self._wait_next_records(timeout)
        generation = self.app.consumer_generation_id
        if records is None or self.should_stop:
            return
        held_back = {tp: found[0].offset for tp, found in records.items() if found}
        for tp, found in records.items():
            if self._moved_on(generation):
                break
            if active is None or tp in active or tp in self._buffered_partitions:
                held_back.pop(tp, None)
                for message in self._messages(tp, found):
                    yield tp, message
        self._put_back(held_back)

    async def _drain_messages(self, fetcher: Any) -> None:
        """Deliver what is fetched until the fetcher stops, as Faust does, with what batches need of it alone.

        Faust makes four tasks for every message to wait for its delivery, which nearly always is done at once; it notes the
        gaps between offsets, of which a batch has many and `_new_offset` asks for none; and it looks whether to commit.
        """
        try:
            while not (self._stopped.is_set() or fetcher._stopped.is_set()):  # noqa: SLF001 - as Faust does
                # A fetch that returns at once must not keep everything else waiting.
                await asyncio.sleep(0)
                async for tp, message in self.getmany(timeout=1.0):
                    await self._deliver(message)
                    self._read_offset[tp] = message.offset
        except self.consumer_stopped_errors:
            if not self.transport.app.should_stop:
                raise
        except asyncio.CancelledError:
            if not self.transport.app.should_stop:
                raise

    async def _deliver(self, message: Message) -> None:
        """Deliver a message to its agent; one whose agent has no room is given up when a rebalance begins."""
        delivery = asyncio.ensure_future(self.callback(message))
        await asyncio.sleep(0)
        if delivery.done():
            delivery.result()
        else:
            await self.wait_first(delivery, self.suspend_flow.wait())

    def _messages(self, tp: TP, records: Sequence[Any]) -> Iterator[Message]:
        read: int | None = self._read_offset.get(tp)
        new = [record for record in records if read is None or record.offset >= read]
        if new:
            last = new[-1]
            batch = Batch(
                tp.topic,
                tp.partition,
                last.offset,
                last.timestamp / 1000.0,
                last.timestamp_type,
                None,
                None,
                b"",
                None,
                tp=tp,
                generation_id=self.app.consumer_generation_id,
            )
            batch.records = new
            yield batch

    def _moved_on(self, generation: int) -> bool:
        """Return whether a rebalance has begun: what was fetched before belongs to nobody here any more."""
        return not self.flow_active or self.app.consumer_generation_id != generation

    def _put_back(self, offsets: Mapping[TP, int]) -> None:
        """Undo what a fetch brought and nobody took: from these offsets on, records must be fetched again.

        A fetch may be under way while a rebalance stops the flow and pauses partitions. Faust leaves what it brings to the
        rebalance, which seeks to the committed offsets; but a partition of which nothing was ever committed stays where
        it is, and its first records would be lost until the next rebalance.
        """
        if offsets:
            with contextlib.suppress(Exception):  # the rebalance that stopped the flow seeks too, and reports
                cast("KafkaClient", self._thread).rewind(offsets)

    def _new_offset(self, tp: TP) -> int | None:
        # In-order acknowledgement makes the last acknowledged record the answer. Faust's own search for consecutive
        # offsets can pass over an unacknowledged head (faust-streaming#606), and stalls at gaps the log itself has.
        acked = self._acked[tp]
        if not acked:
            return None
        last = max(acked)
        # Kept until a later one takes its place: a commit that fails is tried again, also where nothing more arrives.
        acked[:] = [last]
        self._acked_index[tp] = {last}
        self._gap[tp].clear()
        return last + 1


class Producer(driver.Producer):
    """Faust's producer, idempotent where the broker can do that: Faust itself knows only all of exactly-once or none."""

    #: Whether retries are to be recognised by the broker.
    idempotent = False
    _journaling: BatchingProducer | None = None

    async def on_start(self) -> None:
        """Start both clients."""
        await super().on_start()
        self._journaling = cast("BatchingProducer", self._new_producer())
        await self._journaling.start()

    async def on_stop(self) -> None:
        """Stop both clients."""
        await super().on_stop()
        journaling, self._journaling = self._journaling, None
        if journaling is not None:
            await journaling.stop()

    @property
    def journaling(self) -> BatchingProducer:
        """Another such client, for the journal alone.

        A client has one request to a broker under way at a time. With one client for everything, an append, on which all
        else waits, would wait first for what was on its way to readers.
        """
        if self._journaling is None:
            raise NotReady("the producer has not started yet")
        return self._journaling

    @property
    def client(self) -> BatchingProducer:
        """The `topics.producing` one, once this one has started: it sends records together, and Faust cannot."""
        return cast("BatchingProducer", self._ensure_producer())

    def _settings_extra(self) -> Mapping[str, Any]:
        return {"acks": "all", "enable_idempotence": self.idempotent}

    @property
    def _producer_type(self) -> Any:
        return functools.partial(producer_of, cast("Any", self.app).connection.sealing)


class IdempotentProducer(Producer):
    """The same, idempotent."""

    idempotent = True


class Transport(driver.Transport):
    """Faust's aiokafka transport with the consumer and a producer above."""

    Consumer = Consumer
    Producer = Producer
    #: Whether the brokers have transactions, and idempotent producers with them.
    knows_transactions = False


class IdempotentTransport(Transport):
    """The same for brokers that take idempotent producers."""

    Producer = IdempotentProducer
    knows_transactions = True
