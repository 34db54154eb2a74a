"""Counts the gateway's requests: by the pattern of their path, never by the path itself, which has ids in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class RequestObserver(Protocol):
    """Is told of requests."""

    def answered(self, route: str, status: int, seconds: float | None) -> None:
        """Hear that a request to `route` is over, whose answer began after `seconds`; 0 and None where there was none."""


class CountedRequests:
    """Tells `observer` of every request that `app` serves. `now` returns seconds by a clock that does not go back."""

    def __init__(self, app: ASGIApp, observer: RequestObserver, now: Callable[[], float]) -> None:
        self._app = app
        self._observer = observer
        self._now = now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = self._now()
        status, seconds = 0, None

        async def noting(message: Message) -> None:
            nonlocal status, seconds
            if message["type"] == "http.response.start":
                status, seconds = message["status"], self._now() - began
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            self._observer.answered(getattr(scope.get("route"), "path", ""), status, seconds)
