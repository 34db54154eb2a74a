"""Turns over HTTP: submit, look at, follow and cancel them."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Response
from pydantic import ValidationError
from starlette.requests import Request

from streams.gateway import sse
from streams.gateway.auth import Known, check_unbound
from streams.gateway.context import Gateway, gateway_of
from streams.gateway.faults import ErrorAnswer, GatewayError, error_body, invalid, too_many
from streams.gateway.following import follow
from streams.gateway.held import Held
from streams.gateway.ids import MAX_TURN_ID, IdError, Position, turn_of
from streams.gateway.keys import Caller
from streams.gateway.limits import TooManyError
from streams.gateway.shapes import (
    Cancelling,
    State,
    Submitted,
    TurnBody,
    TurnList,
    TurnRow,
    TurnState,
    state_of,
    submitted,
    turn_row,
    turn_state,
)
from topics import codec
from topics.client import ContradictedTextError
from topics.content import User
from topics.errors import MalformedRecordError
from topics.ids import TurnKey
from topics.records import TurnRequest

#: What a request may have on the wire, see `docs/wire.md`.
MAX_REQUEST_BYTES = 768 * 1024
MAX_LISTED = 200

TurnId = Annotated[str, Path(max_length=MAX_TURN_ID, description="the `id` that POST /v1/turns answered")]
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer} for status in (400, 401, 403, 404, 413, 422, 429, 503)
}

router = APIRouter(prefix="/v1", tags=["turns"], responses=ERRORS)


@router.post("/turns", status_code=HTTPStatus.ACCEPTED)
async def submit(request: Request, caller: Known, body: TurnBody, response: Response) -> Submitted:
    """Submit a turn; with the `thread_id` and `turn_id` of an earlier one this changes nothing."""
    fields = {name: getattr(body, name) for name in body.model_fields_set if getattr(body, name) is not None}
    turn = await submit_turn(gateway_of(request), caller, fields)
    answer = submitted(turn)
    response.headers["Location"] = f"/v1/turns/{answer.id}"
    return answer


async def submit_turn(gateway: Gateway, caller: Caller, fields: dict[str, Any]) -> TurnKey:
    """Submit a turn of `caller` with these fields of a `TurnRequest`, and return its identity.

    Raises:
        GatewayError: the request cannot be one, or is too large.
        BrokerUnreachableError: the broker did not confirm it.
    """
    new = "turn_id" not in fields
    if caller.user is not None:
        said = fields["user"].model_dump() if "user" in fields else {}
        fields = {**fields, "user": User(**{**said, "id": caller.user})}
    ids = {"thread_id": str(uuid.uuid4()), "turn_id": str(uuid.uuid4())}
    try:
        record = TurnRequest(**{**ids, **fields, "tenant": caller.tenant})
        raw = codec.encode(record)
        codec.parse(raw)
    except ValidationError as error:
        raise invalid(error) from None
    except MalformedRecordError as error:
        raise GatewayError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error), code="malformed") from None
    if len(raw) > MAX_REQUEST_BYTES:
        raise GatewayError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the request has {len(raw)} bytes as a record, and {MAX_REQUEST_BYTES} is the most: send images and files by "
            "url, or a shorter history",
            code="too_large",
        )
    gateway.hub.expect(record.turn, new=new)
    gateway.traces.asked(record.turn, new=new)
    return await gateway.client.submit(record)


@router.get("/turns")
async def list_turns(
    request: Request,
    caller: Known,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 50,
    state: Annotated[list[State] | None, Query(max_length=10, description="only turns in one of these states")] = None,
    thread: Annotated[str | None, Query(max_length=200, description="only threads whose id has this in it")] = None,
) -> TurnList:
    """List the latest turns of one's tenant that this gateway knows of, without their text."""
    check_unbound(caller)
    wanted = frozenset(state or ())

    def right(held: Held) -> bool:
        return (not wanted or state_of(held) in wanted) and (thread in held.view.turn.thread_id if thread else True)

    rows: list[TurnRow] = [turn_row(held) for held in gateway_of(request).hub.recent(caller.tenant, limit, right)]
    return TurnList(turns=rows)


