"""An adapter whose calls go through the guard of their provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from streams.models.adapter import ModelAdapter
from streams.models.delta import Delta
from streams.models.errors import ModelCallError
from streams.models.guard import ProviderGuard
from topics.records import PromptRequest


class GuardedAdapter:
    """Makes the calls that `guard` lets through, by `adapter`; the others end with an error at once.

    `now` returns the time of the guard's clock, and `sleep` waits by it.
    """

    def __init__(
        self,
        adapter: ModelAdapter,
        guard: ProviderGuard,
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._adapter = adapter
        self._guard = guard
        self._now = now
        self._sleep = sleep

    @property
    def name(self) -> str:
        """What the adapter behind is called."""
        return self._adapter.name

    async def stream(self, request: PromptRequest) -> AsyncGenerator[Delta, None]:
        """Yield what the adapter yields, having waited for the end of a short pause; or why the call was not made."""
        try:
            await self._pause()
            call = self._guard.admit(request, self._now())
        except ModelCallError as exc:
            yield Delta.failed(exc)
            return
        try:
            async with aclosing(self._adapter.stream(request)) as deltas:
                async for delta in deltas:
                    call.heard(delta, self._now())
                    yield delta
        finally:
            call.close(self._now())

    async def close(self) -> None:
        """Close the adapter behind."""
        await self._adapter.close()

    async def _pause(self) -> None:
        began = self._now()
        while (wait_s := self._guard.wait_s(self._now() - began, self._now())) > 0:
            await self._sleep(wait_s)
