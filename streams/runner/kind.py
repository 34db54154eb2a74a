"""What one kind of calls is to the machinery that makes each call once: model calls and tool calls are the two kinds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar
from urllib.parse import quote, unquote

from pydantic import TypeAdapter

from topics.ids import TurnKey
from topics.names import JournalRole, Topic
from topics.records import CallRecord, CancelCall, PromptRequest, Record, ToolCallRequest

R = TypeVar("R", bound=PromptRequest | ToolCallRequest)


@dataclass(frozen=True, slots=True)
class CallKey:
    """One attempt of a step's model call, or with `call_id` one tool call of it; its `str` is the journal's subject."""

    turn: TurnKey
    step: int
    attempt: int
    call_id: str | None = None

    def __str__(self) -> str:
        attempt = f"{self.turn}/{self.step}/{self.attempt}"
        # Providers choose the ids of tool calls: they may be anything, slashes included.
        return attempt if self.call_id is None else f"{attempt}/{quote(self.call_id, safe='')}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the key that `str()` wrote.

        Raises:
            ValueError: `text` names no call.
        """
        tenant, thread_id, turn_id, step, attempt, *call_id = text.split("/")
        if len(call_id) > 1:
            raise ValueError("more parts than a call's name has")
        turn = TurnKey(tenant, thread_id, turn_id)
        return cls(turn, int(step), int(attempt), unquote(call_id[0]) if call_id else None)

    @classmethod
    def of(cls, record: CallRecord) -> Self:
        """Return the call that `record` is about."""
        call_id = record.call.id if isinstance(record, ToolCallRequest) else None
        return cls(record.turn, record.step, record.attempt, call_id)

    def record(self) -> CallRecord:
        """Return a record that says no more than which attempt this is."""
        tenant, thread_id, turn_id = self.turn
        return CallRecord(tenant=tenant, thread_id=thread_id, turn_id=turn_id, step=self.step, attempt=self.attempt)


@dataclass(frozen=True, slots=True)
class CallKind(Generic[R]):
    """What tells one kind of calls from the other.

    `requests` is the topic that asks for them, its records read as `shape`; `answers` is where their answers go, `role` who
    makes them.
    `interrupted` gives the record that reports a call which was started and never finished; `log_interrupted` logs that.
    """

    requests: Topic
    shape: TypeAdapter[R]
    answers: Topic
    role: JournalRole
    interrupted: Callable[[CallKey], Record]
    log_interrupted: Callable[[CallKey], None]


class CallMaker(Protocol[R]):
    """Makes calls, many at once, and sends their answers."""

    @property
    def open_calls(self) -> int:
        """How many calls were started and have not ended."""

    def start(self, request: R, on_done: Callable[[R, object], Awaitable[None]], /) -> object:
        """Start a call; `on_done` is awaited once all of its answer is confirmed by the broker."""

    def cancel(self, cancel: CancelCall, /) -> object:
        """Stop the calls of an attempt whose answers nobody waits for any more."""

    async def abandon(self, partitions: Collection[int], /) -> None:
        """Stop the calls of these partitions without another word; `on_done` is not called."""
