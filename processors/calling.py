"""Call one processor, and turn whatever comes of it into a result. The limit is the caller's affair.

Everything a processor throws becomes its class name here. Its message and traceback, which may quote content, go to the
log at DEBUG and no further.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeAlias

from processors.chain import RUNS, CallResult, Chain, O, R, Returned, Threw
from processors.declare import Processor
from processors.errors import MalformedVerdictError
from processors.spending import tallied

_log = logging.getLogger(__name__)

# `sys.exit()` in a processor is a failure of it, not a request to end the worker.
_FAILURES = (Exception, SystemExit)

#: Calls a processor with its subject and context under some limit, and never raises for what the processor does.
Invoke: TypeAlias = Callable[[Processor, Any, Any], Awaitable[CallResult]]


def call_sync(processor: Processor, subject: object, context: object) -> CallResult:
    """Call a sync processor here and now, for as long as it takes."""
    try:
        value = processor.call(subject, context)
    except _FAILURES as error:
        return threw(processor, error)
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        # Declared as a plain function, it would never have been given its asyncio limit.
        return threw(
            processor, MalformedVerdictError("declared with `def`, it returned an awaitable: write `async def`")
        )
    return Returned(value)


async def call_async(processor: Processor, subject: object, context: object) -> CallResult:
    """Await an async processor for as long as it takes.

    Raises:
        CancelledError: this call was cancelled. One that the processor raises by itself is a failure of it.
    """
    task = asyncio.current_task()
    cancels = task.cancelling() if task is not None else 0
    try:
        return Returned(await processor.call(subject, context))
    except asyncio.CancelledError as error:
        if task is not None and task.cancelling() > cancels:
            raise
        return threw(processor, error)
    except (*_FAILURES, KeyboardInterrupt) as error:  # Ctrl-C never arrives as one in a task: asyncio sees to that
        return threw(processor, error)


async def call_directly(processor: Processor, subject: object, context: object) -> CallResult:
    """Call a processor of either sort without any limit: for tests and tools that may hang with it."""
    if processor.is_async:
        return await call_async(processor, subject, context)
    return call_sync(processor, subject, context)


async def run_chain(
    chain: Chain[Processor, R, O],
    step: R | O,
    invoke: Invoke,
    clock: Callable[[], float],
    on_step: Callable[[R], None] | None = None,
) -> O:
    """Drive a run to its outcome.

    Args:
        chain: whose members are asked.
        step: what `chain.open(...)` gave, or a run that was begun elsewhere.
        invoke: calls one member.
        clock: returns seconds that only go forward; used for the reports.
        on_step: told of the run before each call but the first.
    """
    while isinstance(step, RUNS):
        started = clock()
        with tallied() as tally:
            result = await invoke(chain.member(step), step.subject, step.context)
        result = replace(result, spending=tally.total())
        step = chain.take(step, result, (clock() - started) * 1000)
        if on_step is not None and isinstance(step, RUNS):
            on_step(step)
    return step


def threw(processor: Processor, error: BaseException) -> Threw:
    """Return the result of a call that ended with `error`."""
    _log.debug("processor %s failed", processor.name, exc_info=error)
    return Threw(type(error).__name__)