@router.get("/turns/{turn_id}")
async def look(request: Request, caller: Known, turn_id: TurnId) -> TurnState:
    """Return what has become of a turn: `pending` as long as nothing of it was released, also if it does not exist."""
    return turn_state(await whole(gateway_of(request), turn_named(caller, turn_id)))


@router.delete("/turns/{turn_id}", status_code=HTTPStatus.ACCEPTED)
async def cancel(request: Request, caller: Known, turn_id: TurnId) -> Cancelling:
    """Ask for an open turn to be ended: it ends `cancelled`, unless it ended before."""
    await gateway_of(request).client.cancel(turn_named(caller, turn_id))
    return Cancelling(id=turn_id)


@router.get(
    "/turns/{turn_id}/events",
    status_code=HTTPStatus.OK,
    response_class=sse.EventStream,
    responses={204: {"description": "there is nothing after this event: do not reconnect"}},
)
async def events(
    request: Request,
    caller: Known,
    turn_id: TurnId,
    last_event_id: Annotated[str | None, Header(max_length=100)] = None,
    on_disconnect: Annotated[Literal["continue", "cancel"], Query()] = "continue",
) -> Response:
    """Follow a turn: its released frames as server-sent events, from its beginning or after `Last-Event-ID`.

    The name of an event is the frame's `kind`, its data the frame. While text is held there are comments. After the
    terminal frame the stream ends.
    """
    gateway, turn = gateway_of(request), turn_named(caller, turn_id)
    try:
        at = Position.parse(last_event_id) if last_event_id else None
    except IdError as error:
        raise GatewayError(HTTPStatus.BAD_REQUEST, str(error), param="Last-Event-ID", code="invalid_id") from None
    if at is not None and at.stage == "e":
        return Response(status_code=HTTPStatus.NO_CONTENT)
    held = ExitStack()
    try:
        held.enter_context(gateway.limits.stream(caller.name))
    except TooManyError as error:
        raise too_many(error) from None

    async def abandoned() -> None:
        await gateway.client.cancel(turn)

    return sse.EventStream(
        _encoded(gateway, turn, at),
        send_timeout_s=gateway.options.send_timeout_s,
        drop=gateway.drop,
        held=held,
        abandoned=abandoned if on_disconnect == "cancel" else None,
    )


async def _encoded(gateway: Gateway, turn: TurnKey, at: Position | None) -> AsyncGenerator[bytes, None]:
    options = gateway.options
    yield sse.RETRY
    news = follow(gateway.hub, turn, at, keep_alive_s=options.keep_alive_s, quiet_s=options.quiet_s)
    try:
        async for event in news:
            if event is None:
                yield sse.KEEP_ALIVE
            else:
                data = codec.encode(event.frame)
                yield sse.event(data, name=event.frame.kind, event_id=str(event.after))
    except ContradictedTextError as error:
        body = error_body(str(error), "server_error", code="contradicted")
        yield sse.event(codec.dump(body), name="contradicted", event_id=str(Position(stage="e")))
    finally:
        await news.aclose()


def turn_named(caller: Caller, turn_id: str) -> TurnKey:
    """Return the turn of the caller's tenant that goes by this id.

    Raises:
        GatewayError: no turn can.
    """
    try:
        return turn_of(caller.tenant, turn_id)
    except IdError as error:
        raise GatewayError(HTTPStatus.NOT_FOUND, str(error), param="turn_id", code="unknown_turn") from None


async def whole(gateway: Gateway, turn: TurnKey) -> Held:
    """Return what was released of `turn`, once all of that is known.

    Raises:
        GatewayError: that takes longer than callers wait.
    """
    try:
        return await gateway.hub.whole(turn, limit_s=gateway.options.patience_s)
    except TimeoutError:
        raise GatewayError(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "this turn is still being looked for on the topic: try again",
            kind="server_error",
            code="busy",
            headers={"Retry-After": "5"},
        ) from None
