"""What processors answer.

A constructor that is given the wrong thing raises `MalformedVerdictError`, a `TypeError`: inside a processor that is a
failure like any other, so that `Replace(match)` instead of `Replace(match.group())` can never release anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from processors.errors import MalformedVerdictError
from processors.plain import plain_mapping, plain_message, plain_text, plain_tool_calls
from topics.content import Part, ToolCall


@dataclass(frozen=True, slots=True)
class Pass:
    """The answer may go out as it is."""


@dataclass(frozen=True, slots=True)
class Replace:
    """The answer goes out as `text`, and with `tool_calls` unless that is None (then they stay as they were).

    `changes` is how many things were rewritten, for the decision record; None lets it be 0 or 1 by comparison.
    """

    text: str
    tool_calls: Sequence[ToolCall] | None = None
    changes: int | None = None

    def __post_init__(self) -> None:
        _set(self, "text", plain_text(self.text, "Replace: text"))
        if self.tool_calls is not None:
            _set(self, "tool_calls", plain_tool_calls(self.tool_calls, "Replace: tool_calls"))
        if self.changes is not None and (type(self.changes) is not int or self.changes < 0):
            raise MalformedVerdictError("Replace: changes must be an int, 0 or more, or None")


@dataclass(frozen=True, slots=True)
class Reject:
    """The answer may not go out at all. `reason` is for the operator's records; readers never see it."""

    reason: str

    def __post_init__(self) -> None:
        _set(self, "reason", plain_text(self.reason, "Reject: reason"))


@dataclass(frozen=True, slots=True)
class Proceed:
    """The turn goes on, with `message` (a text or parts) in place of the user's unless it is None.

    `metadata` holds JSON values, for later processors and for the decision record.
    """

    message: str | Sequence[Part] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.message is not None:
            _set(self, "message", plain_message(self.message, "Proceed: message"))
        _set(self, "metadata", plain_mapping(self.metadata, "Proceed: metadata"))


@dataclass(frozen=True, slots=True)
class Block:
    """The turn ends here: the model never runs and `response` is the reply.

    None and "" both ask for the channel's default text; None is held as "".

    `reason` and `metadata` are for the operator's records.
    """

    response: str | None = ""
    reason: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _set(self, "response", "" if self.response is None else plain_text(self.response, "Block: response"))
        if self.reason is not None:
            _set(self, "reason", plain_text(self.reason, "Block: reason"))
        _set(self, "metadata", plain_mapping(self.metadata, "Block: metadata"))


@dataclass(frozen=True, slots=True)
class ModifiedResponse:
    """The reply goes out as `text`."""

    text: str

    def __post_init__(self) -> None:
        _set(self, "text", plain_text(self.text, "ModifiedResponse: text"))


@dataclass(frozen=True, slots=True)
class Allow:
    """The tool call may be made."""


@dataclass(frozen=True, slots=True)
class Deny:
    """The tool call may not be made. `reason` is for the operator's records."""

    reason: str

    def __post_init__(self) -> None:
        _set(self, "reason", plain_text(self.reason, "Deny: reason"))


OutputVerdict: TypeAlias = Pass | Replace | Reject
PreVerdict: TypeAlias = Proceed | Block
ToolVerdict: TypeAlias = Allow | Deny


def _set(verdict: object, name: str, value: object) -> None:
    """Set a field of a frozen verdict while it is being made."""
    object.__setattr__(verdict, name, value)
