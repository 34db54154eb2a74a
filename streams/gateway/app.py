"""The HTTP application, put together."""

from __future__ import annotations

import logging
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from streams.gateway import chat_api, console_api, processors_api, turns_api
from streams.gateway.console_files import console_router
from streams.gateway.context import Gateway
from streams.gateway.faults import GatewayError, error_body, from_faults
from topics.errors import BrokerUnreachableError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)

_UNPROCESSABLE = HTTPStatus.UNPROCESSABLE_ENTITY


def application(gateway: Gateway) -> ASGIApp:
    """Return the application that serves `gateway`."""
    app = FastAPI(
        title="turngate",
        summary="Turns whose answers are gated: readers only ever get text that the whole chain approved.",
        version=version("turngate"),
        max_body_size=gateway.options.max_body_bytes,
    )
    app.state.gateway = gateway
    app.include_router(turns_api.router)
    app.include_router(chat_api.router)
    app.include_router(processors_api.router)
    app.include_router(console_api.router)
    if gateway.options.console:
        app.include_router(console_router())
    app.add_exception_handler(GatewayError, _gateway_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(BrokerUnreachableError, _unreachable)
    if gateway.options.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(gateway.options.cors_origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Last-Event-ID"],
        )
    return Outermost(app)


class Outermost:
    """Answers 500 where the application raises, and logs what and where it was, but none of its words."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        started = False

        async def noting(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception as error:  # noqa: BLE001 - whatever it is, its message may quote content
            place = error.__traceback__
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            where = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place is not None else "unknown place"
            log.error("a request failed: %s at %s", type(error).__name__, where)  # noqa: TRY400 - the same
            if not started and scope["type"] == "http":
                body = error_body("a fault of the gateway itself, see its log", "server_error", code="internal_error")
                await JSONResponse(body, HTTPStatus.INTERNAL_SERVER_ERROR)(scope, receive, send)


async def _gateway_error(_: Request, error: Exception) -> Response:
    if not isinstance(error, GatewayError):
        raise error
    return error.response()


async def _invalid(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    # OpenAI's clients know 400 for this.
    openai = request.url.path.endswith("/chat/completions")
    return from_faults(error.errors(), HTTPStatus.BAD_REQUEST if openai else _UNPROCESSABLE).response()


async def _http_error(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    words = HTTPStatus(error.status_code).phrase
    if error.status_code == HTTPStatus.NOT_FOUND:
        words = "there is nothing at this path: the API is below /v1, where an OpenAI client's base_url ends; see /docs"
    return JSONResponse(error_body(words, "invalid_request_error"), error.status_code, headers=error.headers)


async def _unreachable(*_: object) -> Response:
    return GatewayError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "the broker did not confirm this: it may have taken place nonetheless. Send it again with the same turn_id",
        kind="server_error",
        code="broker_unreachable",
        headers={"Retry-After": "2"},
    ).response()
