"""Who sends a request, and whether they may."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Final
from urllib.parse import urlsplit

from fastapi import Depends, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request

from streams.gateway.context import gateway_of
from streams.gateway.faults import GatewayError, too_many
from streams.gateway.keys import Caller
from streams.gateway.limits import TooManyError

#: Names by which this machine calls itself.
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
#: Who everybody is where no key is wanted.
ANYBODY: Final = Caller("anybody", "default")

_BEARER = HTTPBearer(auto_error=False, description="a key that `turngate keys create` printed")


async def caller_of(
    request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]
) -> Caller:
    """Return who sends `request`, and count it.

    Raises:
        GatewayError: no key, a wrong one, or one that has used up its requests.
    """
    gateway = gateway_of(request)
    if given is not None and (known := gateway.keys.caller(given.credentials)) is not None:
        caller = known
    elif gateway.options.open:
        _check_origin(request)
        caller = ANYBODY
    else:
        raise GatewayError(
            HTTPStatus.UNAUTHORIZED,
            "send `Authorization: Bearer` with a key of this gateway"
            if given is None
            else "this key is not known here",
            kind="authentication_error",
            code="invalid_api_key",
            headers={"WWW-Authenticate": "Bearer"},
        )
    try:
        gateway.limits.request(caller.name)
    except TooManyError as error:
        raise too_many(error) from None
    return caller


def check_unbound(caller: Caller) -> None:
    """Refuse keys that are bound to one user where it is about all of a tenant's turns.

    Raises:
        GatewayError: this is one.
    """
    if caller.user is not None:
        raise GatewayError(
            HTTPStatus.FORBIDDEN,
            "a key that is bound to a user sees the turns whose ids it was given, and no list",
            kind="permission_error",
            code="user_bound_key",
        )


def _check_origin(request: Request) -> None:
    """Refuse what a web page of somebody else's makes a browser on this machine send: it needs no key here."""
    origin = request.headers.get("origin")
    allowed = request.url.hostname in LOOPBACK and (
        origin is None
        or origin in gateway_of(request).options.cors_origins
        or urlsplit(origin).netloc == request.headers.get("host")
    )
    if not allowed:
        raise GatewayError(
            HTTPStatus.FORBIDDEN,
            "this gateway wants no key, so it answers its own pages and programs of this machine only: call it by "
            "127.0.0.1 or localhost",
            kind="permission_error",
            code="foreign_origin",
        )


Known = Annotated[Caller, Depends(caller_of)]
