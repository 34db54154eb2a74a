"""OpenAI's chat completions, each a stateless turn: an existing client is gated by changing its base URL."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from streams.gateway import sse
from streams.gateway.auth import Known
from streams.gateway.chat_answer import Completion, failure
from streams.gateway.chat_request import ChatBody, turn_fields
from streams.gateway.context import Gateway, gateway_of
from streams.gateway.faults import GatewayError, too_many
from streams.gateway.following import follow
from streams.gateway.ids import public_id
from streams.gateway.limits import TooManyError
from streams.gateway.reading import Event
from streams.gateway.turns_api import ERRORS, submit_turn
from topics import codec
from topics.client import ContradictedTextError
from topics.ids import TurnKey
from topics.records import CancelledFrame, FailedFrame

#: How often an answer that is not streamed looks whether its client is still there, in seconds.
_LOOK_S = 1.0
_DONE = b"data: [DONE]\n\n"

router = APIRouter(prefix="/v1", tags=["openai"], responses=ERRORS)


@router.get("/models")
async def models(request: Request, caller: Known) -> dict[str, Any]:  # noqa: ARG001 - whoever has a key
    """List the models that the settings name; `default` is whichever the operator has set."""
    names = gateway_of(request).options.models
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "turngate"} for name in names]
    return {"object": "list", "data": data}


@router.post(
    "/chat/completions",
    response_model=None,
    responses={
        HTTPStatus.OK: {
            "description": "a chat completion; with `stream`, its chunks as server-sent events",
            "content": {"application/json": {}, "text/event-stream": {}},
        },
        **dict.fromkeys((409, 500, 502, 504), ERRORS[422]),
    },
)
async def complete(request: Request, caller: Known, body: ChatBody) -> Response:
    """Complete a chat."""
    gateway = gateway_of(request)
    fields = turn_fields(body, gateway.options.params)
    held = ExitStack()
    try:
        held.enter_context(gateway.limits.stream(caller.name))
    except TooManyError as error:
        raise too_many(error) from None
    with held:
        turn = await submit_turn(gateway, caller, fields)
        answer = Completion(turn, body.model, time.time(), include_usage=body.include_usage)
        if not body.stream:
            return await _at_once(request, gateway, answer, cancel=body.turngate.cancel_on_disconnect)
        events = _follow(gateway, turn, gateway.options.keep_alive_s)
        try:
            first = await _first(events)
        except BaseException:
            await events.aclose()
            raise

        async def abandoned() -> None:
            await gateway.client.cancel(turn)

        return sse.EventStream(
            _streamed(gateway, answer, first, events),
            send_timeout_s=gateway.options.send_timeout_s,
            drop=gateway.drop,
            held=held.pop_all(),
            abandoned=abandoned if body.turngate.cancel_on_disconnect else None,
            headers=_headers(turn),
        )


async def _first(events: AsyncGenerator[Event | None, None]) -> Event | None:
    """Return the first news, or None if there is none soon: an error can be a status only while nothing has gone out.

    Raises:
        GatewayError: the turn failed or was cancelled, or contradicts itself.
    """
    first = await anext(events, None)
    if first is not None and isinstance(first.frame, FailedFrame | CancelledFrame):
        raise failure(first.frame)
    return first


async def _streamed(
    gateway: Gateway, answer: Completion, first: Event | None, events: AsyncGenerator[Event | None, None]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(events):
        try:
            for chunk in answer.begin():
                yield sse.event(codec.dump(chunk))
            event = first
            while True:
                if event is None:
                    yield sse.KEEP_ALIVE
                else:
                    for chunk in answer.chunks(event.frame):
                        yield sse.event(codec.dump(chunk))
                    if event.last:
                        yield _DONE
                        return
                event = await anext(events)
        except StopAsyncIteration:
            yield sse.event(codec.dump(_gone().body))
        except GatewayError as error:
            if error.code == "attempt_restarted":
                await gateway.client.cancel(answer.turn)  # nobody can be shown the rest
            yield sse.event(codec.dump(error.body))


async def _at_once(request: Request, gateway: Gateway, answer: Completion, *, cancel: bool) -> Response:
    async with aclosing(_follow(gateway, answer.turn, _LOOK_S)) as events:
        async for event in events:
            if event is None:
                if cancel and await request.is_disconnected():
                    await gateway.client.cancel(answer.turn)
                    cancel = False
            elif event.last:
                view = gateway.hub.find(answer.turn).view
                end = view.terminal
                if end is not None:
                    return JSONResponse(answer.whole(end, view.reply), headers=_headers(answer.turn))
    raise _gone()


async def _follow(gateway: Gateway, turn: TurnKey, keep_alive_s: float) -> AsyncGenerator[Event | None, None]:
    """Follow a turn; a contradiction is an error like others.

    Raises:
        GatewayError: the frames disagree about the text.
    """
    quiet_s = gateway.options.quiet_s
    async with aclosing(follow(gateway.hub, turn, None, keep_alive_s=keep_alive_s, quiet_s=quiet_s)) as events:
        try:
            async for event in events:
                yield event
        except ContradictedTextError as error:
            raise GatewayError(
                HTTPStatus.INTERNAL_SERVER_ERROR, str(error), kind="server_error", code="contradicted"
            ) from None


def _gone() -> GatewayError:
    return GatewayError(
        HTTPStatus.GATEWAY_TIMEOUT,
        "the turn did not end in time, or the gateway is closing: look at the turn by its id, or ask again",
        kind="server_error",
        code="no_answer",
    )


def _headers(turn: TurnKey) -> dict[str, str]:
    return {"x-turngate-turn": public_id(turn)}
