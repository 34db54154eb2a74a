"""What is released of a turn, in the words of OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from streams.gateway.faults import GatewayError, error_body
from streams.gateway.ids import public_id
from topics.ids import TurnKey
from topics.records import (
    BlockedFrame,
    CancelledFrame,
    CompletedFrame,
    FailedFrame,
    PostprocessCompleteFrame,
    RejectedFrame,
    ReleasedFrame,
    ResetFrame,
    TerminalFrame,
    TextFrame,
)

#: How a failed turn is answered before anything of it went out: a status, a code, and whether to try again may help.
_FAILED: Final = {
    "ModelFailedError": (HTTPStatus.BAD_GATEWAY, "model_failed", True),
    "TurnTimeoutError": (HTTPStatus.GATEWAY_TIMEOUT, "turn_timeout", True),
    "FrameGapError": (HTTPStatus.BAD_GATEWAY, "frame_gap", True),
    "AnswerTooLargeError": (HTTPStatus.BAD_GATEWAY, "answer_too_large", False),
    "ProcessorFailedError": (HTTPStatus.INTERNAL_SERVER_ERROR, "processor_failed", False),
    "InvalidRequestError": (HTTPStatus.BAD_REQUEST, "invalid_request", False),
}


@dataclass(slots=True)
class Completion:
    """One answer under way: `made_at` is when it was asked for (epoch seconds), `sent` the text that is out."""

    turn: TurnKey
    model: str
    made_at: float
    include_usage: bool = False
    sent: str = ""
    final: str | None = None
    _begun: bool = field(default=False, init=False)

    # -- streamed -----------------------------------------------------------------------------------------------------

    def begin(self) -> Iterator[dict[str, Any]]:
        """Yield what a stream begins with, once."""
        if not self._begun:
            self._begun = True
            yield self._chunk({"role": "assistant", "content": ""})

    def chunks(self, frame: ReleasedFrame) -> Iterator[dict[str, Any]]:
        """Yield the chunks that tell `frame`.

        Raises:
            GatewayError: there is no chunk that would: the stream has to end with the error.
        """
        yield from self.begin()
        match frame:
            case TextFrame(text=text):
                yield from self._text(text)
            case ResetFrame():
                raise GatewayError(
                    HTTPStatus.BAD_GATEWAY,
                    "the model's call failed and was made again, so the text so far does not count: drop it and ask again",
                    kind="server_error",
                    code="attempt_restarted",
                )
            case PostprocessCompleteFrame(text=text):
                self.final = text
                if text.startswith(self.sent):
                    yield from self._text(text[len(self.sent) :])
            case _:
                yield from self._ending(frame)

    def _ending(self, end: TerminalFrame) -> Iterator[dict[str, Any]]:
        if isinstance(end, FailedFrame | CancelledFrame):
            raise failure(end)
        reply = _reply(end)
        if self.final is None and reply.startswith(self.sent):
            yield from self._text(reply[len(self.sent) :])
        if isinstance(end, CompletedFrame):
            if end.refusal:
                yield self._chunk({"refusal": end.refusal})
            if end.tool_calls:
                yield self._chunk({"tool_calls": _calls(end, numbered=True)})
        last = self._chunk({}, finish=_finish(end), error=_error(end))
        last["turngate"] = self._more(end)
        yield last
        if self.include_usage:
            yield {**self._chunk({}), "choices": [], "usage": _usage(end)}

    def _text(self, text: str) -> Iterator[dict[str, Any]]:
        if text:
            self.sent += text
            yield self._chunk({"content": text})

    def _chunk(
        self, delta: dict[str, Any], *, finish: str | None = None, error: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        chunk = {**self._head("chat.completion.chunk"), "choices": [choice if error is None else {**choice, **error}]}
        return chunk | ({"usage": None} if self.include_usage else {})

    # -- at once ------------------------------------------------------------------------------------------------------

    def whole(self, end: TerminalFrame, reply: str) -> dict[str, Any]:
        """Return the answer to a request that does not stream; `reply` is what to show.

        Raises:
            GatewayError: the turn failed, or was cancelled.
        """
        if isinstance(end, FailedFrame | CancelledFrame):
            raise failure(end)
        message: dict[str, Any] = {"role": "assistant", "content": reply, "refusal": None}
        if isinstance(end, CompletedFrame):
            message["refusal"] = end.refusal
            if end.tool_calls:
                message |= {"content": reply or None, "tool_calls": _calls(end, numbered=False)}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(end)}
        return {
            **self._head("chat.completion"),
            "choices": [{**choice, **(_error(end) or {})}],
            "usage": _usage(end),
            "turngate": self._more(end),
        }

    def _head(self, kind: str) -> dict[str, Any]:
        name = f"chatcmpl-{public_id(self.turn)[2:]}"
        return {"id": name, "object": kind, "created": int(self.made_at), "model": self.model}

    def _more(self, end: TerminalFrame) -> dict[str, Any]:
        more: dict[str, Any] = {"turn": public_id(self.turn), "outcome": end.kind}
        if isinstance(end, BlockedFrame | RejectedFrame):
            more["processor"] = end.processor
        if isinstance(end, BlockedFrame) and end.code is not None:
            more["code"] = end.code
        if self.final is not None and self.final != self.sent:
            more["reply"] = self.final
        return more


def failure(end: FailedFrame | CancelledFrame) -> GatewayError:
    """Return what is said of a turn that failed or was cancelled."""
    if isinstance(end, CancelledFrame):
        return _fault(HTTPStatus.CONFLICT, "the turn was cancelled", "cancelled", retry=False)
    status, code, retry = _FAILED[end.error]
    return _fault(status, f"{end.error}: {end.message}", code, retry=retry)


def _fault(status: int, message: str, code: str, *, retry: bool) -> GatewayError:
    kind = "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
    return GatewayError(status, message, kind=kind, code=code, headers={"x-should-retry": str(retry).lower()})


def _reply(end: TerminalFrame) -> str:
    if isinstance(end, BlockedFrame):
        return end.response
    return (end.reply or "") if isinstance(end, CompletedFrame) else ""


def _finish(end: TerminalFrame) -> str:
    if isinstance(end, CompletedFrame):
        return "tool_calls" if end.tool_calls else end.finish_reason
    return "stop" if isinstance(end, BlockedFrame) and end.response else "content_filter"


def _error(end: TerminalFrame) -> dict[str, Any] | None:
    """Return the error object of a choice that was filtered, None for any other."""
    if isinstance(end, RejectedFrame):
        error = error_body(f"the answer was refused by the output processor {end.processor}", end.error)
        return {"error": {**error["error"], "code": "content_filter"}}
    if isinstance(end, BlockedFrame) and not end.response:
        code = end.code or "preprocessor_blocked"
        return error_body(f"the message was blocked by {end.processor}", "preprocessor_blocked", code=code)
    return None


def _calls(end: CompletedFrame, *, numbered: bool) -> list[dict[str, Any]]:
    return [
        {
            **({"index": number} if numbered else {}),
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for number, call in enumerate(end.tool_calls)
    ]


def _usage(end: TerminalFrame) -> dict[str, Any] | None:
    usage = end.usage if isinstance(end, CompletedFrame) else None
    return usage.model_dump() if usage is not None else None
