"""What running a chain came to: plain data, so that the pure machine can take it in and a process can send it on.

An outcome says what became of the input; its reports say what each member did, in chain order, without content. Times
are in milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from topics.content import Part, Prompt, ToolCall, Usage

Verdict = Literal["pass", "replace", "reject", "proceed", "block", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class Report:
    """What one processor did in one run of its chain.

    `error` is the class name of what it threw; `reason` and `metadata` are what it said itself. `usage` is what calls of
    its own cost, None if it made none, and `model` whom it asked.
    """

    processor: str
    version: str
    verdict: Verdict
    changes: int = 0
    time_ms: float = 0.0
    error: str | None = None
    reason: str | None = None
    metadata: dict[str, Any] | None = None
    usage: Usage | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Approved:
    """The output chain passed the answer, as `text` and `tool_calls`, and the model's own `refusal`, if it had one."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    reports: tuple[Report, ...] = ()
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The output processor `processor` rejected the answer."""

    processor: str
    reason: str
    reports: tuple[Report, ...] = ()


@dataclass(frozen=True, slots=True)
class Broken:
    """`processor` threw, ran out of time or gave a malformed verdict, and its failure may not be skipped.

    `error` is the class name of what was thrown: the message may quote content and is never carried.
    """

    processor: str
    error: str
    reports: tuple[Report, ...] = ()


@dataclass(frozen=True, slots=True)
class Derived:
    """The input chain made `prompt` of the one it was given."""

    prompt: Prompt
    reports: tuple[Report, ...] = ()


@dataclass(frozen=True, slots=True)
class Proceeded:
    """The pre-processors let the turn go on, with `message`."""

    message: tuple[Part, ...]
    metadata: dict[str, Any] = field(default_factory=dict)
    reports: tuple[Report, ...] = ()


@dataclass(frozen=True, slots=True)
class Blocked:
    """`processor`, a message rule or a pre-processor, ends the turn with `response`.

    "" asks for the channel's default text. Of a post-processor that failed: `response` goes out in place of the reply.
    """

    processor: str
    response: str = ""
    reason: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    reports: tuple[Report, ...] = ()


@dataclass(frozen=True, slots=True)
class Allowed:
    """The rules let the tool call be made."""

    reports: tuple[Report, ...] = ()


@dataclass(frozen=True, slots=True)
class Denied:
    """The rule `processor` does not let the tool call be made."""

    processor: str
    reason: str
    reports: tuple[Report, ...] = ()


@dataclass(frozen=True, slots=True)
class Modified:
    """The post-processors made `text` of the reply; `metadata` is what the pre-processors of the turn said."""

    text: str
    metadata: dict[str, Any] = field(default_factory=dict)
    reports: tuple[Report, ...] = ()


OutputOutcome: TypeAlias = Approved | Refused | Broken
InputOutcome: TypeAlias = Derived | Broken
PreOutcome: TypeAlias = Proceeded | Blocked | Broken
ToolOutcome: TypeAlias = Allowed | Denied | Broken
PostOutcome: TypeAlias = Modified | Blocked | Broken
