"""The `script` adapter: the answer is written in the request. For demos, tests and load.

`params["script"]` is a list. An item is a text, or an object with any of a frame's optional fields (`text`,
`reasoning`, `refusal`, `tool_call_delta`, `finish_reason`, `usage`, `error`) and:

    delay_s         seconds to sleep before the item; `params["delay_s"]` is the default for items that name none
    hang            true: after this item nothing more ever comes
    step, attempt   play the item only in that step or attempt; left out, it is played in all

The script ends at the first item that finishes, fails or hangs; one that does none of these finishes with `stop`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, NonNegativeInt, StringConstraints, ValidationError

from streams.models.delta import Delta
from streams.models.errors import InvalidScriptError
from topics.content import Usage
from topics.records import ModelError, PromptRequest, ToolCallDelta

#: The longest sleep before one item, in seconds.
MAX_DELAY_S = 60.0

_MAX_FAULTS_NAMED = 3

Delay = Annotated[float, Field(ge=0, le=MAX_DELAY_S, allow_inf_nan=False)]


class ScriptItem(BaseModel):
    """One item of a script, see the module's text."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    text: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_call_delta: ToolCallDelta | None = None
    finish_reason: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None
    usage: Usage | None = None
    error: ModelError | None = None
    delay_s: Delay | None = None
    hang: bool = False
    step: NonNegativeInt | None = None
    attempt: NonNegativeInt | None = None

    def delta(self) -> Delta:
        """Return the item's output; an item that only hangs has none."""
        return Delta(
            text=self.text,
            reasoning=self.reasoning,
            refusal=self.refusal,
            tool_call_delta=self.tool_call_delta,
            finish_reason=self.finish_reason,
            usage=self.usage,
            error=self.error,
        )


def _item(value: object) -> object:
    return {"text": value} if isinstance(value, str) else value


class Script(BaseModel):
    """The part of a request's `params` that this adapter reads; other names are other adapters' business."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    script: tuple[Annotated[ScriptItem, BeforeValidator(_item)], ...]
    delay_s: Delay = 0.0

    @classmethod
    def of(cls, request: PromptRequest) -> Script:
        """Return the script in `request`.

        Raises:
            InvalidScriptError: there is none, or it cannot be played; the message names fields, never values.
        """
        try:
            return cls.model_validate(request.params or {})
        except ValidationError as exc:
            raise InvalidScriptError(_complaint(exc)) from None

    def items_of(self, request: PromptRequest) -> tuple[ScriptItem, ...]:
        """Return the items played in the step and attempt that `request` is about."""
        return tuple(
            item
            for item in self.script
            if item.step in (None, request.step) and item.attempt in (None, request.attempt)
        )


def _complaint(exc: ValidationError) -> str:
    faults = exc.errors(include_url=False, include_context=False, include_input=False)
    named = "; ".join(
        # A field nobody knows is named by its writer, who may have written anything: its place is told, not its name.
        f"{'.'.join(str(step) for step in fault['loc'][:-1])}: a field that scripts do not have"
        if fault["type"] == "extra_forbidden"
        else f"{'.'.join(str(step) for step in fault['loc'])}: {fault['type']}"
        for fault in faults[:_MAX_FAULTS_NAMED]
    )
    more = len(faults) - _MAX_FAULTS_NAMED
    tail = f" (and {more} more)" if more > 0 else ""
    return f"params.script must be a list of texts and frame-like objects; wrong in params: {named}{tail}"


class ScriptAdapter:
    """Plays the script that a request carries. Construct it only where the operator allows scripted answers."""

    name = "script"

    async def stream(self, request: PromptRequest) -> AsyncGenerator[Delta, None]:
        """Yield the script's items at their times; a script that cannot be played gives one `InvalidScriptError`."""
        try:
            script = Script.of(request)
        except InvalidScriptError as exc:
            yield Delta.failed(exc)
            return
        for item in script.items_of(request):
            delay_s = script.delay_s if item.delay_s is None else item.delay_s
            if delay_s:
                await asyncio.sleep(delay_s)
            delta = item.delta()
            if delta != Delta() or not item.hang:
                yield delta
            if delta.is_last:
                return
            if item.hang:
                await asyncio.Event().wait()
        yield Delta(finish_reason="stop")

    async def close(self) -> None:
        """Do nothing: a script keeps nothing open."""
