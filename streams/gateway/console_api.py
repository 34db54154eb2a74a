"""What the console asks beside what everybody does: courses of turns, the pulse of a tenant, and what a key may do."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request

from streams.gateway.auth import Known, check_unbound
from streams.gateway.context import gateway_of
from streams.gateway.faults import GatewayError
from streams.gateway.pulse import Pulse
from streams.gateway.timeline import Own, Timeline, WrittenList, timeline, written
from streams.gateway.turns_api import ERRORS, TurnId, turn_named, whole

router = APIRouter(prefix="/v1", tags=["watching"], responses=ERRORS)


@router.get("/key")
async def own(request: Request, caller: Known) -> Own:
    """Say whose key this is and what it may do."""
    frames = gateway_of(request).traces.watch
    return Own(name=caller.name, tenant=caller.tenant, user=caller.user, operator=caller.operator, frames=frames)


@router.get("/pulse")
async def pulse(request: Request, caller: Known) -> Pulse:
    """Count the turns of one's tenant that ended in the last ten minutes, and say how long they took."""
    check_unbound(caller)
    return gateway_of(request).meter.of(caller.tenant)


@router.get("/turns/{turn_id}/timeline")
async def course(request: Request, caller: Known, turn_id: TurnId) -> Timeline:
    """Tell what happened to a turn and when: processors, model calls, releases. No text."""
    gateway, turn = gateway_of(request), turn_named(caller, turn_id)
    held = await whole(gateway, turn)
    return timeline(held, gateway.traces.get(turn), gateway.traces.now())


@router.get("/turns/{turn_id}/written")
async def raw(request: Request, caller: Known, turn_id: TurnId) -> WrittenList:
    """Show what models wrote of a turn, before any control: to operators' keys, where the gateway keeps it."""
    gateway, turn = gateway_of(request), turn_named(caller, turn_id)
    if not caller.operator or gateway.traces.watch != "show":
        raise GatewayError(
            HTTPStatus.FORBIDDEN,
            "what models write is shown to keys of operators only, by gateways whose TURNGATE_GATEWAY_FRAMES is `show`",
            kind="permission_error",
            code="operators_only",
        )
    return written(gateway.traces.get(turn))
