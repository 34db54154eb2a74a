"""What every model adapter is: a prompt in, pieces of output out."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from streams.models.delta import Delta
from streams.models.errors import ModelCallError
from topics.records import PromptRequest


class ModelAdapter(Protocol):
    """Calls one kind of model. One adapter serves many calls at once."""

    @property
    def name(self) -> str:
        """What the adapter is called in logs and metrics."""
        ...

    def stream(self, request: PromptRequest) -> AsyncGenerator[Delta, None]:
        """Make the call and yield its output in order, ending with one delta that `is_last`.

        What the model or its server gets wrong is yielded as a delta with an `error`; raising is for what nobody
        expected. Each call is made once: trying again is the turn machine's business. Closing or cancelling the
        generator closes the connection to the model at once.
        """
        ...

    async def close(self) -> None:
        """Give up connections that are kept open between calls."""
        ...


class RefusingAdapter:
    """Answers every request with the same error: what a request gets that no adapter will take."""

    name = "refusing"

    def __init__(self, error: ModelCallError) -> None:
        self._last = Delta.failed(error)

    async def stream(self, request: PromptRequest) -> AsyncGenerator[Delta, None]:  # noqa: ARG002 - whatever it asks
        """Yield the error."""
        yield self._last

    async def close(self) -> None:
        """Do nothing: there is nothing to give up."""
