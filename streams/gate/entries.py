"""What a turn's journal is made of: one entry per checkpoint, each the whole of what happened at it (design §6).

Entries are facts, already decided: the turn's state is their fold (`machine.evolve`), and what is published because of
one is a function of that state and the entry (`effects.effects_of`). The fields of `Llm` have short aliases because a
streamed answer writes one such entry per batch of frames. Whoever changes a shape raises `records.JOURNAL_VERSION`.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from processors.outcomes import Report
from topics.content import Part, Prompt, ToolCall, Usage
from topics.records import ErrorName, ModelFrame, Phase, ToolCallDelta, TurnRequest


class Entry(BaseModel):
    """Base of the entries: immutable, strict about its fields, never quoting a value in an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, hide_input_in_errors=True)

    #: The checkpoint's name; entries about a step are spelt `<name>:<step>` in the journal.
    name: ClassVar[str]

    @property
    def checkpoint(self) -> str:
        """The checkpoint this entry belongs to, as the journal spells it."""
        return self.name


class StepEntry(Entry):
    """Base of the entries about one step of the turn."""

    step: int = 0

    @property
    def checkpoint(self) -> str:
        """`<name>:<step>`."""
        return f"{self.name}:{self.step}"


class Accepted(Entry):
    """The turn exists. `order` is its request's offset, which orders the turns of a thread; `deadline_at` is absolute.

    `readable` is False for the stand-in of a request that could not be read; the next entry fails its turn.
    """

    name = "accepted"
    request: TurnRequest
    partition: int
    order: int
    deadline_at: float
    readable: bool = True


class Started(Entry):
    """The turn's thread is free: it runs, through a `pre` and an `input` chain if such are declared at this moment.

    `chain` names the controls (name@version) that are active then.
    """

    name = "started"
    pre: bool = False
    input: bool = False
    chain: tuple[str, ...] = ()


class PreProcessed(Entry):
    """The pre-processors ran. When one of them blocked the turn, `blocked_by` names it and `response` is the reply."""

    name = "process:pre"
    message: tuple[Part, ...] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    blocked_by: str | None = None
    response: str = ""
    reports: tuple[Report, ...] = ()


class InputProcessed(StepEntry):
    """The input chain derived `prompt` for the step."""

    name = "process:input"
    prompt: Prompt
    reports: tuple[Report, ...] = ()


class Rejection(BaseModel):
    """An output processor's refusal of an answer; `reason` goes to no reader."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    processor: str
    reason: str


class CallFailure(BaseModel):
    """The attempt's model call ended with `error` (a kind, no content); `retry` says that another attempt follows."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    error: str
    retry: bool


class Llm(StepEntry):
    """Progress of a step's model call: what arrived, what was released, how it ended.

    `seq` is the next sequence number awaited after this entry, None if the entry takes in no frame. `text` is what was
    appended to the buffer, `half` the high surrogate that followed it. `early` are frames that came before their turn.
    `live` counts the buffered code points released without any chain; `release` is the text that a prefix pass let out.
    `settled` says that the buffer is the step's settled text because no output chain is declared.
    """

    name = "llm"
    attempt: int = Field(default=0, alias="a")
    seq: int | None = Field(default=None, alias="q")
    text: str = Field(default="", alias="t")
    half: int | None = Field(default=None, alias="h")
    finish_reason: str | None = Field(default=None, alias="f")
    usage: Usage | None = Field(default=None, alias="u")
    refusal: str = Field(default="", alias="x")
    tool_calls: tuple[ToolCallDelta, ...] = Field(default=(), alias="d")
    early: tuple[ModelFrame, ...] = Field(default=(), alias="e")
    live: int | None = Field(default=None, alias="l")
    release: str = Field(default="", alias="r")
    settled: bool = Field(default=False, alias="z")
    rejected: Rejection | None = Field(default=None, alias="j")
    failed: CallFailure | None = Field(default=None, alias="y")
    reports: tuple[Report, ...] = Field(default=(), alias="p")


class OutputProcessed(StepEntry):
    """The output chain's word on the step's whole answer: passed, with `tail` after what was out before, or `rejected`.

    `tool_calls` and the model's own `refusal` are as the chain passed them.
    `final` is False for all but the last entry of an answer whose tail is too long for one record.
    """

    name = "process:output"
    tail: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    final: bool = True
    rejected: Rejection | None = None
    reports: tuple[Report, ...] = ()


class Failed(Entry):
    """The turn cannot be answered; `message` is for its reader, without content."""

    name = "failed"
    error: ErrorName
    phase: Phase | None = None
    processor: str | None = None
    message: str
    reports: tuple[Report, ...] = ()


class Cancelled(Entry):
    """The caller ended the turn."""

    name = "cancelled"


class Closed(Entry):
    """The terminal frame is confirmed, at `offset` of `released`: nothing more will happen.

    This entry alone stays when the rest of the turn's journal is cleared, so it holds what a late duplicate needs.
    """

    name = "closed"
    outcome: str
    partition: int
    offset: int


AnyEntry: TypeAlias = (
    Accepted | Started | PreProcessed | InputProcessed | Llm | OutputProcessed | Failed | Cancelled | Closed
)
SHAPES: dict[str, type[AnyEntry]] = {
    shape.name: shape
    for shape in (
        Accepted,
        Started,
        PreProcessed,
        InputProcessed,
        Llm,
        OutputProcessed,
        Failed,
        Cancelled,
        Closed,
    )
}
