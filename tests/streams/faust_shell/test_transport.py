"""The consumer's overrides: what is committed, and which partitions are fetched."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from faust.exceptions import NotReady
from faust.transport.consumer import ThreadDelegateConsumer
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread
from faust.types import TP

from streams.faust_shell.transport import FETCH_WAIT_MS, Batch, Consumer, IdempotentProducer, KafkaClient, Producer

HERE, THERE = TP("requests", 0), TP("frames", 0)


class Books:
    """As much of Faust's consumer as keeping account of acknowledgements takes."""

    def __init__(self) -> None:
        self._acked: Mapping[TP, list[int]] = defaultdict(list)
        self._acked_index: Mapping[TP, set[int]] = defaultdict(set)
        self._gap: Mapping[TP, list[range]] = defaultdict(list)

    def ack(self, tp: TP, *offsets: int) -> None:
        """Note acknowledgements, as Faust does."""
        self._acked[tp].extend(offsets)
        self._acked_index[tp].update(offsets)

    def new_offset(self, tp: TP) -> int | None:
        """Return what would be committed."""
        return Consumer._new_offset(cast("Consumer", self), tp)


def test_the_offset_after_the_last_acknowledged_record_is_committed() -> None:
    """Acknowledgements come in order, so there is nothing unacknowledged before it."""
    books = Books()
    books.ack(HERE, 3, 4, 5)
    assert books.new_offset(HERE) == 6


def test_gaps_that_the_log_itself_has_are_passed_over() -> None:
    """Compaction and transaction markers leave offsets that never come."""
    books = Books()
    books.ack(HERE, 3, 7)
    books._gap[HERE].append(range(4, 7))
    assert books.new_offset(HERE) == 8
    assert books._gap[HERE] == []


def test_the_last_one_is_kept_in_case_the_commit_fails() -> None:
    """Faust commits an offset that is not beyond the committed one only once, so keeping it costs nothing."""
    books = Books()
    books.ack(HERE, 2, 3)
    books.ack(THERE, 9)
    assert books.new_offset(HERE) == 4
    assert books.new_offset(HERE) == 4
    assert (books._acked[HERE], books._acked_index[HERE]) == ([3], {3})
    assert books.new_offset(THERE) == 10
    books.ack(HERE, 4)
    assert books.new_offset(HERE) == 5


def test_nothing_acknowledged_commits_nothing() -> None:
    """Not even offset 0."""
    assert Books().new_offset(HERE) is None


class Fetching:
    """Stands for what `_getmany` asks of its base class."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[set[TP] | None] = []
        fetching = self

        async def getmany(_: Any, active_partitions: set[TP] | None, timeout: float) -> Any:  # noqa: ASYNC109 - Faust's
            fetching.asked.append(active_partitions)
            await asyncio.sleep(timeout)
            return {HERE: ["record"]}

        monkeypatch.setattr(ThreadDelegateConsumer, "_getmany", getmany)
        self.consumer = Consumer.__new__(Consumer)


async def test_an_empty_set_fetches_nothing_rather_than_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client below takes an empty set for all partitions; what it returned would be dropped and lost."""
    fetching = Fetching(monkeypatch)
    assert await fetching.consumer._getmany(set(), 1.0) == {}
    assert fetching.asked == []


async def test_a_set_that_changes_during_the_fetch_does_not_change_the_fetch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebalance empties the live set while a fetch waits."""
    fetching = Fetching(monkeypatch)
    live = {HERE, THERE}
    task = asyncio.create_task(fetching.consumer._getmany(live, 0.01))
    await asyncio.sleep(0)
    live.clear()
    assert await task == {HERE: ["record"]}
    assert fetching.asked == [{HERE, THERE}]


async def test_no_set_at_all_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Faust means all partitions then."""
    fetching = Fetching(monkeypatch)
    assert await fetching.consumer._getmany(None, 0.0) == {HERE: ["record"]}
    assert fetching.asked == [None]


