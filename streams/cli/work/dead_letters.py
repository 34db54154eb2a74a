"""Look at dead letters, and send their records again."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from streams.cli import output, session
from streams.cli.failures import FAILED, OK, CommandError
from topics import codec
from topics.dead_letters import DeadLetters, Origin, Replay, Shown
from topics.errors import BrokerUnreachableError, TopicsError
from topics.records import DeadLetter

#: The first moment, in seconds since the epoch, that has no date of four digits.
_END_OF_TIME = 253402300800


def list_letters(*, as_json: bool, broker: str | None) -> int:
    """Print all dead letters, oldest first, and return the exit status.

    Raises:
        TopicLayoutError: the pipeline has no topic for them.
        BrokerUnreachableError: nobody answers.
    """
    letters = asyncio.run(_letters(broker).list())
    if as_json:
        for letter in letters:
            output.json_line(_fields(letter))
    elif letters:
        output.table(
            ("id", "at", "turn", "error", "reason"),
            [(one.id, _time(one.at), _turn(one), one.error, one.reason) for one in letters],
        )
    if not letters:
        output.note("No dead letters.")
    return OK


def show_letter(letter_id: str, *, with_content: bool, as_json: bool, broker: str | None) -> int:
    """Print one dead letter and what is known of its record, and return the exit status.

    Raises:
        DeadLetterNotFoundError: there is no such letter.
        TopicLayoutError: the pipeline has no topic for them.
        BrokerUnreachableError: nobody answers.
    """
    shown = asyncio.run(_letters(broker).show(letter_id, with_content=with_content))
    if as_json:
        origin = _origin(shown.origin, with_content=with_content) if shown.origin is not None else None
        output.json_line({"letter": _fields(shown.letter), "origin": origin, "gone": shown.gone})
    else:
        _print(shown, with_content=with_content)
    return OK


@dataclass(frozen=True, slots=True)
class Choice:
    """Which letters to replay: those of these `ids`, or `every` one, or all of one `error`, a class name."""

    ids: tuple[str, ...]
    every: bool
    error: str | None


def replay(choice: Choice, *, as_json: bool, broker: str | None) -> int:
    """Send the records of dead letters again, print what became of each, and return the exit status.

    Raises:
        CommandError: no letter is named, or some and all.
        TopicLayoutError: the pipeline has no topic for them.
        BrokerUnreachableError: nobody answers.
    """
    if bool(choice.ids) == (choice.every or choice.error is not None):
        raise CommandError(
            "name the dead letters to replay, or give --all or --error. See `turngate dead-letters list`."
        )
    return asyncio.run(_replay(_letters(broker), choice, as_json=as_json))


async def _replay(letters: DeadLetters, choice: Choice, *, as_json: bool) -> int:
    wanted = choice.ids or await _chosen(letters, choice.error)
    failures = 0
    note: str | None = None
    sent: dict[Hashable, str] = {}
    for letter_id in wanted:
        try:
            record = None if choice.ids else await _identity(letters, letter_id)
            if record in sent:
                _print_skipped(letter_id, sent[record], as_json=as_json)
                continue
            done = await letters.replay(letter_id)
        except BrokerUnreachableError:
            raise
        except TopicsError as error:
            failures += 1
            if as_json:
                output.json_line({"id": letter_id, "replayed": False, "error": type(error).__name__})
            output.note(f"turngate: {error}")
        else:
            note = done.note
            if record is not None:
                sent[record] = letter_id
            _print_replay(done, as_json=as_json)
    if note is not None and not as_json:
        output.note(note)
    if not wanted:
        output.note("No dead letters." if choice.error is None else f"No dead letters with error {choice.error}.")
    return FAILED if failures else OK


async def _chosen(letters: DeadLetters, error: str | None) -> tuple[str, ...]:
    """Return the ids of all letters, or of those with this error, oldest first."""
    return tuple(letter.id for letter in await letters.list() if error in {None, letter.error})


async def _identity(letters: DeadLetters, letter_id: str) -> Hashable | None:
    """Return what two letters have in common if they are about the same record, or None if the record is gone."""
    origin = (await letters.show(letter_id, with_content=True)).origin
    if origin is None:
        return None
    value = origin.value or b""
    # A record that names its thread goes where that belongs; any other one to where it was, with the key it had.
    place = None if codec.identify(value) is not None else (origin.partition, origin.key)
    return origin.topic, place, hashlib.sha256(value).digest()


def _print_skipped(letter_id: str, same: str, *, as_json: bool) -> None:
    if as_json:
        output.json_line({"id": letter_id, "replayed": False, "same_as": same})
    else:
        output.line(f"{letter_id}: skipped, its record is that of {same}")


def _letters(broker: str | None) -> DeadLetters:
    return DeadLetters(*session.connect(session.begin({"broker": broker})))


def _fields(letter: DeadLetter) -> dict[str, Any]:
    return letter.model_dump(mode="json", exclude_none=True)


def _origin(origin: Origin, *, with_content: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "topic": origin.topic,
        "partition": origin.partition,
        "offset": origin.offset,
        "key": origin.key.decode(errors="replace") if origin.key is not None else None,
        "size": origin.size,
        "at": origin.at,
    }
    if with_content:
        fields |= _content(origin.value)
    return fields


def _content(value: bytes | None) -> dict[str, str | None]:
    """Return the record's value as text, or as base64 where it is none."""
    if value is None:
        return {"value": None}
    try:
        return {"value": value.decode()}
    except UnicodeDecodeError:
        return {"value_base64": base64.b64encode(value).decode()}


def _print(shown: Shown, *, with_content: bool) -> None:
    letter = shown.letter
    output.line(f"{letter.id}: {letter.error}")
    output.line(f"  {letter.reason}")
    output.line(f"  refused {_time(letter.at)} by {letter.worker}, turn {_turn(letter) or 'unknown'}")
    origin = shown.origin
    if origin is None:
        output.line(f"  {shown.gone}")
        return
    output.line(f"  its record is still there: {origin.size} bytes, written {_time(origin.at)}")
    if with_content:
        output.line(next((f"  {value}" for value in _content(origin.value).values() if value), "  (no value)"))


def _print_replay(done: Replay, *, as_json: bool) -> None:
    if as_json:
        output.json_line(
            {
                "id": done.letter.id,
                "replayed": True,
                "topic": done.topic,
                "partition": done.partition,
                "offset": done.offset,
                "moved": done.moved,
            }
        )
    else:
        moved = ", moved to its thread's partition" if done.moved else ""
        output.line(f"{done.letter.id}: sent again as {done.topic}/{done.partition}/{done.offset}{moved}")


def _turn(letter: DeadLetter) -> str:
    if letter.turn_id is None:
        return ""
    return f"{letter.tenant or 'default'}/{letter.thread_id}/{letter.turn_id}"


def _time(at: float) -> str:
    # Whoever writes a record dates it as they like.
    if not 0 <= at < _END_OF_TIME:
        return "at an unknown time"
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
