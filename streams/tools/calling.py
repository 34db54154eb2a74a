"""Call one tool, and turn whatever comes of it into an answer.

Of an exception only the class goes into the answer; its message and traceback, which may hold content and secrets, go to
the log at DEBUG and no further.
"""

from __future__ import annotations

import asyncio
import logging

from processors.errors import ToolArgumentsError, ToolResultError
from processors.tools import Tool, ToolContext
from streams.tools.answers import ToolAnswer, answered, failed, refused, threw, timed_out, too_large

_log = logging.getLogger(__name__)


async def call_tool(
    tool: Tool, arguments: str, context: ToolContext, *, limit_s: float | None, max_chars: int
) -> ToolAnswer:
    """Call a tool for at most `limit_s` seconds (None: for as long as it takes); never raises for what the tool does.

    An async tool is cancelled when its time is over, and left behind if it does not stop then. A result may have
    `max_chars` characters.
    """
    task = asyncio.ensure_future(_call(tool, arguments, context, max_chars))
    try:
        # Not asyncio.timeout: that would wait for a tool that swallows its cancellation.
        done, _ = await asyncio.wait((task,), timeout=limit_s)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if done:
        return task.result()
    task.cancel()
    return timed_out(limit_s or 0.0)


async def _call(tool: Tool, arguments: str, context: ToolContext, max_chars: int) -> ToolAnswer:
    try:
        content = await tool.call(arguments, context)
    except ToolArgumentsError as error:
        return refused(type(error).__name__, error.for_model)
    except ToolResultError as error:
        return failed(type(error).__name__, str(error))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the tool's
        _log.debug("tool %s failed", tool.name, exc_info=error)
        return threw(type(error).__name__)
    return answered(content) if len(content) <= max_chars else too_large(len(content), max_chars, "characters")
