"""Wait for whatever ends a pipeline on this machine first."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from streams.cli.failures import UNREACHABLE, CommandError
from streams.cli.work.crew import Crew
from streams.cli.work.stage import Stage

T = TypeVar("T")


async def attend(crew: Crew, where: Stage, told: asyncio.Event, work: Coroutine[Any, Any, T] | None = None) -> T | None:
    """Return what `work` comes to, or None as soon as `told` is set; forever until then where there is no work.

    Raises:
        CommandError: a worker will not run, or a broker of our own has died.
    """
    stop = asyncio.create_task(told.wait())
    broken = asyncio.create_task(crew.broken())
    lost = asyncio.create_task(where.lost())
    working = asyncio.create_task(work) if work is not None else None
    tasks: list[asyncio.Task[Any]] = [stop, broken, lost, *([working] if working is not None else [])]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        # What was asked for comes first: workers and broker may well end along with it.
        if stop.done():
            return None
        if working is not None and working.done():
            return working.result()
        if lost.done():
            raise CommandError("the embedded broker has died, with all it held.", UNREACHABLE)
        ended = broken.result()
        raise CommandError(f"{ended.name} does not start: see what it says above.", ended.status)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
