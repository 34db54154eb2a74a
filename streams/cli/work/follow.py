"""Show what is released, of one turn or of all."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from streams.cli import interrupt, output, session
from streams.cli.failures import OK, CommandError
from streams.cli.work.frames import ending, fields, show_turn
from topics.client import TurnClient
from topics.ids import TurnKey
from topics.records import PostprocessCompleteFrame, ReleasedFrame, ResetFrame, TextFrame


@dataclass(frozen=True, slots=True)
class Which:
    """Which turns to show; None is any. `timeout_s` is the silence, in seconds, that ends waiting for a single one."""

    turn: str | None
    thread: str | None
    tenant: str | None
    from_beginning: bool
    timeout_s: float | None


def run(which: Which, *, as_json: bool, broker: str | None) -> int:
    """Print released frames until the one turn ends or Ctrl-C comes, and return the exit status.

    Raises:
        CommandError: an argument cannot be used, there is no broker, or nothing came in time.
        TopicsError: the broker is out of reach, or topics are missing.
    """
    turn = _turn(which)
    if turn is None and which.timeout_s is not None:
        raise CommandError("--timeout is for one turn: give --turn too, or leave it out and end with Ctrl-C.")
    place = session.connect(session.begin({"broker": broker}))
    if turn is not None:
        output.note(f"Following turn {turn} until it ends; Ctrl-C gives up.")
        return interrupt.run(_one(place, turn, which.timeout_s, as_json=as_json))
    try:
        interrupt.run(_all(place, which, as_json=as_json))
    except KeyboardInterrupt:  # there is no other way to end it
        return OK
    return OK


def _turn(which: Which) -> TurnKey | str | None:
    """Return the turn that was named, as far as it was."""
    named = which.turn
    if named is not None and "/" not in named and which.tenant is not None and which.thread is None:
        raise CommandError("--turn with --tenant: give the --thread too, or write --turn tenant/thread/turn")
    if named is None or "/" not in named:
        if named is not None and which.thread is not None:
            return TurnKey(which.tenant or "default", which.thread, named)
        return named
    try:
        return TurnKey.parse(named)
    except ValueError:
        raise CommandError("--turn: write the turn's id, or tenant/thread/turn") from None


async def _one(place: Any, turn: TurnKey | str, timeout_s: float | None, *, as_json: bool) -> int:
    async with TurnClient(*place) as client:
        return await show_turn(client, turn, timeout_s, as_json=as_json)


async def _all(place: Any, which: Which, *, as_json: bool) -> None:
    async with TurnClient(*place) as client:
        output.note(f"Following {named(which)}; Ctrl-C ends it.")
        async with aclosing(client.follow_all(from_beginning=which.from_beginning)) as frames:
            async for frame in frames:
                if which.thread in {None, frame.thread_id} and which.tenant in {None, frame.tenant}:
                    if as_json:
                        output.json_line(fields(frame))
                    else:
                        output.line(f"{frame.turn}  {_words(frame)}")


def named(which: Which) -> str:
    """Return whose turns are shown."""
    thread = "" if which.thread is None else f" of thread {which.thread}"
    return f"all turns{thread}" + ("" if which.tenant is None else f" of tenant {which.tenant}")


def _words(frame: ReleasedFrame) -> str:
    match frame:
        case TextFrame() | PostprocessCompleteFrame():
            return f"{frame.kind} {json.dumps(frame.text, ensure_ascii=False)}"
        case ResetFrame():
            return "reset: the text of this step is void"
    return ending(frame)
