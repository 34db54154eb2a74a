"""What goes over HTTP about turns."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveFloat

from streams.gateway.held import Held
from streams.gateway.ids import public_id
from topics.content import Message, Part, ToolDefinition, User
from topics.ids import Id, TurnKey
from topics.records import BlockedFrame, CompletedFrame, Delivery, TerminalFrame
from topics.text import Text

State = Literal["pending", "running", "completed", "blocked", "rejected", "failed", "cancelled", "contradicted"]


def _parts(value: object) -> object:
    return [{"type": "text", "text": value}] if isinstance(value, str) else value


class TurnBody(BaseModel):
    """A turn to submit; the fields are those of a `TurnRequest` on the wire, but for the tenant, which is the key's.

    A `thread_id` or `turn_id` that is not given is made up.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    message: Annotated[tuple[Part, ...], BeforeValidator(_parts, json_schema_input_type=str | tuple[Part, ...])] = (
        Field(min_length=1)
    )
    thread_id: Id | None = None
    turn_id: Id | None = None
    agent: Id = "default"
    channel: Id = "default"
    user: User | None = None
    history: tuple[Message, ...] | None = None
    continuation: tuple[Message, ...] | None = None
    tools: tuple[ToolDefinition, ...] | None = None
    system: Text | None = None
    model: Text | None = None
    params: dict[str, Any] | None = None
    delivery: Delivery = "stream"
    deadline_s: PositiveFloat | None = None
    attributes: dict[str, Any] | None = None


class Submitted(BaseModel):
    """A turn that was submitted: `id` names it over HTTP, and `events` is where it can be followed."""

    id: str
    thread_id: str
    turn_id: str
    events: str


class TurnState(BaseModel):
    """What has become of a turn.

    `pending` is a turn of which nothing was released yet, and one that does not exist: only the workers know which. `text`
    is what was released so far, `reply` what to show in the end: the post-processed text, or a block's response. `end` is
    the terminal frame as it is on the wire. Times are epoch seconds.
    """

    id: str
    thread_id: str
    turn_id: str
    state: State
    text: str
    reply: str | None = None
    end: TerminalFrame | None = Field(default=None, discriminator="kind")
    began_at: float | None = None
    changed_at: float | None = None


class TurnRow(BaseModel):
    """A turn in a list: no text."""

    id: str
    thread_id: str
    turn_id: str
    state: State
    length: int
    finish_reason: str | None = None
    processor: str | None = None
    error: str | None = None
    began_at: float | None = None
    changed_at: float | None = None


class TurnList(BaseModel):
    """The turns of one's tenant that this gateway holds, the latest first."""

    turns: list[TurnRow]


class Cancelling(BaseModel):
    """A turn that was asked to end."""

    id: str


class ProcessorCounts(BaseModel):
    """What a processor said about turns of one's tenant: `refused` are rejections and blocks, `changes` single rewrites."""

    runs: int
    changed: int
    changes: int
    refused: int
    skipped: int
    failed: int


class ProcessorRow(BaseModel):
    """A declared processor, in its place in its chain.

    One that `scans` lets go of all text that can no longer become part of what it looks for. `counts` is what this gateway
    has read of it since `counted_since`; None for a key that is bound to a user.
    """

    kind: str
    position: int
    name: str
    version: str
    timeout_s: float
    lookback_chars: int | None = None
    scans: bool = False
    counts: ProcessorCounts | None = None


class ProcessorList(BaseModel):
    """What is declared, as this gateway was started with, and how answers are released; times are epoch seconds."""

    release: str
    window_chars: int
    required_controls: list[str]
    counted_since: float
    agents: list[str]
    processors: list[ProcessorRow]


def submitted(turn: TurnKey) -> Submitted:
    """Return what is answered about a turn that was submitted."""
    name = public_id(turn)
    return Submitted(id=name, thread_id=turn.thread_id, turn_id=turn.turn_id, events=f"/v1/turns/{name}/events")


def state_of(held: Held) -> State:
    """Return what has become of a turn, in a word."""
    view = held.view
    if view.terminal is not None:
        return view.terminal.kind
    if held.whole and view.contradicted:
        return "contradicted"
    return "running" if view.steps and held.whole else "pending"


def turn_state(held: Held) -> TurnState:
    """Return all there is to tell of a turn."""
    view = held.view
    contradicted = state_of(held) == "contradicted"
    done = isinstance(view.terminal, CompletedFrame | BlockedFrame)
    return TurnState(
        **_names(held),
        state=state_of(held),
        text="" if contradicted else view.text,
        reply=view.reply if done else None,
        end=view.terminal,
    )


def turn_row(held: Held) -> TurnRow:
    """Return a turn for a list."""
    view = held.view
    end = view.terminal
    return TurnRow(
        **_names(held),
        state=state_of(held),
        length=len(view.reply),
        finish_reason=getattr(end, "finish_reason", None),
        processor=getattr(end, "processor", None),
        error=getattr(end, "error", None),
    )


def _names(held: Held) -> dict[str, Any]:
    turn = held.view.turn
    return {
        "id": public_id(turn),
        "thread_id": turn.thread_id,
        "turn_id": turn.turn_id,
        "began_at": held.began_at,
        "changed_at": held.changed_at,
    }
