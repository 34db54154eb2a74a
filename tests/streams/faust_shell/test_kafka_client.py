"""The Kafka client of Faust's consumer runs in the worker's loop: no thread, and calls that nobody waits for go on."""

from __future__ import annotations

import asyncio
import gc
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from faust.types import TP

from streams.faust_shell.transport import KafkaClient

HERE = TP("frames", 0)


class Consumer:
    """As much of aiokafka's consumer as starting, stopping and fetching take."""

    def __init__(self) -> None:
        self.happened: list[Any] = []
        self._max_poll_records = 7

    async def start(self) -> None:
        """Note where this was."""
        self.happened.append(("started", threading.current_thread()))

    async def stop(self) -> None:
        """Note where this was."""
        self.happened.append(("stopped", threading.current_thread()))


class Client(KafkaClient):
    """One whose consumer only notes what becomes of it."""

    def __init__(self) -> None:
        app = SimpleNamespace(
            conf=SimpleNamespace(
                producer_partitioner=None, stream_processing_timeout=1.0, broker_commit_livelock_soft_timeout=1.0
            ),
            connection=SimpleNamespace(sealing=None),
        )
        consumer: Any = SimpleNamespace(
            transport=SimpleNamespace(app=app), app=app, flow_active=True, RebalanceListener=lambda _: None
        )
        self.made = Consumer()
        self.error: Exception | None = None
        super().__init__(consumer, loop=asyncio.get_running_loop())

    def _create_consumer(self, loop: asyncio.AbstractEventLoop) -> Any:
        self.made.happened.append(loop)
        return self.made

    async def _fetch_records(self, consumer: Any, active: Any, timeout: Any = None, most: Any = None) -> Any:  # noqa: ASYNC109 - Faust's
        self.made.happened.append((consumer, active, timeout, most, threading.current_thread()))
        if self.error is not None:
            raise self.error
        return {HERE: ["record"]}


@pytest.fixture
async def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    """Return one that was not started; what its consumer would read differently is left alone."""
    monkeypatch.setattr("streams.faust_shell.transport.read_everything", lambda *_, **__: None)
    return Client()


async def test_it_starts_once_and_stops_in_the_thread_that_it_was_made_in(client: Client) -> None:
    """And leaves no thread behind, nor a task."""
    here, threads, tasks = threading.current_thread(), threading.active_count(), asyncio.all_tasks()
    assert await client.maybe_start()
    assert not await client.maybe_start()
    assert threading.active_count() == threads
    async with asyncio.timeout(5):
        await client.stop()
    assert client.made.happened == [asyncio.get_running_loop(), ("started", here), ("stopped", here)]
    assert asyncio.all_tasks() == tasks


async def test_a_consumer_that_cannot_start_says_so_to_whoever_starts_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that goes on without one would wait for ever."""

    async def start() -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(client.made, "start", start)
    with pytest.raises(ConnectionError, match="no broker"):
        await client.start()


async def test_a_fetch_runs_here_with_what_faust_asked_for(client: Client) -> None:
    """With the partitions, the time and the limit that Faust has."""
    await client.start()
    assert await client.getmany({HERE}, 1.0) == {HERE: ["record"]}
    assert client.made.happened[-1] == (client.made, {HERE}, 1.0, 7, threading.current_thread())
    await client.getmany(None, 0.5)
    assert client.made.happened[-1][1:3] == (None, 0.5)
    await client.stop()


async def test_what_a_fetch_raises_is_raised_to_whoever_asked(client: Client) -> None:
    """Or a consumer that cannot go on would stand still without a word."""
    client.made.happened.clear()
    await client.start()
    client.error = LookupError("the consumer has stopped")
    with pytest.raises(LookupError):
        await client.getmany({HERE}, 1.0)
    await client.stop()


async def test_a_call_gives_what_it_comes_to_whether_it_waits_or_not(client: Client) -> None:
    """Faust calls methods that are coroutines, and methods that are none."""
    plain: Any = divmod

    async def committed(offset: int, *, again: bool) -> tuple[int, bool]:
        await asyncio.sleep(0)
        return offset, again

    assert await client.call_thread(committed, 3, again=True) == (3, True)
    assert await client.call_thread(plain, 9, 2) == (4, 1)
    with pytest.raises(ZeroDivisionError):
        await client.call_thread(plain, 9, 0)


async def test_a_call_that_nobody_waits_for_any_more_goes_on(client: Client) -> None:
    """A commit that is cut off half-way would leave the group's place unknown to this worker."""
    hold, done = asyncio.Event(), asyncio.Event()

    async def commit() -> None:
        await hold.wait()
        done.set()
        raise ConnectionError("too late for anybody")

    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    calling = asyncio.create_task(client.call_thread(commit))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    calling.cancel()
    await asyncio.wait([calling])
    hold.set()
    async with asyncio.timeout(5):
        await done.wait()
    await asyncio.sleep(0)
    gc.collect()
    assert (calling.cancelled(), complaints) == (True, [])
