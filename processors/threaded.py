"""Blocking work in a thread of its own, awaited by an event loop.

Not the event loop's own pool: work that hangs would keep one of its few threads for ever, and the process from ending.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(name: str, work: Callable[[], T]) -> T:
    """Return what `work` returns in a new daemon thread called `name`, with the context variables of the caller.

    Raises what it raises. Work that nobody waits for any more runs on unheeded: a thread cannot be stopped.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    variables = contextvars.copy_context()
    values: list[T] = []
    errors: list[BaseException] = []

    def settle() -> None:
        if not ended.done():
            ended.set_result(None)

    def run() -> None:
        try:
            values.append(variables.run(work))
        except BaseException as error:  # noqa: BLE001 - in a thread of its own nothing else would ever see it
            errors.append(error)
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
            loop.call_soon_threadsafe(settle)

    threading.Thread(target=run, name=name, daemon=True).start()
    await ended
    if errors:
        raise errors.pop()
    return values.pop()
