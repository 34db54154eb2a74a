"""Tools that the tool runners of these tests load by name; what they do to the world outside goes into a file."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from processors import Deps, ToolContext, tool


def _note(path: str, line: str) -> None:
    """Append a line to a file at once."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


@tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool()
async def who(greeting: str, context: ToolContext) -> str:
    """Say what the call knows of itself."""
    user = context.user.id if context.user else "nobody"
    return f"{greeting} {user} of {context.tenant} at {context.agent}, {context.idempotency_key}"


@tool(timeout_s=60)
def work(path: str, seconds: float) -> str:
    """Note the beginning and the end of some work that blocks."""
    _note(path, "began")
    time.sleep(seconds)
    _note(path, "ended")
    return "worked"


@tool(timeout_s=60)
async def meet(directory: str, me: str, other: str) -> str:
    """Return once the other one is here too."""
    (Path(directory) / me).touch()
    while not (Path(directory) / other).exists():  # noqa: ASYNC110 - a file is no event
        await asyncio.sleep(0.02)
    return f"{me} met {other}"


@tool(timeout_s=60)
async def wait(path: str) -> str:
    """Wait for ever, and note it when that is cut short."""
    _note(path, "waits")
    try:
        await asyncio.Event().wait()
    finally:
        _note(path, "stopped")
    return "never"


@tool(timeout_s=0.5)
def hang() -> str:
    """Block for ever."""
    while True:
        time.sleep(1)


@tool()
def fail(secret: str) -> str:
    """Raise an exception that quotes its argument."""
    raise LookupError(f"nothing under {secret}")


@tool()
def die() -> str:
    """Take the process down."""
    os._exit(3)


@tool()
def talk(length: int) -> str:
    """Return a long text."""
    return "x" * length


deps = Deps(tools=[add, who, work, meet, wait, hang, fail, die, talk])
