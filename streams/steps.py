"""Long work in a loop that others live in: it is done in steps, and between them the others have their turn.

A worker that stands still sends no heartbeats: after `session_timeout_s` it is taken for dead. So what grows with the number
of turns, such as reading them from a journal, is written as a generator that yields wherever it may pause.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

#: What is done of it without a pause, in seconds; a single step may take longer.
AT_A_TIME_S = 0.02

#: Work that yields wherever it may pause, and returns what it came to.
Steps = Generator[None, None, T]


async def in_steps(work: Steps[T]) -> T:
    """Do all of `work`, with pauses, and return what it came to."""
    pause_at = time.perf_counter() + AT_A_TIME_S
    while True:
        try:
            next(work)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        if time.perf_counter() >= pause_at:
            await asyncio.sleep(0)
            pause_at = time.perf_counter() + AT_A_TIME_S
