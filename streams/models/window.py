"""Sends in order, several at a time: later frames need not wait until earlier ones are confirmed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from topics.records import ModelFrame

#: Hands a frame for a partition of `frames` to the producer. The outer awaitable is done when the producer has taken it
#: (frames taken one after the other stay in that order), the inner one when the broker has confirmed it.
Send: TypeAlias = Callable[[ModelFrame, int], Awaitable[Awaitable[object]]]

OnFailure: TypeAlias = Callable[[BaseException], None]


class FrameNotConfirmedError(Exception):
    """The producer gave up on a frame without saying why, so that whether it was written is unknown."""


class SendWindow:
    """The frames of one call on their way to one partition, at most `limit` of them unconfirmed.

    `on_failure` is told of the first frame that was not confirmed, as soon as that is known; nothing may be sent after
    it, because the broker may have later frames and not that one.
    """

    def __init__(self, send: Send, partition: int, *, limit: int, on_failure: OnFailure) -> None:
        self._send = send
        self._partition = partition
        self._limit = limit
        self._on_failure: OnFailure | None = on_failure
        self._unconfirmed: deque[asyncio.Future[object]] = deque()

    async def room(self) -> bool:
        """Wait until a frame may be sent, and return whether there was anything to wait for.

        Raises:
            Exception: whatever kept an earlier frame from being confirmed.
        """
        self._forget_confirmed()
        waited = False
        while len(self._unconfirmed) >= self._limit:
            waited = True
            await self._oldest()
        return waited

    async def send(self, frame: ModelFrame) -> None:
        """Send `frame` after all frames before it, as soon as there is room.

        Raises:
            Exception: whatever keeps this frame from being sent, or kept an earlier one from being confirmed.
        """
        await self.room()
        confirmation = asyncio.ensure_future(await self._send(frame, self._partition))
        confirmation.add_done_callback(self._confirmed)
        self._unconfirmed.append(confirmation)

    async def settle(self) -> None:
        """Wait until every frame is confirmed.

        Raises:
            Exception: whatever kept a frame from being confirmed.
        """
        while self._unconfirmed:
            await self._oldest()

    def abandon(self) -> None:
        """Say no more of failures: the frames on their way are nobody's concern now."""
        self._on_failure = None

    async def _oldest(self) -> None:
        # Waited for, not awaited: cancelling the call must not cancel a producer's future.
        await asyncio.wait([self._unconfirmed[0]])
        self._forget_confirmed()

    def _forget_confirmed(self) -> None:
        while self._unconfirmed and self._unconfirmed[0].done():
            failure = _failure(self._unconfirmed[0])
            if failure:
                raise failure
            self._unconfirmed.popleft()

    def _confirmed(self, confirmation: asyncio.Future[object]) -> None:
        failure = _failure(confirmation)
        if failure and self._on_failure:
            on_failure, self._on_failure = self._on_failure, None
            on_failure(failure)


def _failure(confirmation: asyncio.Future[object]) -> BaseException | None:
    if confirmation.cancelled():
        return FrameNotConfirmedError("the producer dropped a frame before the broker confirmed it")
    return confirmation.exception()
