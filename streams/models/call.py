"""One model call: a task that reads the provider, and beside it the sending of what it reads.

The two are apart so that stopping the provider never stops in the middle of a send: a frame is either not begun or sent
to the end, and `seq` has no gaps however a call ends.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from typing import Literal, TypeAlias

from streams.models.adapter import ModelAdapter
from streams.models.delta import Delta
from streams.models.errors import (
    CallCancelledError,
    ModelCallError,
    ModelTimeoutError,
    UnfinishedStreamError,
    describe,
)
from streams.models.frames import MAX_FRAME_CHARS, frame_of, split
from streams.models.mailbox import Mailbox
from streams.models.window import SendWindow
from streams.private_ids import Private
from topics.records import CallRecord, PromptRequest

#: Chooses the adapter that makes the call a request asks for.
AdapterFor: TypeAlias = Callable[[PromptRequest], ModelAdapter]

#: How long after a turn's deadline its call is given up, in seconds. The turn worker ends the turn at the deadline by its
#: own clock and cancels the call; only where no cancel comes (the worker is gone, or its clock far behind) is it for the
#: runner to end the call. Without the grace either could be first, and readers would see now one error, now the other.
DEADLINE_GRACE_S = 10.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a call ended, once its last frame is confirmed; `frames` is how many frames it has."""

    outcome: Literal["finished", "failed", "cancelled"]
    frames: int


class Call:
    """The call that `request` asks for, made once.

    `slot` is entered while the provider is at work, so that the pool can bound how many are. `remaining_s` is how long
    the turn still has, waiting for the slot included; None sets no limit. The call is given up `grace_s` later, see
    `DEADLINE_GRACE_S`; a provider that was not asked by the deadline is not asked any more.
    """

    def __init__(
        self,
        request: PromptRequest,
        *,
        adapter_for: AdapterFor,
        slot: AbstractAsyncContextManager[object],
        remaining_s: float | None,
        grace_s: float,
        window: SendWindow,
        mailbox: Mailbox,
        coalesce: bool,
    ) -> None:
        self.request = request
        self._adapter_for = adapter_for
        self._slot = slot
        self._remaining_s = remaining_s
        self._grace_s = grace_s
        self._window = window
        self._mailbox = mailbox
        self._coalesce = coalesce
        self._reader: asyncio.Task[Delta] | None = None
        self._cancelled = False
        self._abandoned = False

    def cancel(self) -> None:
        """Stop the provider, drop what it said and is not sent yet, and end the frames with a `CallCancelledError`."""
        self._cancelled = True
        if self._reader:
            self._reader.cancel()

    async def run(self) -> CallEnd:
        """Make the call, send its frames, and return once the broker has confirmed them all.

        Cancelling this task abandons the call: the provider is stopped, and nothing more is sent.

        Raises:
            Exception: a frame could not be sent, or its confirmation failed.
        """
        self._reader = asyncio.create_task(self._read())
        self._reader.add_done_callback(self._read_ended)
        if self._cancelled:
            self._reader.cancel()
        try:
            return await self._send()
        except BaseException:
            self._abandoned = True
            self._window.abandon()
            raise
        finally:
            self._reader.cancel()
            await asyncio.wait([self._reader])

    async def _read(self) -> Delta:
        """Read the provider to the end, and return the delta that ends the call."""
        deadline = None if self._remaining_s is None else asyncio.get_running_loop().time() + self._remaining_s
        limit = asyncio.timeout_at(None if deadline is None else deadline + self._grace_s)
        try:
            async with limit:
                if not _is_past(deadline):
                    async with self._slot:
                        if not _is_past(deadline):
                            return await self._read_adapter()
                await asyncio.Event().wait()  # for the turn worker's cancel, or the end of the grace
                return _timed_out()
        except TimeoutError:
            if limit.expired():
                return _timed_out()
            raise

    async def _read_adapter(self) -> Delta:
        async with aclosing(self._adapter_for(self.request).stream(self.request)) as deltas:
            async for delta in deltas:
                if delta.is_last:
                    return delta
                await self._mailbox.put(delta)
        error = UnfinishedStreamError("the model's output ended without a finish reason")
        return Delta.failed(error)

    def _read_ended(self, reader: asyncio.Task[Delta]) -> None:
        """Put the end of the call where the sender finds it, whatever the reading came to."""
        # Looked at in any case: asyncio logs an exception that nobody has looked at, message and all. A reader that is
        # cancelled by nobody here is an adapter's cancellation that got out.
        failure = asyncio.CancelledError() if reader.cancelled() else reader.exception()
        if self._abandoned:
            return
        if reader.cancelled() and self._cancelled:
            self._mailbox.clear()
            error = CallCancelledError("the call was cancelled by the turn worker")
            self._mailbox.close(Delta.failed(error))
            return
        if failure is None:
            self._mailbox.close(reader.result())
            return
        own = isinstance(failure, ModelCallError)
        account = f"{type(failure).__name__}: {failure}" if own else _where(failure)
        self._mailbox.close(Delta(error=describe(failure), account=account))

    async def _send(self) -> CallEnd:
        seq = 0
        while True:
            delta = await self._mailbox.get()
            if await self._window.room() and self._coalesce:
                delta = self._mailbox.join(delta, MAX_FRAME_CHARS)
            for piece in split(delta):
                await self._window.send(frame_of(self.request, seq, piece))
                seq += 1
            if delta.is_last:
                break
        cancelled = self._cancelled and _is_cancellation(delta)
        if delta.error is not None and not cancelled:
            log_failure(self.request, delta)
        await self._window.settle()
        if delta.error is None:
            return CallEnd("finished", seq)
        return CallEnd("cancelled" if cancelled else "failed", seq)


def _is_cancellation(delta: Delta) -> bool:
    return delta.error is not None and delta.error.type == CallCancelledError.__name__


def _timed_out() -> Delta:
    error = ModelTimeoutError("the model had not finished when the call's deadline passed")
    return Delta.failed(error)


def log_failure(call: CallRecord, last: Delta) -> None:
    """Log that `call` failed, and what `last` accounts for: the one place where operators learn of it in words."""
    whose = Private(call.turn)
    account = last.account or "an error whose wording is not ours to log"
    _log.warning("model call failed: turn %s, step %d, attempt %d: %s", whose, call.step, call.attempt, account)


def _is_past(deadline: float | None) -> bool:
    return deadline is not None and deadline <= asyncio.get_running_loop().time()


def _where(exc: BaseException) -> str:
    """Name `exc` and the line that raised it; its message may quote content and is left out."""
    frames = traceback.extract_tb(exc.__traceback__)
    return f"{type(exc).__name__} at {frames[-1].filename}:{frames[-1].lineno}" if frames else type(exc).__name__
