"""Tools that the processes of these tests load by name."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from processors import Deps, tool


def _write(path: str, text: str) -> None:
    Path(path).write_text(text)


@tool()
def pid() -> int:
    """Say where this runs."""
    return os.getpid()


@tool()
async def async_pid() -> int:
    """Say where this runs."""
    return os.getpid()


@tool(timeout_s=1.0)
def hang() -> str:
    """Block for ever."""
    while True:
        time.sleep(1)


@tool(timeout_s=0.5)
async def block() -> str:
    """Block the event loop."""
    while True:
        time.sleep(1)  # noqa: ASYNC251 - that is what it is for


@tool()
async def wait() -> str:
    """Wait for ever."""
    await asyncio.Event().wait()
    return ""


@tool()
def crash() -> str:
    """Take the process down."""
    os._exit(3)


@tool()
async def async_crash() -> str:
    """Take the process down."""
    os._exit(3)


@tool()
def note(path: str) -> str:
    """Note the beginning and the end of half a second's work."""
    _write(path, "began ")
    time.sleep(0.5)
    _write(path, "began ended")
    return "noted"


@tool()
async def note_async(path: str) -> str:
    """Note the beginning and the end of a wait without end."""
    _write(path, "began ")
    try:
        await asyncio.Event().wait()
    finally:
        _write(path, "began stopped")
    return "never"


@tool()
def talk() -> str:
    """Return a long text."""
    return "x" * 1001


all_async = Deps(tools=[async_pid])
all_sync = Deps(tools=[pid, crash])
no_tools = Deps()
deps = Deps(tools=[pid, async_pid, hang, block, wait, crash, async_crash, note, note_async, talk])
