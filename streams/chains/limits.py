"""Call processors from an event loop under their limits, as far as a thread and a task can be held to one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from processors.calling import call_async, call_sync, threw
from processors.chain import CallResult, Threw
from processors.declare import Processor
from processors.errors import ProcessorTimeoutError
from processors.threaded import in_thread

#: What a call comes to that ran out of time.
TIMED_OUT = Threw(ProcessorTimeoutError.__name__)


async def call_limited(processor: Processor, subject: object, context: object) -> CallResult:
    """Await an async processor for at most its `timeout_s`; it is cancelled then, and left behind if it does not stop.

    A processor that blocks the event loop is beyond the reach of this.
    """
    return await _at_most(processor.timeout_s, call_async(processor, subject, context))


async def call_in_thread(processor: Processor, subject: object, context: object) -> CallResult:
    """Run a sync processor in a thread of its own for at most its `timeout_s`; a thread cannot be stopped.

    One that is out of time runs on unheeded. One that holds the interpreter's lock, as a regular expression does, stops
    everything else for as long.
    """
    return await _at_most(processor.timeout_s, _threaded(processor, subject, context))


async def _at_most(limit_s: float, call: Coroutine[object, object, CallResult]) -> CallResult:
    """Return what a call comes to, or that it timed out, `limit_s` seconds from now at the latest."""
    task = asyncio.ensure_future(call)
    try:
        # Not asyncio.timeout: that would wait for a processor that swallows its cancellation.
        done, _ = await asyncio.wait((task,), timeout=limit_s)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if done:
        return task.result()
    task.cancel()
    return TIMED_OUT


async def _threaded(processor: Processor, subject: object, context: object) -> CallResult:
    """Return what a call in a new thread comes to."""

    def work() -> CallResult:
        try:
            return call_sync(processor, subject, context)
        except BaseException as error:  # noqa: BLE001 - nothing a processor throws may end the worker
            return threw(processor, error)

    return await in_thread(f"processor {processor.name}", work)
