"""The call pool: many model calls at once, each one's frames in order.

What the app around it does, in this order: append `started` to the journal, acknowledge the prompt, `start()`; and when
`on_done` is called, append `finished`. The pool promises:

* Frames of one call carry the request's ids, and `seq` from 0 without gaps; they are handed to the producer in that
  order. `on_done` is called once, after the broker has confirmed the last of them.
* A call ends with exactly one last frame: the model's finish, or an `error`. An adapter that
  raises gives an error with the class name of what it raised. A call that is still open some time after its deadline,
  which the turn worker should have cancelled by then, gives `ModelTimeoutError`. Every error but a cancellation is
  logged, once, without the provider's or the caller's words.
* A cancelled call stops the provider and ends with `CallCancelledError`. It is an error, not a finish, so that a turn
  can never take a cut-off answer for a whole one; and it has no usage, because providers count only at the end: the
  turn worker estimates. A cancel that comes before its prompt is the desk's business: it has to outlive this process.
* A call that is abandoned (its partition moved away, the worker stops) sends nothing more and calls no `on_done`: the
  journal still says `started`, and the successor reports it as interrupted.
* A frame that cannot be sent or is not confirmed is fatal: `on_fatal` is called once, every call is abandoned.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import TypeAlias

from streams.models.call import DEADLINE_GRACE_S, AdapterFor, Call, CallEnd
from streams.models.mailbox import Mailbox
from streams.models.window import Send, SendWindow
from topics.ids import TurnKey
from topics.records import CallRecord, PromptRequest

#: Called when a call's frames are all confirmed. An exception it raises is fatal to the pool.
OnDone: TypeAlias = Callable[[PromptRequest, CallEnd], Awaitable[None]]

_Key: TypeAlias = tuple[TurnKey, int, int]


class PoolClosedError(RuntimeError):
    """The pool is draining, stopped, or met something fatal: it starts no more calls."""


class CallPool:
    """Makes model calls and sends their frames.

    `max_calls` bounds the provider calls at work at once; later ones wait, in order, and their deadline runs. `now`
    returns seconds since the epoch. Per call, `max_unconfirmed` frames may be on their way to the broker, and
    `max_waiting` deltas may wait before the provider is held back. With `coalesce`, texts that piled up while the
    window was full share a frame. `grace_s` is how long after its deadline a call is given up, in seconds.
    """

    def __init__(
        self,
        adapter_for: AdapterFor,
        send: Send,
        *,
        on_fatal: Callable[[BaseException], None],
        now: Callable[[], float],
        max_calls: int = 64,
        max_unconfirmed: int = 32,
        max_waiting: int = 256,
        coalesce: bool = True,
        grace_s: float = DEADLINE_GRACE_S,
    ) -> None:
        self._adapter_for = adapter_for
        self._send = send
        self._on_fatal = on_fatal
        self._now = now
        self._max_calls = max_calls
        self._max_unconfirmed = max_unconfirmed
        self._max_waiting = max_waiting
        self._coalesce = coalesce
        self._grace_s = grace_s
        self._slots = asyncio.Semaphore(max_calls)
        self._calls: dict[_Key, tuple[Call, asyncio.Task[None]]] = {}
        self._ended = asyncio.Event()
        self._closed = False
        self._failed = False

    @property
    def open_calls(self) -> int:
        """How many calls were started and have not ended."""
        return len(self._calls)

    def start(self, request: PromptRequest, on_done: OnDone) -> bool:
        """Start the call that `request` asks for, and return whether it was new: one attempt is never called twice.

        Raises:
            PoolClosedError: the pool takes no more calls.
        """
        if self._closed:
            raise PoolClosedError("this worker takes no more model calls: leave the prompt to the next one")
        key = _key(request)
        if key in self._calls:
            return False
        call = Call(
            request,
            adapter_for=self._adapter_for,
            slot=self._slots,
            remaining_s=None if request.deadline_at is None else request.deadline_at - self._now(),
            grace_s=self._grace_s,
            window=SendWindow(self._send, request.partition, limit=self._max_unconfirmed, on_failure=self._give_up),
            mailbox=Mailbox(self._max_waiting),
            coalesce=self._coalesce,
        )
        task = asyncio.create_task(self._run(call, on_done))
        # Not at the end of the task: one that is cancelled before its first step has no end to do it in.
        task.add_done_callback(lambda _: self._forget(key))
        self._calls[key] = call, task
        return True

    def cancel(self, cancel: CallRecord) -> bool:
        """Cancel the call that `cancel` names, and return whether it was open."""
        open_call = self._calls.get(_key(cancel))
        if open_call:
            open_call[0].cancel()
        return open_call is not None

    async def has_room(self) -> None:
        """Wait until fewer than `max_calls` calls are open: what to await before taking another prompt."""
        while len(self._calls) >= self._max_calls:
            await self._until_one_ended()

    async def abandon(self, partitions: Collection[int]) -> None:
        """Abandon the calls of these partitions, and return when their connections to the provider are closed."""
        tasks = [task for call, task in self._calls.values() if call.request.partition in partitions]
        await _stop(tasks)

    async def drain(self) -> None:
        """Start no more calls, and return when the open ones have ended."""
        self._closed = True
        while self._calls:
            await self._until_one_ended()

    async def stop(self) -> None:
        """Start no more calls, abandon the open ones, and return when their connections are closed."""
        self._closed = True
        await _stop([task for _, task in self._calls.values()])

    async def _run(self, call: Call, on_done: OnDone) -> None:
        try:
            end = await call.run()
            await on_done(call.request, end)
        except asyncio.CancelledError as exc:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            # Nobody abandoned this call: the producer was cancelled under it.
            self._give_up(exc)
        except Exception as exc:  # noqa: BLE001 - whatever it is, going on would skip what it broke
            self._give_up(exc)

    def _forget(self, key: _Key) -> None:
        del self._calls[key]
        self._ended.set()

    async def _until_one_ended(self) -> None:
        self._ended.clear()
        await self._ended.wait()

    def _give_up(self, exc: BaseException) -> None:
        self._closed = True
        if self._failed:
            return
        self._failed = True
        for _, task in self._calls.values():
            task.cancel()
        self._on_fatal(exc)


def _key(call: CallRecord) -> _Key:
    return call.turn, call.step, call.attempt


async def _stop(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
