"""Publish a turn, and show what is released of it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from streams.cli import interrupt, output, session
from streams.cli.failures import OK, CommandError
from streams.cli.work.frames import show_turn
from streams.models.script import Script, ScriptItem
from topics.client import TurnClient
from topics.ids import ID_RULE

#: Fields that are ids on the wire, see `topics.ids.Id`.
_IDS: Final = (("tenant",), ("thread_id",), ("turn_id",))


@dataclass(frozen=True, slots=True)
class Follow:
    """Whether, how long (seconds of silence) and in which form the answer is waited for."""

    follow: bool
    timeout_s: float
    as_json: bool


def send_turn(
    text: str, fields: Mapping[str, Any], wish: Follow, *, params: str | None, script: str | None, broker: str | None
) -> int:
    """Publish a turn with these fields of a `TurnRequest` (None: not given), and return the exit status.

    Raises:
        CommandError: an argument cannot be used, there is no broker, or nothing came in time.
        TopicsError: the broker is out of reach, topics are missing, or the request is too large.
    """
    settings = session.begin({"broker": broker})
    given = {name: value for name, value in fields.items() if value is not None}
    if (asked := _params(params, script)) is not None:
        given["params"] = asked
    message = sys.stdin.read() if text == "-" else text
    return interrupt.run(_send(session.connect(settings), message, given, wish))


async def _send(place: Any, message: str, fields: Mapping[str, Any], wish: Follow) -> int:
    async with TurnClient(*place) as client:
        try:
            turn = await client.submit(message, **fields)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            named = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {_advice(fault)}" for fault in faults)
            raise CommandError(f"the turn was not sent, change these: {named}") from None
        if wish.follow:
            try:
                return await show_turn(client, turn, wish.timeout_s, as_json=wish.as_json)
            except asyncio.CancelledError:  # Ctrl-C, and nobody has cancelled the turn
                output.note(f"\nThe turn goes on. To read it: turngate follow --turn {turn}")
                raise
    if wish.as_json:
        output.json_line(turn._asdict())
    else:
        output.line(str(turn))
    return OK


def _advice(fault: ErrorDetails) -> str:
    """Return how a field has to be, without what it is."""
    if fault["loc"][:1] in _IDS and fault["type"].startswith("string_"):
        return ID_RULE
    return fault["type"]


def _params(params: str | None, script: str | None) -> dict[str, Any] | None:
    if params is None and script is None:
        return None
    found = {} if params is None else _json(params, "--params")
    if not isinstance(found, dict):
        raise CommandError("--params: write a JSON object")
    if script is not None:
        found["script"] = read_script(script)
    return found


def read_script(source: str) -> list[Any]:
    """Return the items of a script: a JSON list, written out or in a file, or a file of JSON Lines.

    Raises:
        CommandError: it cannot be read, or an item cannot be played; names its place, and nothing of what it says.
    """
    items = _json(source, "--script") if source.lstrip().startswith("[") else _script_file(source)
    try:
        Script.model_validate({"script": items})
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = fault["loc"][1:2]
        where = f"item {int(place[0]) + 1}" if place else "the script"
        known = ", ".join(name for name in ScriptItem.model_fields)
        raise CommandError(
            f"--script: {where} cannot be played ({fault['type']}): an item is a text, or an object with some of {known}"
        ) from None
    return list(items)


def _script_file(source: str) -> Any:
    try:
        text = Path(source).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"--script: cannot read {source}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandError(f"--script: {source} is not UTF-8") from None
    if text.lstrip().startswith("["):
        return _json(text, f"--script: {source}")
    lines = enumerate(text.split("\n"), start=1)
    return [_json(line, f"--script: {source}, line {number}") for number, line in lines if line.strip()]


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise CommandError(f"{where}: this is not JSON") from None
