"""One piece of model output, before it belongs to a call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Self

from streams.models.errors import ModelCallError
from topics.content import Usage
from topics.records import ModelError, ToolCallDelta


@dataclass(frozen=True, slots=True)
class Delta:
    """A `ModelFrame` without its ids and `seq`: what an adapter yields. Several payloads may share one delta.

    The first delta with a `finish_reason` or an `error` is the last one of its call. `account` is what may be logged of an
    `error`: never any of a provider's or a caller's wording. `provider` is what the error says of who was asked: that they
    are there, whatever they objected to, or down. Neither goes into a frame.
    """

    text: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_call_delta: ToolCallDelta | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    error: ModelError | None = None
    account: str | None = field(default=None, compare=False)
    provider: Literal["up", "down"] | None = field(default=None, compare=False)

    @classmethod
    def failed(cls, error: ModelCallError, *, usage: Usage | None = None) -> Self:
        """Return the delta that ends a call with one of our own errors, whose message may be logged."""
        return cls(usage=usage, error=error.as_error(), account=f"{type(error).__name__}: {error}")

    @property
    def is_last(self) -> bool:
        """Whether the call ends with this delta."""
        return self.finish_reason is not None or self.error is not None

    @property
    def is_text_only(self) -> bool:
        """Whether text is all it carries, so that it may be joined with its neighbours."""
        return self.text is not None and self == Delta(text=self.text)
