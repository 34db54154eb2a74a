"""A fetch runs in the consumer's thread, and what comes of it reaches whoever asked in the main one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from faust.types import TP

from streams.faust_shell.transport import ConsumerThread

HERE = TP("frames", 0)


class Fetching(ConsumerThread):
    """As much of the thread as fetching takes: its loop, and what a fetch comes to."""

    def __init__(self, here: asyncio.AbstractEventLoop) -> None:
        self.thread_loop = asyncio.new_event_loop()
        self.parent_loop = here
        self._fetching = set()
        self.asked: list[tuple[Any, Any, Any, str]] = []
        self.hold: asyncio.Event | None = None
        self.error: Exception | None = None

    def _ensure_consumer(self) -> Any:
        return SimpleNamespace(_max_poll_records=7)

    async def _fetch_records(self, consumer: Any, active: Any, timeout: Any = None, most: Any = None) -> Any:  # noqa: ARG002, ASYNC109 - Faust's
        self.asked.append((active, timeout, most, threading.current_thread().name))
        if self.hold is not None:
            await self.hold.wait()
        if self.error is not None:
            raise self.error
        return {HERE: ["record"]}


@pytest.fixture
async def fetching() -> AsyncIterator[Fetching]:
    """Return one whose loop runs in a thread of its own until the test is over."""
    made = Fetching(asyncio.get_running_loop())
    thread = threading.Thread(target=made.thread_loop.run_forever, name="the consumer's")
    thread.start()
    yield made
    made.thread_loop.call_soon_threadsafe(made.thread_loop.stop)
    thread.join()
    made.thread_loop.close()


async def test_what_is_asked_for_is_fetched_in_the_thread(fetching: Fetching) -> None:
    """With the partitions, the time and the limit that Faust has."""
    assert await fetching.getmany({HERE}, 1.0) == {HERE: ["record"]}
    assert fetching.asked == [({HERE}, 1.0, 7, "the consumer's")]


async def test_what_a_fetch_raises_is_raised_to_whoever_asked(fetching: Fetching) -> None:
    """Or a consumer that cannot go on would stand still without a word."""
    fetching.error = LookupError("the consumer has stopped")
    with pytest.raises(LookupError):
        await fetching.getmany({HERE}, 1.0)


async def test_whoever_no_longer_waits_disturbs_no_later_fetch(fetching: Fetching) -> None:
    """A rebalance cancels the wait; the fetch that is under way comes to its end in its own time."""
    fetching.hold = asyncio.Event()
    waiting = asyncio.create_task(fetching.getmany({HERE}, 1.0))
    while not fetching.asked:  # noqa: ASYNC110 - another thread fills it
        await asyncio.sleep(0.001)
    waiting.cancel()
    await asyncio.wait([waiting])
    fetching.thread_loop.call_soon_threadsafe(cast("Any", fetching.hold).set)
    assert await fetching.getmany({HERE}, 1.0) == {HERE: ["record"]}
    assert len(fetching.asked) == 2


async def test_a_fetch_that_nobody_waits_for_any_more_does_not_begin(fetching: Fetching) -> None:
    """What it brought would be taken for read."""
    stopped = threading.Event()
    fetching.thread_loop.call_soon_threadsafe(stopped.wait)
    waiting = asyncio.create_task(fetching.getmany({HERE}, 1.0))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    stopped.set()
    assert await fetching.getmany(None, 0.5) == {HERE: ["record"]}
    assert [active for active, *_ in fetching.asked] == [None]
