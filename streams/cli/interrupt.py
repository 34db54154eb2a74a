"""Running what waits for the network, so that Ctrl-C always ends it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

#: How long a cancelled command may take to clean up before it is cancelled again, in seconds.
_PATIENCE_S = 1.0


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` to its end, and return its result.

    `asyncio.run` cancels once, and a client that waits with a timeout can swallow that (bpo-37658): this insists.

    Raises:
        KeyboardInterrupt: Ctrl-C came, and `main` has been cancelled.
    """
    return asyncio.run(_insisting(main))


async def _insisting(main: Coroutine[Any, Any, T]) -> T:
    interrupted = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)
    task = asyncio.ensure_future(main)
    waiting = asyncio.ensure_future(interrupted.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        while not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_PATIENCE_S)
    if interrupted.is_set() and task.cancelled():
        raise KeyboardInterrupt
    return task.result()