def test_a_worker_consumer_waits_briefly_for_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attribute that is set is one that the client has."""

    class Made:
        _fetch_max_wait_ms = 1500

    monkeypatch.setattr(AIOKafkaConsumerThread, "_create_worker_consumer", lambda *_: Made())
    made = KafkaClient._create_worker_consumer(KafkaClient.__new__(KafkaClient), cast("Any", None))
    assert made._fetch_max_wait_ms == FETCH_WAIT_MS


@pytest.mark.parametrize(("kind", "idempotent"), [(Producer, False), (IdempotentProducer, True)])
def test_producers_wait_for_all_replicas_and_are_idempotent_where_they_may(
    kind: type[Producer], idempotent: bool
) -> None:
    """An acknowledged journal record must outlive the broker that acknowledged it."""
    assert kind._settings_extra(kind.__new__(kind)) == {"acks": "all", "enable_idempotence": idempotent}


class Fetched:
    """Stands for what `getmany` asks of its base class, with records of two topics."""

    def __init__(self) -> None:
        self.consumer = Consumer.__new__(Consumer)
        self.app = SimpleNamespace(consumer_generation_id=7, tables=SimpleNamespace(changelog_topics={"journal"}))
        state: dict[str, Any] = {
            "app": self.app,
            "flow_active": True,
            "_stopped": asyncio.Event(),
            "_crashed": asyncio.Event(),
            "_read_offset": {},
            "_buffered_partitions": set(),
            "_wait_next_records": self._records,
            "_thread": SimpleNamespace(rewind=self._rewind),
        }
        self.rewound: dict[TP, int] = {}
        for name, value in state.items():
            setattr(self.consumer, name, value)
        self.active: set[TP] | None = {HERE, JOURNAL}

    async def _records(self, _: float) -> Any:
        journal = [_record("journal", 0, offset) for offset in (1, 2)]
        return {HERE: [_record("requests", 0, offset) for offset in (4, 5, 6)], JOURNAL: journal}, self.active

    def _rewind(self, offsets: Mapping[TP, int]) -> None:
        self.rewound.update(offsets)

    async def messages(self) -> list[Any]:
        """Return what is yielded."""
        return [message async for _, message in self.consumer.getmany(1.0)]


JOURNAL = TP("journal", 0)


def _record(topic: str, partition: int, offset: int) -> Any:
    return SimpleNamespace(
        topic=topic,
        partition=partition,
        offset=offset,
        timestamp=1_800_000_000_000,
        timestamp_type=0,
        headers=(),
        key=b"k",
        value=b"v",
        checksum=None,
        serialized_key_size=1,
        serialized_value_size=1,
    )


async def test_what_a_fetch_brings_from_a_partition_is_one_batch() -> None:
    """A batch has the place of its last record, of sources and journals alike."""
    batches = await Fetched().messages()
    assert all(isinstance(batch, Batch) and batch.generation_id == 7 for batch in batches)
    assert [(batch.topic, batch.offset) for batch in batches] == [("requests", 6), ("journal", 2)]
    assert [[record.offset for record in batch.records] for batch in batches] == [[4, 5, 6], [1, 2]]


async def test_records_that_were_delivered_before_are_left_out_of_a_batch() -> None:
    """A fetch from before a seek may bring them once more."""
    fetched = Fetched()
    fetched.consumer._read_offset[HERE] = 6
    batch, *_ = await fetched.messages()
    assert [record.offset for record in batch.records] == [6]


async def test_a_paused_partition_yields_nothing_unless_its_queue_was_full() -> None:
    """What a full queue holds back was fetched on purpose; what a pause holds back is fetched again later."""
    fetched = Fetched()
    fetched.active = {JOURNAL}
    assert [batch.topic for batch in await fetched.messages()] == ["journal"]
    assert fetched.rewound == {HERE: 4}
    fetched.consumer._buffered_partitions.add(HERE)
    assert [batch.topic for batch in await fetched.messages()] == ["requests", "journal"]


async def test_a_rebalance_in_between_ends_the_batch_run() -> None:
    """What was not yielded yet is fetched again: from what was committed, or, where nothing was, from where it is."""
    fetched = Fetched()
    yielding = fetched.consumer.getmany(1.0)
    await anext(yielding)
    fetched.app.consumer_generation_id = 8
    assert [message async for message in yielding] == []
    assert fetched.rewound == {JOURNAL: 1}


async def test_a_fetch_that_comes_while_the_flow_is_stopped_is_put_back() -> None:
    """Of a partition of which nothing was ever committed no seek would bring it back."""
    fetched = Fetched()
    fetched.consumer.flow_active = False
    assert await fetched.messages() == []
    assert fetched.rewound == {HERE: 4, JOURNAL: 1}


def test_rewinding_never_skips_a_record() -> None:
    """A partition that was assigned anew, or was sought further back meanwhile, stays where it is."""
    places = {tp: SimpleNamespace(has_valid_position=True, position=at) for tp, at in {HERE: 7, THERE: 3}.items()}
    places[JOURNAL] = SimpleNamespace(has_valid_position=False, position=None)
    sought: dict[TP, int] = {}
    consumer = SimpleNamespace(
        _subscription=SimpleNamespace(subscription=SimpleNamespace(assignment=SimpleNamespace(state_value=places.get))),
        seek=sought.__setitem__,
    )
    client = KafkaClient.__new__(KafkaClient)
    client._consumer = cast("Any", consumer)
    client.rewind({HERE: 4, THERE: 4, JOURNAL: 4, TP("gone", 0): 4})
    assert sought == {HERE: 4}


class Draining(Fetched):
    """A consumer whose one fetch is drained; `slow` says that agents have no room."""

    def __init__(self, *, slow: bool = False, broken: bool = False) -> None:
        super().__init__()
        self.delivered: list[Any] = []
        self.room = asyncio.Event()
        self.fetcher = SimpleNamespace(_stopped=asyncio.Event())
        self._slow = slow
        self._broken = broken
        loop = asyncio.get_running_loop()
        for name, value in {
            "callback": self._deliver,
            "suspend_flow": asyncio.Event(),
            "consumer_stopped_errors": (ConnectionAbortedError,),
            "transport": SimpleNamespace(app=SimpleNamespace(should_stop=False)),
            "_loop": loop,
        }.items():
            setattr(self.consumer, name, value)

    async def _deliver(self, message: Any) -> None:
        if self._broken:
            raise ConnectionError("no agent")
        if self._slow:
            await self.room.wait()
        self.delivered.append(message.offset)

    async def _records(self, timeout: float) -> Any:  # noqa: ASYNC109 - Faust's
        if self.delivered or self.consumer.suspend_flow.is_set():
            self.fetcher._stopped.set()
            return {}, self.active
        return await super()._records(timeout)


async def test_what_is_fetched_is_delivered_in_order_and_noted_as_read() -> None:
    """Until the fetcher is told to stop."""
    draining = Draining()
    await draining.consumer._drain_messages(draining.fetcher)
    assert draining.delivered == [6, 2]
    assert draining.consumer._read_offset == {HERE: 6, JOURNAL: 2}


async def test_an_agent_without_room_is_waited_for_until_the_flow_is_suspended() -> None:
    """What it did not take is given up: the rebalance that suspends the flow has it fetched again."""
    draining = Draining(slow=True)
    running = asyncio.create_task(draining.consumer._drain_messages(draining.fetcher))
    await asyncio.sleep(0.01)
    assert not running.done()
    draining.consumer.suspend_flow.set()
    async with asyncio.timeout(5):
        await running
    assert draining.delivered == []
    draining = Draining(slow=True)
    running = asyncio.create_task(draining.consumer._drain_messages(draining.fetcher))
    await asyncio.sleep(0.01)
    draining.room.set()
    async with asyncio.timeout(5):
        await running
    assert draining.delivered == [6, 2]


async def test_a_delivery_that_fails_ends_the_drain() -> None:
    """Going on would skip what was not delivered."""
    draining = Draining(broken=True)
    with pytest.raises(ConnectionError, match="no agent"):
        await draining.consumer._drain_messages(draining.fetcher)


def test_before_the_start_there_is_no_client_of_the_journals() -> None:
    """To append then would be too early."""
    with pytest.raises(NotReady, match="not started"):
        _ = Producer.__new__(Producer).journaling
