"""Ctrl-C ends a command, also one that swallows its cancellation."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from streams.cli.interrupt import run


async def stubborn(log: list[str]) -> None:
    """Press Ctrl-C, and swallow the first cancellation, as a wait that just came to its end can."""
    os.kill(os.getpid(), signal.SIGINT)
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        log.append("swallowed")
    await asyncio.sleep(60)


def test_an_interrupt_is_not_lost_by_a_command_that_swallows_it() -> None:
    """It is cancelled again until it ends."""
    log: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        run(stubborn(log))
    assert log == ["swallowed"]


def test_a_result_is_returned_and_an_error_raised() -> None:
    """As asyncio.run does."""

    async def answer() -> int:
        return 42

    async def fail() -> None:
        raise ValueError("no")

    assert run(answer()) == 42
    with pytest.raises(ValueError, match="no"):
        run(fail())
