"""Released frames of one turn, shown as they come; and what their ending means for the exit status."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from streams.cli import output
from streams.cli.failures import FAILED, OK, CommandError
from topics.client import TurnClient
from topics.fold import TurnView
from topics.ids import TurnKey
from topics.records import (
    BlockedFrame,
    CancelledFrame,
    CompletedFrame,
    FailedFrame,
    PostprocessCompleteFrame,
    RejectedFrame,
    ReleasedFrame,
    ResetFrame,
    TextFrame,
)

#: How many seconds of silence at the start are left unexplained.
_SILENT_S: Final = 2.0
_WAITING: Final = "(nothing yet: waiting for a turn worker and a model)"
#: What helps where the pipeline was not started for such a turn, by what its frame says of the model call.
_REMEDIES: Final = {
    "(ModelNotConfiguredError)": "No model answers there: give --script where scripts are played (`turngate up --model "
    "script`); or start the pipeline with `--model` and a server's URL, and TURNGATE_OPENAI_MODEL for turns that name none.",
    "(ScriptDisabledError)": "Scripts are not played there: start it with `--model script` or TURNGATE_SCRIPT_ENABLED=true, "
    "or leave --script away.",
}


async def show_turn(client: TurnClient, turn: TurnKey | str, timeout_s: float | None, *, as_json: bool) -> int:
    """Print what is released of `turn` until it ends; return the exit status, which is 0 if it completed.

    If nothing comes for two seconds, it says on stderr what it waits for.

    Raises:
        CommandError: nothing came for `timeout_s` seconds.
        ContradictedTextError: the frames disagree about the text.
    """
    try:
        return await _show(client.watch(turn, timeout_s=timeout_s), as_json=as_json)
    except TimeoutError as error:
        raise CommandError(str(error), FAILED) from None


async def _show(watched: AsyncGenerator[TurnView, None], *, as_json: bool) -> int:
    printed = False
    silence = asyncio.get_running_loop().call_later(_SILENT_S, output.note, _WAITING)
    try:
        async with aclosing(watched) as views:
            async for view in views:
                silence.cancel()
                for frame in view.news:
                    if as_json:
                        output.json_line(fields(frame))
                    else:
                        printed = _print(frame, printed=printed)
    finally:
        silence.cancel()
    return OK if view.terminal is not None and view.terminal.kind == "completed" else FAILED


def fields(frame: ReleasedFrame) -> dict[str, object]:
    """Return a frame as it is on the wire, without the fields that are None."""
    return frame.model_dump(mode="json", exclude_none=True)


def ending(frame: ReleasedFrame) -> str:
    """Return what a terminal frame says, in a sentence without content."""
    match frame:
        case CompletedFrame():
            tools = f", {output.count(len(frame.tool_calls), 'tool call')}" if frame.tool_calls else ""
            return f"completed: {output.count(frame.length, 'character')}, finish {frame.finish_reason}{tools}"
        case BlockedFrame():
            return f"blocked by {frame.processor}"
        case RejectedFrame():
            return f"rejected by {frame.processor} ({frame.error})"
        case FailedFrame():
            return f"failed: {frame.error}: {frame.message}"
        case CancelledFrame():
            return "cancelled"
    return frame.kind


def remedy(frame: ReleasedFrame) -> str | None:
    """Return what to do about a failure that only says to look into a log, where that can be known here."""
    said = (frame.message or "") if isinstance(frame, FailedFrame) else ""
    return next((words for error, words in _REMEDIES.items() if error in said), None)


def _print(frame: ReleasedFrame, *, printed: bool) -> bool:
    """Print one frame for people; say whether the cursor stands behind text of the answer."""
    match frame:
        case TextFrame():
            output.text(frame.text)
            return True
        case ResetFrame():
            _fresh_line(printed=printed)
            output.note("(a new attempt began: the text above is void)")
            return False
        case PostprocessCompleteFrame():
            _fresh_line(printed=printed)
            output.note("(the whole reply, as it was rewritten at the end:)")
            output.text(frame.text)
            return True
        case CompletedFrame() if not printed and frame.reply:
            output.text(frame.reply)
            printed = True
        case BlockedFrame():
            _fresh_line(printed=printed)
            output.text(frame.response)
            printed = True
    _fresh_line(printed=printed)
    where = f"thread {frame.thread_id}, turn {frame.turn_id}"
    output.note(output.shown(f"[{ending(frame)}; {where}]") if sys.stderr.isatty() else f"[{ending(frame)}; {where}]")
    if (help_ := remedy(frame)) is not None:
        output.note(help_)
    return False


def _fresh_line(*, printed: bool) -> None:
    if printed:
        output.line()
