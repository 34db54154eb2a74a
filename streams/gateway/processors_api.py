"""Which processors are declared, and whether the gateway is well."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from processors.declare import KINDS
from streams.gateway.auth import Known
from streams.gateway.context import gateway_of
from streams.gateway.shapes import ProcessorList, ProcessorRow

router = APIRouter(tags=["operation"])


class Health(BaseModel):
    """Whether it is."""

    ok: bool


@router.get("/v1/processors")
async def processors(request: Request, caller: Known) -> ProcessorList:  # noqa: ARG001 - whoever has a key
    """List the declared processors in the order of their chains."""
    manifest = gateway_of(request).manifest
    rows = [
        ProcessorRow(
            kind=member.kind,
            position=position,
            name=member.name,
            version=member.version,
            timeout_s=member.timeout_s,
            lookback_chars=member.incremental.lookback_chars if member.incremental is not None else None,
        )
        for kind in KINDS
        for position, member in enumerate(manifest.chain(kind))
    ]
    return ProcessorList(
        release=manifest.release_mode,
        window_chars=manifest.window_chars,
        required_controls=list(manifest.required_controls),
        processors=rows,
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
