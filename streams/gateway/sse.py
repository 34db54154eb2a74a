"""Server-sent events, to clients that may stop reading at any time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from fastapi.sse import format_sse_event
from starlette.responses import StreamingResponse

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from streams.gateway.context import Afterwards

#: A comment: it keeps proxies from taking a silent connection for dead, and clients do not see it.
KEEP_ALIVE = b": still here\n\n"
#: How soon a client should come back whose connection ended, in milliseconds.
RETRY = b"retry: 1000\n\n"


def event(data: bytes, *, name: str | None = None, event_id: str | None = None) -> bytes:
    """Return an event with JSON `data` as it goes over the wire."""
    return format_sse_event(data_str=data.decode(), event=name, id=event_id)


class EventStream(StreamingResponse):
    """A stream of encoded events.

    A client that takes nothing for `send_timeout_s` seconds is dropped: `drop` ends its connection, which otherwise would
    hold what is buffered for it until it reads again. `held` is closed when the stream is over, however that comes about,
    and `abandoned` is called after that if `events` had not come to their end.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        events: AsyncGenerator[bytes, None],
        *,
        send_timeout_s: float,
        drop: Callable[[object], None],
        held: ExitStack,
        abandoned: Afterwards | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        always = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(events, headers={**always, **(headers or {})})
        self._events = events
        self._send_timeout_s = send_timeout_s
        self._drop = drop
        self._held = held
        self._abandoned = abandoned
        self._complete = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until they end, the client goes away, or it stops reading."""
        too_slow = False

        async def send_in_time(message: Message) -> None:
            nonlocal too_slow
            try:
                async with asyncio.timeout(self._send_timeout_s):
                    await send(message)
            except TimeoutError:
                too_slow = True
                self._drop(scope.get("client"))
                raise _TooSlowError from None
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                self._complete = True

        try:
            await super().__call__(scope, receive, send_in_time)
        except _TooSlowError:
            pass
        finally:
            await self._events.aclose()
            self._held.close()
            if self._abandoned is not None and not self._complete:
                await asyncio.shield(asyncio.ensure_future(self._abandoned()))


class _TooSlowError(Exception):
    """The client did not take what was sent."""
