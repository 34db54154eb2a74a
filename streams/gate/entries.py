"""What a turn's journal is made of: one entry per checkpoint, each the whole of what happened at it.

Entries are facts, already decided: the turn's state is their fold (`machine.evolve`), and what is published because of
one is a function of that state and the entry (`effects.effects_of`). The fields of `Llm` have short aliases because a
streamed answer writes one such entry per batch of frames.

Whoever changes a shape raises `records.JOURNAL_VERSION`, and has what is new written only where the operator lets the
journal be of that version (`DeskSettings.journal_version`): until then the release before must be able to read it.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias, TypeGuard

from pydantic import BaseModel, ConfigDict, Field

from processors.outcomes import Report
from topics.content import Part, Prompt, ToolCall, ToolDefinition, Usage
from topics.records import ErrorName, ModelFrame, Phase, ToolCallDelta, TurnRequest
from topics.trusted import made

#: The journal versions that first knew a release spelt as moves, and the trace that a request came with.
MOVES_SINCE = 3
TRACE_SINCE = 3


class Entry(BaseModel):
    """Base of the entries: immutable, strict about its fields, never quoting a value in an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, hide_input_in_errors=True)

    #: The checkpoint's name; entries about a step are spelt `<name>:<step>` in the journal.
    name: ClassVar[str]
    #: The journal version that first knew this entry, and those that first knew some of its fields.
    since: ClassVar[int] = 1
    fields_since: ClassVar[dict[str, int]] = {}

    @property
    def checkpoint(self) -> str:
        """The checkpoint this entry belongs to, as the journal spells it."""
        return self.name

    @property
    def version(self) -> int:
        """The oldest journal version that can express this entry."""
        fields = type(self).model_fields
        said = (v for name, v in self.fields_since.items() if getattr(self, name) != fields[name].default)
        return max(said, default=max(self.since, 2 if self.spends else 0))

    @property
    def spends(self) -> bool:
        """Whether a processor whose report is in here made model calls of its own."""
        return any(report.usage is not None for report in getattr(self, "reports", ()))


class StepEntry(Entry):
    """Base of the entries about one step of the turn."""

    step: int = 0

    @property
    def checkpoint(self) -> str:
        """`<name>:<step>`."""
        return f"{self.name}:{self.step}"


class Accepted(Entry):
    """The turn exists. `order` is its request's offset, which orders the turns of a thread; `deadline_at` is absolute.

    `readable` is False for the stand-in of a request that could not be read; the next entry fails its turn. `trace` is the
    trace context that the request came with (`topics.trace_context`), where turns are traced.
    """

    name = "accepted"
    fields_since: ClassVar[dict[str, int]] = {"trace": TRACE_SINCE}
    request: TurnRequest
    partition: int
    order: int
    deadline_at: float
    readable: bool = True
    trace: str | None = None


class Persona(BaseModel):
    """The agent that answers a turn, as it was declared when the turn started.

    `tools` are those the model may call and the pipeline runs, `timeouts` the seconds that each may take.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    system: str | None = None
    model: str | None = None
    params: dict[str, Any] | None = None
    tools: tuple[ToolDefinition, ...] = ()
    timeouts: dict[str, float] = Field(default_factory=dict)
    max_steps: int = 1


class Started(Entry):
    """The turn's thread is free: it runs, through those kinds of processors that are declared at this moment.

    `chain` names the processors (kind/name@version) that are active then, `pin` all of them together: it is the id of the
    chains, "" where there are none. `rules` says that tool calls are subject to rules, `carry` that each step's answer is
    judged together with those before it. `persona` is the agent, if it is a declared one. `told` counts the newest
    messages of the thread that the model is told of.
    """

    name = "started"
    fields_since: ClassVar[dict[str, int]] = dict.fromkeys(
        ("governance", "rules", "post", "carry", "persona", "told", "pin"), 2
    )
    pre: bool = False
    input: bool = False
    chain: tuple[str, ...] = ()
    governance: bool = False
    rules: bool = False
    post: bool = False
    carry: bool = False
    persona: Persona | None = None
    told: int = 0
    pin: str = ""


class Rechained(Entry):
    """The chains that the turn had pinned are gone from this image: it goes on with these, and with what it has released.

    The fields are as of `Started`; what that says beside them still holds.
    """

    name = "rechained"
    since = 2
    pre: bool = False
    input: bool = False
    chain: tuple[str, ...] = ()
    governance: bool = False
    rules: bool = False
    post: bool = False
    pin: str = ""


class PreProcessed(Entry):
    """The pre-processors ran. When one of them blocked the turn, `blocked_by` names it and `response` is the reply."""

    name = "process:pre"
    message: tuple[Part, ...] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    blocked_by: str | None = None
    response: str = ""
    reports: tuple[Report, ...] = ()


class Governed(PreProcessed):
    """The organisation's rules had the message, before everybody else; the fields are as above."""

    name = "process:governance"
    since = 2


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
    """The attempt's model call ended with `error` (a kind, no content); `retry` says that another attempt follows.

    It follows at `retry_at` (epoch seconds) where that is set, else at once; it asks `fallback` in place of the model
    asked before where that is set.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    error: str
    retry: bool
    retry_at: float | None = None
    fallback: str | None = None


#: How a piece of released text is spelt: as it is, or as a place in the buffer and a length, both in code points.
Move: TypeAlias = str | tuple[int, int]


class Llm(StepEntry):
    """Progress of a step's model call: what arrived, what was released, how it ended.

    `seq` is the next sequence number awaited after this entry, None if the entry takes in no frame. `text` is what was
    appended to the buffer, `half` the high surrogate that followed it. `early` are frames that came before their turn.
    `live` counts the buffered code points released without any chain; `release` is the text that a prefix pass let out,
    which the journal may spell as `moves` (`moves.resolved`).
    `settled` says that the buffer is the step's settled text because no output chain is declared; `calls` are then the
    tool calls that are to be run, after which another step follows.
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
    calls: tuple[ToolCall, ...] = Field(default=(), alias="c")
    moves: tuple[Move, ...] = Field(default=(), alias="m")

    @property
    def version(self) -> int:
        """The oldest journal version that can express this entry."""
        failed = self.failed
        later = failed is not None and (failed.retry_at is not None or failed.fallback is not None)
        if self.moves:
            return MOVES_SINCE
        return 2 if later or self.calls or self.spends else self.since


