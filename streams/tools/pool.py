"""The pool of tool calls: many at once, each with exactly one result.

The app around it appends `started` to the journal, acknowledges the request, and only then calls `start()`; when `on_done`
is called, it appends `finished`. The pool promises:

* Every call ends with one result, which the broker has confirmed before `on_done` is called.
* A call that is cancelled by the turn worker ends at once, as does one whose cancel came first: that is not run at all.
  What becomes of the tool itself says `ToolHost.run`.
* A call that is abandoned (its partition moved away, the worker stops) sends nothing and calls no `on_done`: the journal
  still says `started`, and the successor reports it as interrupted.
* A result that cannot be sent or is not confirmed is fatal: `on_fatal` is called once, every call is abandoned.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection
from typing import TypeAlias

from processors.tools import ToolContext
from streams.private_ids import Private
from streams.runner.kind import CallKey
from streams.tools.answers import CANCELLED, INTERRUPTED, MAX_RESULT_BYTES, UNKNOWN, ToolAnswer, bounded
from streams.tools.ports import ToolHost, ToolJob, ToolObserver
from topics.records import CallRecord, ToolCallRequest, ToolResult

#: Hands a result for a partition to the producer; the inner awaitable is done when the broker has confirmed it.
Send: TypeAlias = Callable[[ToolResult, int], Awaitable[asyncio.Future[int]]]
OnDone: TypeAlias = Callable[[ToolCallRequest, object], Awaitable[None]]

#: How many cancels are remembered, the newest ones: a cancel may come before the calls that it is for.
_CANCELS_KEPT = 10_000

_log = logging.getLogger(__name__)


class _Open:
    """A call that was started and has not ended."""

    __slots__ = ("cancelled", "request", "task", "working")

    def __init__(self, request: ToolCallRequest, *, cancelled: bool) -> None:
        self.request = request
        self.cancelled = cancelled
        self.task: asyncio.Task[None] | None = None
        self.working: asyncio.Task[ToolAnswer] | None = None

    def cancel(self) -> None:
        """Give up waiting for the tool."""
        self.cancelled = True
        if self.working is not None:
            self.working.cancel()


class ToolPool:
    """Calls tools and sends their results.

    `max_calls` bounds the calls that `host` is given at once; later ones wait, in order. `max_result_bytes` is the longest
    result. `now` returns seconds since the epoch.
    """

    def __init__(
        self,
        host: ToolHost,
        send: Send,
        *,
        on_fatal: Callable[[BaseException], None],
        now: Callable[[], float],
        max_calls: int = 64,
        max_result_bytes: int = MAX_RESULT_BYTES,
        observer: ToolObserver | None = None,
    ) -> None:
        self._host = host
        self._send = send
        self._on_fatal = on_fatal
        self._now = now
        self._max_result_bytes = max_result_bytes
        self._observer = observer or ToolObserver()
        self._slots = asyncio.Semaphore(max_calls)
        self._calls: dict[CallKey, _Open] = {}
        self._cancels: OrderedDict[CallKey, None] = OrderedDict()
        self._failed = False

    @property
    def open_calls(self) -> int:
        """How many calls were started and have not ended."""
        return len(self._calls)

    def start(self, request: ToolCallRequest, on_done: OnDone) -> bool:
        """Start the call that `request` asks for, and return whether it was new: one is never made twice."""
        key = CallKey.of(request)
        if key in self._calls:
            return False
        call = _Open(request, cancelled=_attempt(request) in self._cancels)
        call.task = asyncio.create_task(self._run(call, on_done))
        # Not at the end of the task: one that is cancelled before its first step has no end to do it in.
        call.task.add_done_callback(lambda _: self._forget(key))
        self._calls[key] = call
        self._observer.open_calls(len(self._calls))
        return True

    def cancel(self, cancel: CallRecord) -> bool:
        """Cancel the calls of an attempt, also those that are yet to come, and return whether any was open."""
        attempt = _attempt(cancel)
        self._cancels[attempt] = None
        self._cancels.move_to_end(attempt)
        if len(self._cancels) > _CANCELS_KEPT:
            self._cancels.popitem(last=False)
        found = [call for call in self._calls.values() if _attempt(call.request) == attempt]
        for call in found:
            call.cancel()
        return bool(found)

    async def abandon(self, partitions: Collection[int]) -> None:
        """Abandon the calls of these partitions, and return when nobody waits for their tools any more."""
        tasks = [call.task for call in self._calls.values() if call.task and call.request.partition in partitions]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _run(self, call: _Open, on_done: OnDone) -> None:
        began, request = self._now(), call.request
        try:
            answer, result = bounded(request, request.call.id, await self._answer(call), self._max_result_bytes)
            confirmed = await self._send(result, request.partition)
            # Waited for, not awaited: abandoning the call must not cancel a producer's future.
            await asyncio.wait([confirmed])
            confirmed.result()
            tool = request.call.name if request.call.name in self._host.tools else ""
            self._observer.ended(tool, answer.outcome, max(0.0, self._now() - began))
            if answer.failure is not None and answer.outcome != "cancelled":
                log_failure(CallKey.of(request), answer, tool or "unknown tool")
            await on_done(request, answer)
        except asyncio.CancelledError as exc:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            # Nobody abandoned this call: the producer was cancelled under it.
            self._give_up(exc)
        except Exception as exc:  # noqa: BLE001 - whatever it is, going on would skip what it broke
            self._give_up(exc)

    async def _answer(self, call: _Open) -> ToolAnswer:
        """Return what the tool says, or that the call was cancelled, whichever is first."""
        if call.cancelled:
            return CANCELLED
        call.working = asyncio.create_task(self._work(call.request))
        try:
            await asyncio.wait([call.working])
        finally:
            call.working.cancel()
        if call.working.cancelled() and call.cancelled:
            return CANCELLED
        return call.working.result()

    async def _work(self, request: ToolCallRequest) -> ToolAnswer:
        if request.call.name not in self._host.tools:
            return UNKNOWN
        context = ToolContext(
            tenant=request.tenant,
            thread_id=request.thread_id,
            turn_id=request.turn_id,
            step=request.step,
            attempt=request.attempt,
            call_id=request.call.id,
            agent=request.agent,
            user=request.user,
        )
        async with self._slots:
            return await self._host.run(
                ToolJob(request.call.name, request.call.arguments, context, request.deadline_at)
            )

    def _forget(self, key: CallKey) -> None:
        del self._calls[key]
        self._observer.open_calls(len(self._calls))

    def _give_up(self, exc: BaseException) -> None:
        if self._failed:
            return
        self._failed = True
        for call in self._calls.values():
            if call.task is not None:
                call.task.cancel()
        self._on_fatal(exc)


def log_failure(call: CallKey, answer: ToolAnswer, tool: str) -> None:
    """Log that a call came to nothing: the class of what went wrong, and nothing that anybody said."""
    _log.warning(
        "tool call failed: turn %s, step %d, attempt %d: %s: %s",
        Private(call.turn),
        call.step,
        call.attempt,
        tool,
        answer.failure,
    )


def log_interrupted(call: CallKey) -> None:
    """Log that a call is reported as interrupted; which tool it was, only its request says."""
    log_failure(call, INTERRUPTED, "a tool")


def _attempt(call: CallRecord) -> CallKey:
    return CallKey(call.turn, call.step, call.attempt)
