"""What a span says: names of OpenTelemetry's conventions and of ours, and values that are no content and no ids.

The names that begin with `gen_ai` are those of the conventions for generative AI as of release 0.66b2 of the Python package.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias

from topics.content import Usage
from topics.ids import ThreadKey
from topics.trace_context import TraceContext

OPERATION: Final = "gen_ai.operation.name"
AGENT: Final = "gen_ai.agent.name"
CONVERSATION: Final = "gen_ai.conversation.id"
PROVIDER: Final = "gen_ai.provider.name"
MODEL: Final = "gen_ai.request.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
TOOL: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
ERROR: Final = "error.type"
#: All of the conventions that are used here for turns, model calls and tools; a test looks for them in the package.
CONVENTIONAL: Final = frozenset(
    {
        OPERATION,
        AGENT,
        CONVERSATION,
        PROVIDER,
        MODEL,
        FINISH_REASONS,
        FIRST_CHUNK,
        INPUT_TOKENS,
        OUTPUT_TOKENS,
        TOOL,
        TOOL_TYPE,
        ERROR,
    }
)

OUTCOME: Final = "turngate.outcome"
STEP: Final = "turngate.step"
ATTEMPT: Final = "turngate.attempt"
RETRY: Final = "turngate.retry"
DELIVERY: Final = "turngate.delivery"
PHASE: Final = "turngate.phase"
PROCESSOR: Final = "turngate.processor.name"
VERSION: Final = "turngate.processor.version"
VERDICT: Final = "turngate.processor.verdict"
CHANGES: Final = "turngate.processor.changes"

Value: TypeAlias = str | bool | int | float | tuple[str, ...]
Kind: TypeAlias = Literal["internal", "client", "server", "consumer"]

#: What a name may look like that callers, models and servers choose: nobody can write a sentence in it.
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,119}")
#: Integers of spans have 64 bits; a server may count anything.
_MOST: Final = 2**63 - 1
#: The longest of a model's finish reasons is `content_filter`.
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")


@dataclass(frozen=True, slots=True)
class Span:
    """One span that is over: times in seconds since the epoch, `error` the class of what went wrong, if anything did."""

    name: str
    kind: Kind
    context: TraceContext
    parent: TraceContext | None
    start: float
    end: float
    attributes: Mapping[str, Value] = field(default_factory=dict)
    error: str | None = None


class Spans(Protocol):
    """Where spans go."""

    def sampled(self, trace_id: str, parent: TraceContext | None) -> bool:
        """Whether a trace is recorded: what `parent` says of it, and of one that begins here what the operator has set."""

    def take(self, span: Span) -> None:
        """Take a span of a trace that is recorded; never waits, and drops it rather than let memory grow."""


def trace_id_of(*about: object) -> str:
    """Return the id of the trace about this."""
    return _digest(about, 16)


def span_id_of(trace_id: str, *about: object) -> str:
    """Return the id of the span about this in a trace."""
    return _digest((trace_id, *about), 8)


def conversation_of(thread: ThreadKey) -> str:
    """Return what stands for a thread: the ids of threads may be people's."""
    return _digest(("conversation", *thread), 8)


def name_or_none(said: str | None) -> str | None:
    """Return the name of a model if it looks like one: a caller may say anything there."""
    return said if said and _NAME.fullmatch(said) else None


def word_or(said: str | None, otherwise: str) -> str:
    """Return a finish reason or the kind of an error if it looks like one: a server may say anything there."""
    return said if said and _WORD.fullmatch(said) else otherwise


def usage_of(usage: Usage | None) -> dict[str, Value]:
    """Return what a usage says, as attributes; a count that no exporter could send is left out."""
    said = {INPUT_TOKENS: usage.prompt_tokens, OUTPUT_TOKENS: usage.completion_tokens} if usage is not None else {}
    return {name: count for name, count in said.items() if abs(count) <= _MOST}


def _digest(about: tuple[object, ...], size: int) -> str:
    # An id of zeros stands for none; nothing is known whose digest that is.
    return hashlib.blake2b("\0".join(map(str, about)).encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()