#: What an entry says of frames that brought text and nothing else, and what it says of all else.
_OF_TEXT = {"step", "attempt", "seq", "text", "live", "release"}
_NOTHING_ELSE = Llm().__dict__


def of_text(step: int, attempt: int, seq: int, text: str, live: int | None = None, release: str = "") -> Llm:
    """Return the entry of frames that brought text and nothing else, up to `seq`: nearly all entries are one."""
    fields = _NOTHING_ELSE.copy()
    fields["step"] = step
    fields["attempt"] = attempt
    fields["seq"] = seq
    fields["text"] = text
    fields["live"] = live
    fields["release"] = release
    return made(Llm, fields, _OF_TEXT)


def brings_text_alone(entry: AnyEntry) -> TypeGuard[Llm]:
    """Return whether an entry was made by `of_text`, so that no other field of it needs a look.

    It is not said of others, such as those read from a journal, which may be the same: they are taken the long way.
    """
    return entry.__pydantic_fields_set__ is _OF_TEXT


class Retried(StepEntry):
    """The time has come for an attempt that was to follow later."""

    name = "retry"
    since = 2
    attempt: int


class OutputProcessed(StepEntry):
    """The output chain's word on the step's whole answer: passed, with `tail` after what was out before, or `rejected`.

    `tool_calls` and the model's own `refusal` are as the chain passed them; `calls` are those of them that are to be run,
    after which another step follows.
    `final` is False for all but the last entry of an answer whose tail is too long for one record. The journal may spell
    the tail as `moves` (`moves.resolved`).
    """

    name = "process:output"
    fields_since: ClassVar[dict[str, int]] = {"calls": 2, "moves": MOVES_SINCE}
    tail: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    final: bool = True
    rejected: Rejection | None = None
    reports: tuple[Report, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    moves: tuple[Move, ...] = Field(default=(), alias="m")


class ToolReturn(BaseModel):
    """What the model is told about one of its tool calls: the tool's answer, or why there is none."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    call_id: str
    content: str | tuple[Part, ...] | None = None
    error: str | None = None


class CallsGoverned(StepEntry):
    """The organisation's rules had the step's tool calls: those in `denied` are not made, and the model is told so."""

    name = "process:tools"
    since = 2
    denied: tuple[ToolReturn, ...] = ()
    reports: tuple[Report, ...] = ()


class ToolsReturned(StepEntry):
    """Tools answered, or will not any more."""

    name = "tools"
    since = 2
    results: tuple[ToolReturn, ...]


class PostProcessed(Entry):
    """The post-processors had the whole reply. It is `text` now; None leaves it as it was.

    `late` says that there was no more time to deliver what they would have said. When one of them blocked the reply,
    `blocked_by` names it and `response` takes the reply's place; `rejected` is the output chain's refusal of `text`.
    """

    name = "process:post"
    since = 2
    text: str | None = None
    late: bool = False
    metadata: dict[str, Any] = Field(default_factory=dict)
    blocked_by: str | None = None
    response: str = ""
    rejected: Rejection | None = None
    reports: tuple[Report, ...] = ()


class Spent(StepEntry):
    """What processors spent in a run that led to nothing else: a prefix pass, or one whose turn went on without it."""

    name = "spent"
    since = 2
    reports: tuple[Report, ...]


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
    Accepted
    | Started
    | Rechained
    | Governed
    | PreProcessed
    | InputProcessed
    | Llm
    | Retried
    | OutputProcessed
    | CallsGoverned
    | ToolsReturned
    | PostProcessed
    | Spent
    | Failed
    | Cancelled
    | Closed
)
SHAPES: dict[str, type[AnyEntry]] = {
    shape.name: shape
    for shape in (
        Accepted,
        Started,
        Rechained,
        Governed,
        PreProcessed,
        InputProcessed,
        Llm,
        Retried,
        OutputProcessed,
        CallsGoverned,
        ToolsReturned,
        PostProcessed,
        Spent,
        Failed,
        Cancelled,
        Closed,
    )
}
