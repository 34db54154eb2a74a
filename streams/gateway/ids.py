"""Ids that go over HTTP: of turns, and of events in them."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from topics.ids import Id, TurnKey

_ID: TypeAdapter[str] = TypeAdapter(Id)
_MARK = "t_"
#: Two ids of 200 characters with up to four bytes each, and the slash between them, in base64.
MAX_TURN_ID = len(_MARK) + (1601 * 4 + 2) // 3
_POSITION = re.compile(r"([0-9]{1,18})\.([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})\.([tpe])")

#: What of a turn comes next: text, its ending once the post-processed version is out, or nothing.
Stage = Literal["t", "p", "e"]


class IdError(ValueError):
    """An id was not given out by a gateway; never quotes it."""


def public_id(turn: TurnKey) -> str:
    """Return the id by which `turn` is known over HTTP: opaque, safe in a URL, the same from every gateway.

    The tenant is not in it: that is the key's.
    """
    plain = f"{turn.thread_id}/{turn.turn_id}".encode()
    return _MARK + base64.urlsafe_b64encode(plain).decode().rstrip("=")


def turn_of(tenant: str, given: str) -> TurnKey:
    """Return the turn of `tenant` that `public_id` gave the id `given`.

    Raises:
        IdError: it is no such id.
    """
    try:
        body = given.removeprefix(_MARK)
        plain = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True).decode()
        thread_id, turn_id = plain.split("/")
        turn = TurnKey(tenant, _ID.validate_python(thread_id), _ID.validate_python(turn_id))
    except (binascii.Error, ValueError, ValidationError):
        turn = None
    if turn is None or public_id(turn) != given:
        raise IdError("this is not the id of a turn: give the `id` that POST /v1/turns answered")
    return turn


class Position(NamedTuple):
    """How far a reader has got in a turn; as text, the id of the last event it was sent.

    `start` is the offset in the thread's partition at which the turn's first record is, so that a gateway that does not
    hold the turn reads it from there. The rest says what the reader has: all of the steps before `step`, and of that one's
    `attempt` so many code points as `offset` says.
    """

    start: int = 0
    step: int = 0
    attempt: int = 0
    offset: int = 0
    stage: Stage = "t"

    def __str__(self) -> str:
        """Return the position as an event id."""
        return ".".join(map(str, self))

    @classmethod
    def parse(cls, text: str) -> Position:
        """Return the position that `str()` wrote.

        Raises:
            IdError: it is no such id.
        """
        found = _POSITION.fullmatch(text)
        if found is None:
            raise IdError("this is not the id of an event: send the last one that you received, or none")
        start, step, attempt, offset, stage = found.groups()
        return cls(int(start), int(step), int(attempt), int(offset), stage)  # type: ignore[arg-type] # the pattern's
