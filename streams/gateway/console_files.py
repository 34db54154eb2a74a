"""The console's pages: files of this package, read once, and sent with a policy that lets them load nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from importlib.resources import files
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

#: Where the console's files are in this package, and the page itself.
FOLDER: Final = "console"
PAGE: Final = "index.html"

_TYPES: Mapping[str, str] = MappingProxyType(
    {
        ".html": "text/html; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".svg": "image/svg+xml",
    }
)
#: Nothing from elsewhere, nothing inline, and no other page around it.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Cache-Control": "no-cache",
    }
)


@dataclass(frozen=True, slots=True)
class File:
    """One file as it is sent."""

    body: bytes
    media_type: str
    tag: str


def read_files() -> dict[str, File]:
    """Return the console's files by name."""
    found: dict[str, File] = {}
    for entry in files(__package__).joinpath(FOLDER).iterdir():
        media_type = _TYPES.get(PurePosixPath(entry.name).suffix)
        if media_type is not None:
            body = entry.read_bytes()
            found[entry.name] = File(body, media_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
    return found


def console_router() -> APIRouter:
    """Return the routes of the console: its page at `/`, the rest beside it."""
    router = APIRouter(include_in_schema=False)
    known = read_files()

    def sent(request: Request, name: str) -> Response:
        file = known.get(name)
        if file is None:
            return Response(
                "there is no such file: the console is at /\n", HTTPStatus.NOT_FOUND, media_type="text/plain"
            )
        headers = {**_HEADERS, "ETag": file.tag}
        if file.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        return Response(file.body, headers=headers, media_type=file.media_type)

    @router.get("/")
    async def page(request: Request) -> Response:
        return sent(request, PAGE)

    @router.get("/console/{name}")
    async def file(request: Request, name: str) -> Response:
        return sent(request, name)

    return router
