"""The span of each request to the gateway: in the client's trace, and the parent of the turn that the request submits."""

from __future__ import annotations

import secrets
from collections.abc import Callable, MutableMapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from streams.tracing import spans
from streams.tracing.spans import Span, Spans, Value
from topics.trace_context import TRACEPARENT, TRACESTATE, TraceContext, context_in

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

METHOD = "http.request.method"
ROUTE = "http.route"
STATUS = "http.response.status_code"
_METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT"})
_SERVER_FAULT = 500

_current: ContextVar[TraceContext | None] = ContextVar("turngate_request_span", default=None)


def inject(carrier: MutableMapping[str, str]) -> None:
    """Put the trace context of the request that is being served into `carrier`; for `topics.client.TurnClient`."""
    context = _current.get()
    if context is not None:
        carrier[TRACEPARENT] = context.parent
        if context.state:
            carrier[TRACESTATE] = context.state


class TracedRequests:
    """Tells `told` a span for every request that `app` serves. `now` returns seconds since the epoch."""

    def __init__(self, app: ASGIApp, told: Spans, now: Callable[[], float]) -> None:
        self._app = app
        self._told = told
        self._now = now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = self._now(), 0
        parent = context_in([(name.decode("latin-1"), value) for name, value in scope["headers"]])
        trace_id = parent.trace_id if parent is not None else secrets.token_hex(16)
        sampled = self._told.sampled(trace_id, parent)
        context = TraceContext(trace_id, secrets.token_hex(8), sampled, parent.state if parent is not None else "")

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        before = _current.set(context)
        try:
            await self._app(scope, receive, noting)
        finally:
            _current.reset(before)
            if sampled:
                self._told.take(_span(scope, context, parent, (began, self._now()), status))


def _span(
    scope: MutableMapping[str, Any],
    context: TraceContext,
    parent: TraceContext | None,
    times: tuple[float, float],
    status: int,
) -> Span:
    method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
    # Its pattern, not its path: that has the turn's id in it.
    route = getattr(scope.get("route"), "path", None)
    attributes: dict[str, Value] = {METHOD: method}
    if route:
        attributes[ROUTE] = route
    if status:
        attributes[STATUS] = status
    error = str(status) if status >= _SERVER_FAULT else None
    if error is not None:
        attributes[spans.ERROR] = error
    name = f"{method} {route}" if route else method
    return Span(name, "server", context, parent, times[0], max(times), attributes, error)
