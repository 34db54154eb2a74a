"""Reduce what a processor hands back to plain values: what can be journaled, sent to another process and compared.

A processor may return a `str` subclass, a dict with a date in it or a tool call whose arguments were replaced
unchecked. What cannot be made plain without guessing is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from processors.errors import MalformedVerdictError
from topics.content import FilePart, ImagePart, Message, Part, Prompt, TextPart, ToolCall
from topics.text import well_formed

_PARTS = (TextPart, ImagePart, FilePart)
_MAX_DEPTH = 32
# What the codec can write: a journal record must never fail because of what a processor said.
_MIN_INT = -(2**63)
_MAX_INT = 2**64 - 1


def plain_text(value: object, what: str) -> str:
    """Return `value` as an exact `str` of characters that exist in UTF-8; `what` names it in the error.

    Raises:
        MalformedVerdictError: it is no text.
    """
    if not isinstance(value, str):
        raise MalformedVerdictError(f"{what} must be a str, not {type(value).__name__}")
    return str(well_formed(value if type(value) is str else str.__str__(value)))


def plain_tool_calls(value: object, what: str) -> tuple[ToolCall, ...]:
    """Return `value` as a tuple of tool calls whose fields are texts.

    Raises:
        MalformedVerdictError: it is no sequence of `ToolCall`, or one of them was changed into something else.
    """
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise MalformedVerdictError(f"{what} must be a sequence of ToolCall, not {type(value).__name__}")
    calls = []
    for call in value:
        if not isinstance(call, ToolCall):
            raise MalformedVerdictError(f"{what} must hold ToolCall only, not {type(call).__name__}")
        fields = {name: plain_text(getattr(call, name), f"{what}: {name}") for name in ("id", "name", "arguments")}
        calls.append(ToolCall(**fields))
    return tuple(calls)


def plain_message(value: object, what: str) -> tuple[Part, ...]:
    """Return `value`, a text or a sequence of parts, as a non-empty tuple of parts.

    Raises:
        MalformedVerdictError: it is neither, or there are no parts in it.
    """
    if isinstance(value, str):
        return (TextPart(text=plain_text(value, what)),)
    if not isinstance(value, Sequence):
        raise MalformedVerdictError(f"{what} must be a str or a sequence of parts, not {type(value).__name__}")
    parts: list[Part] = []
    for part in value:
        if not isinstance(part, _PARTS):
            raise MalformedVerdictError(
                f"{what} must hold TextPart, ImagePart and FilePart only, not {type(part).__name__}"
            )
        try:
            parts.append(type(part).model_validate(part.model_dump(warnings="none")))
        except (ValidationError, PydanticSerializationError) as error:
            raise MalformedVerdictError(f"{what} holds a part that was changed into something else") from error
    if not parts:
        raise MalformedVerdictError(f"{what} must hold at least one part")
    return tuple(parts)


def plain_mapping(value: object, what: str) -> dict[str, Any]:
    """Return a deep copy of `value` made of JSON values only.

    Raises:
        MalformedVerdictError: it is no mapping, has a key that is no text, or holds something JSON cannot say.
    """
    if not isinstance(value, Mapping):
        raise MalformedVerdictError(f"{what} must be a mapping, not {type(value).__name__}")
    return {_key(key, what): _json(item, what, 1) for key, item in value.items()}


def plain_prompt(value: object, what: str) -> Prompt:
    """Return `value` as a prompt whose every field is of its declared type.

    `model_copy(update=...)` checks nothing: what it left behind is checked here.

    Raises:
        MalformedVerdictError: it is no `Prompt`, or holds something a prompt cannot.
    """
    if not isinstance(value, Prompt):
        raise MalformedVerdictError(f"{what} must be a Prompt, not {type(value).__name__}")
    try:
        return Prompt.model_validate(value.model_dump(warnings="none"))
    except (ValidationError, PydanticSerializationError, AttributeError) as error:
        raise MalformedVerdictError(f"{what} holds something that no prompt can") from error


def plain_messages(value: object, what: str) -> tuple[Message, ...]:
    """Return `value`, a list or tuple of messages, as a tuple of them whose every field is of its declared type.

    Raises:
        MalformedVerdictError: it is none, or holds something a message cannot.
    """
    if not isinstance(value, list | tuple):
        raise MalformedVerdictError(f"{what} must be a tuple of Message, not {type(value).__name__}")
    wrong = next((one for one in value if not isinstance(one, Message)), None)
    if wrong is not None:
        raise MalformedVerdictError(f"{what} must hold Message only, not {type(wrong).__name__}")
    return plain_prompt(Prompt.model_construct(messages=tuple(value)), what).messages


def _key(key: object, what: str) -> str:
    """Return `key` if it is a text."""
    if not isinstance(key, str):
        raise MalformedVerdictError(f"{what} must have str keys only, not {type(key).__name__}")
    return plain_text(key, what)


def _json(value: object, what: str, depth: int) -> Any:
    """Return a copy of one JSON value, exact types only."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and _MIN_INT <= value <= _MAX_INT:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if depth > _MAX_DEPTH:
        raise MalformedVerdictError(f"{what} is nested more than {_MAX_DEPTH} levels deep")
    if isinstance(value, str):
        return plain_text(value, what)
    if isinstance(value, Mapping):
        return {_key(key, what): _json(item, what, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item, what, depth + 1) for item in value]
    raise MalformedVerdictError(
        f"{what} must hold JSON values only (whole numbers of 64 bits, finite ones), not {type(value).__name__}"
    )
