"""Which processors are declared, and whether the gateway is well."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from processors.declare import KINDS, Kind
from streams.gateway.auth import Known
from streams.gateway.context import gateway_of
from streams.gateway.shapes import ProcessorCounts, ProcessorList, ProcessorRow
from streams.gateway.traces import Tally

router = APIRouter(tags=["operation"])
#: The phase that a kind's decisions name, where that is not the kind itself.
_PHASES: Mapping[Kind, str] = MappingProxyType({"tool_rule": "tools"})


class Health(BaseModel):
    """Whether it is."""

    ok: bool


@router.get("/v1/processors")
async def processors(request: Request, caller: Known) -> ProcessorList:
    """List the declared processors in the order of their chains."""
    manifest, traces = gateway_of(request).manifest, gateway_of(request).traces

    def counts(kind: Kind, name: str) -> ProcessorCounts | None:
        tally = traces.tally(caller.tenant, _PHASES.get(kind, kind), name)
        return None if caller.user is not None else _counts(tally)

    rows = [
        ProcessorRow(
            kind=member.kind,
            position=position,
            name=member.name,
            version=member.version,
            timeout_s=member.timeout_s,
            lookback_chars=member.incremental.lookback_chars if member.incremental is not None else None,
            scans=member.scans,
            counts=counts(kind, member.name),
        )
        for kind in KINDS
        for position, member in enumerate(manifest.chain(kind))
    ]
    return ProcessorList(
        release=manifest.release_mode,
        window_chars=manifest.window_chars,
        required_controls=list(manifest.required_controls),
        counted_since=traces.since,
        agents=[agent.name for agent in manifest.agents],
        processors=rows,
    )


def _counts(tally: Tally) -> ProcessorCounts:
    return ProcessorCounts(
        runs=tally["runs"],
        changed=tally["replace"],
        changes=tally["changes"],
        refused=tally["reject"] + tally["block"],
        skipped=tally["skipped"],
        failed=tally["failed"],
    )


@router.get("/live")
async def live() -> Health:
    """Say that the process runs."""
    return Health(ok=True)


@router.get("/ready", response_model=Health)
async def ready(request: Request) -> Response:
    """Say whether released text is being read; 503 while the broker is away."""
    reading = gateway_of(request).hub.reading
    return JSONResponse({"ok": reading}, HTTPStatus.OK if reading else HTTPStatus.SERVICE_UNAVAILABLE)
