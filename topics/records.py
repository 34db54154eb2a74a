"""Every record that flows through turngate, one frozen model each (`docs/wire.md`).

Wire rules: JSON, snake_case, `v` names the version of the record's shape, fields this build does not know are ignored.
Offsets and lengths of text count Unicode code points. Times are seconds since the Unix epoch.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import (
    AllowInfNan,
    BeforeValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    model_validator,
)
from pydantic_core import PydanticCustomError

from topics.content import Frozen, Message, Part, Prompt, ToolCall, ToolDefinition, Usage, User
from topics.ids import Id, TurnKey
from topics.text import Text, none_if_empty

#: The newest record version this build reads and writes.
WIRE_VERSION = 1

Delivery: TypeAlias = Literal["stream", "final"]


class Record(Frozen):
    """Base of every record: `v` is the version of its shape."""

    #: Fields that are written even when they are None, because there None says something that their absence does not.
    spelt_out: ClassVar[tuple[str, ...]] = ()

    v: Literal[1] = 1


class TurnRecord(Record):
    """Base of every record about one turn."""

    tenant: Id = "default"
    thread_id: Id
    turn_id: Id

    @property
    def turn(self) -> TurnKey:
        """The identity of the turn this record is about."""
        return TurnKey(self.tenant, self.thread_id, self.turn_id)


# -- requests ---------------------------------------------------------------------------------------------------------


def _parts(value: object) -> object:
    """Accept a bare text where parts are wanted: most messages are one."""
    return [{"type": "text", "text": value}] if isinstance(value, str) else value


class TurnRequest(TurnRecord):
    """A caller asks for one turn: a user's `message` to `agent`, to be answered on `released`.

    `history`, `tools` or `continuation` make the turn stateless: the caller owns the conversation and runs the tools.
    `continuation` is what came after `message`: the tool calls that ended an earlier turn, and the results that the caller
    has for them. `deadline_s` is the longest the whole turn may take, in seconds from its acceptance. `delivery="final"`
    asks for the terminal frame only.
    """

    type: Literal["turn"] = "turn"
    agent: Id = "default"
    channel: Id = "default"
    user: User | None = None
    message: Annotated[tuple[Part, ...], BeforeValidator(_parts), Field(min_length=1)]
    history: tuple[Message, ...] | None = None
    continuation: tuple[Message, ...] | None = None
    tools: tuple[ToolDefinition, ...] | None = None
    system: Text | None = None
    model: Text | None = None
    params: dict[str, Any] | None = None
    delivery: Delivery = "stream"
    deadline_s: PositiveFloat | None = None
    attributes: dict[str, Any] | None = None


class CancelTurn(TurnRecord):
    """A caller ends an open turn; one that is closed or unknown stays as it is."""

    type: Literal["cancel"] = "cancel"


# -- model calls ------------------------------------------------------------------------------------------------------


class CallRecord(TurnRecord):
    """Base of every record about one attempt of one step's model call."""

    step: NonNegativeInt = 0
    attempt: NonNegativeInt = 0


class PromptRequest(CallRecord):
    """The derived prompt of one attempt: what the model runner sends to the model.

    `partition` is where the answer's frames must go on `frames`. `retry` says that a model's failure led to this
    attempt: it was not merely interrupted.
    """

    partition: NonNegativeInt
    agent: Id = "default"
    prompt: Prompt
    tools: tuple[ToolDefinition, ...] | None = None
    model: Text | None = None
    params: dict[str, Any] | None = None
    deadline_at: float | None = None
    retry: bool = False


class CancelCall(CallRecord):
    """The turn worker no longer wants this attempt's answer: stop the call."""

    partition: NonNegativeInt


class ToolCallDelta(Frozen):
    """A piece of a tool call: pieces with the same `index` belong together, their `arguments` in order of arrival."""

    index: NonNegativeInt = 0
    id: str | None = None
    name: str | None = None
    arguments: str | None = None


class ModelError(Frozen):
    """Why a model call failed: `type` names the kind, `message` is the provider's wording and never released.

    `retry_after_s` is how long to wait before a new attempt, in seconds, where the provider or the model runner says so.
    """

    type: str = "ModelFailedError"
    message: str | None = None
    retryable: bool = False
    retry_after_s: Annotated[NonNegativeFloat, AllowInfNan(allow_inf_nan=False)] | None = None


class ModelFrame(CallRecord):
    """One record of an attempt's raw output.

    `seq` counts from 0 without gaps within an attempt. A frame may carry several of its payloads at once, or none.
    `seq` is None only when a model runner reports a call that it found started and never finished. Text may end in half
    of a surrogate pair whose other half opens the next frame's.
    """

    spelt_out = ("seq",)

    seq: NonNegativeInt | None
    text: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_call_delta: ToolCallDelta | None = None
    finish_reason: Annotated[str | None, BeforeValidator(none_if_empty)] = None
    usage: Usage | None = None
    error: ModelError | None = None


# -- tools ------------------------------------------------------------------------------------------------------------


class ToolCallRequest(CallRecord):
    """One tool call of a step, published once the step's chain has passed it.

    `partition` is where its result must go on `tool-results`. `call.id` is unique among the calls of the attempt.
    """

    partition: NonNegativeInt
    call: ToolCall
    agent: Id = "default"
    user: User | None = None
    deadline_at: float | None = None


class ToolResult(CallRecord):
    """What a tool answered to `tool_call_id`; `error` says that the call failed and why, for the model to read.

    The first result of a call counts: a runner that dies between a result and its journal is followed by one that
    reports the call as interrupted.
    """

    tool_call_id: Text
    content: Text | tuple[Part, ...] | None = None
    error: Text | None = None


# -- released ---------------------------------------------------------------------------------------------------------

ErrorName: TypeAlias = Literal[
    "ProcessorFailedError",
    "ModelFailedError",
    "TurnTimeoutError",
    "FrameGapError",
    "AnswerTooLargeError",
    "InvalidRequestError",
]
Phase: TypeAlias = Literal["governance", "pre", "input", "model", "output", "tools", "post"]


class ReleasedRecord(CallRecord):
    """Base of every frame on `released`: `offset` is where `text` starts in its step's released text."""

    offset: NonNegativeInt = 0


class TextFrame(ReleasedRecord):
    """Text the reader may show: goes at `offset` of step `step`, attempt `attempt`."""

    kind: Literal["text"] = "text"
    text: Text


class ResetFrame(ReleasedRecord):
    """A new attempt of this step began: drop the text of earlier ones."""

    kind: Literal["reset"] = "reset"


class PostprocessCompleteFrame(ReleasedRecord):
    """The final version of the whole reply, sent only if post-processing changed it."""

    kind: Literal["postprocess-complete"] = "postprocess-complete"
    text: Text


class CompletedFrame(ReleasedRecord):
    """The turn ended well. `reply` is all steps' settled text in order.

    A reply too long for one record is not repeated here: `reply` is then None, and `length` (code points) and `sha256`
    (hex, of the UTF-8 bytes) let the reader check what it has. `length` is always given.
    """

    kind: Literal["completed"] = "completed"
    reply: Text | None = None
    length: NonNegativeInt
    sha256: str | None = None
    finish_reason: str
    refusal: Text | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    chain_changed: bool | None = None


class BlockedFrame(ReleasedRecord):
    """A processor answered in place of the model: `response` is the reply.

    With `final` delivery a block that gives no reply has an empty one, and `code` says that this is what it is.
    """

    kind: Literal["blocked"] = "blocked"
    response: Text
    processor: str
    code: Literal["preprocessor_blocked"] | None = None
    chain_changed: bool | None = None


class RejectedFrame(ReleasedRecord):
    """An output processor refused the answer; why is on `decisions`, not here."""

    kind: Literal["rejected"] = "rejected"
    error: Literal["OutputRejectedError"] = "OutputRejectedError"
    processor: str
    chain_changed: bool | None = None


class FailedFrame(ReleasedRecord):
    """The turn could not be answered. `message` says what happened and what to do, without content."""

    kind: Literal["failed"] = "failed"
    error: ErrorName
    phase: Phase | None = None
    processor: str | None = None
    message: str
    chain_changed: bool | None = None


class CancelledFrame(ReleasedRecord):
    """The caller ended the turn; `usage` is what it had cost by then, if known."""

    kind: Literal["cancelled"] = "cancelled"
    usage: Usage | None = None
    chain_changed: bool | None = None


TerminalFrame: TypeAlias = CompletedFrame | BlockedFrame | RejectedFrame | FailedFrame | CancelledFrame
TERMINAL_KINDS = frozenset({"completed", "blocked", "rejected", "failed", "cancelled"})
ReleasedFrame: TypeAlias = Annotated[
    TextFrame | ResetFrame | PostprocessCompleteFrame | TerminalFrame, Field(discriminator="kind")
]


# -- bookkeeping ------------------------------------------------------------------------------------------------------


class UsageRecord(CallRecord):
    """What one model call cost, or the calls that `processor` made for itself.

    Written at least once with identical bytes; count by `id`: turn/step/attempt, and of a processor its name and a number
    after that.
    """

    id: str
    agent: Id
    user_id: str | None = None
    model: Text | None = None
    usage: Usage
    estimated: bool = False
    outcome: Literal["completed", "rejected", "failed", "cancelled"]
    processor: str | None = None
    at: float


class Decision(TurnRecord):
    """What one processor decided about a turn.

    With `shadow` it was a version that runs beside the active one without any effect; `same` tells whether the reader
    would have been told the same. `changes` counts what it rewrote, `time_ms` is how long it ran, `error` the class name of
    what it threw. `reason` and `metadata` are the processor's own words: whoever may read this topic may read them.
    """

    step: NonNegativeInt = 0
    attempt: NonNegativeInt = 0
    phase: Phase
    processor: str
    version: str
    verdict: Literal["pass", "replace", "reject", "proceed", "block", "skipped", "failed"]
    changes: NonNegativeInt = 0
    time_ms: NonNegativeFloat = 0.0
    error: str | None = None
    reason: Text | None = None
    metadata: dict[str, Any] | None = None
    shadow: bool | None = None
    same: bool | None = None
    at: float


ProcessorKind: TypeAlias = Literal["governance", "pre", "input", "output", "tool_rule", "post"]


class ProcessorRecord(Record):
    """Base of what an operator, `by`, said `at` a time (epoch seconds) about the processor called `name`."""

    kind: ProcessorKind
    name: str
    by: str
    at: float

    @property
    def processor(self) -> str:
        """The processor's identity, `kind/name`."""
        return f"{self.kind}/{self.name}"


class ProcessorVersion(ProcessorRecord):
    """A version that may be chosen: the version `code` of the processor's code, with `config`.

    `version` names the two together, `digest` tells them from whatever else may have that name.
    """

    type: Literal["version"] = "version"
    version: str
    code: str
    digest: str
    config: dict[str, Any] | None = None


class Deployment(ProcessorRecord):
    """Which version of a processor is active.

    Without a `version` it is what the operator's code declares, or nothing. `shadow` is a version that runs beside it and
    is never enforced. `previous` are the versions chosen before this one, the latest last; "" stands for none.
    """

    type: Literal["deployment"] = "deployment"
    version: str | None = None
    code: str | None = None
    digest: str | None = None
    active: bool = True
    priority: float | None = None
    config: dict[str, Any] | None = None
    agents: tuple[str, ...] | None = None
    tenants: tuple[str, ...] | None = None
    on_failure: Literal["skip", "fail", "block"] | None = None
    shadow: str | None = None
    previous: tuple[str, ...] = ()


class Promotion(Record):
    """Several choices made at once: each of `members` counts as if it had been written here by itself."""

    type: Literal["promotion"] = "promotion"
    members: tuple[Deployment, ...]
    by: str
    at: float


DeploymentRecord: TypeAlias = ProcessorVersion | Deployment | Promotion


class AuditRecord(Record):
    """What an operator does to the deployments: `record` is written under `key` there, right after this; None deletes.

    A change never comes without one of these. One of these may come without its change, if the command was cut off.
    """

    action: str
    key: str
    record: dict[str, Any] | None = None
    by: str
    at: float


class Erase(Record):
    """An operator, `by`, wants everything about one thread, or about every thread that one user spoke in, forgotten.

    Exactly one of `thread_id` and `user_id` is given. Threads with open turns are left alone unless `cancel_open`. `id`
    is unique: a repeat of a record is recognised by it, and answers name it.
    """

    type: Literal["erase"] = "erase"
    id: Id
    tenant: Id = "default"
    thread_id: Id | None = None
    user_id: Text | None = None
    cancel_open: bool = False
    by: str
    at: float

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.thread_id is None) == (self.user_id is None):
            raise PydanticCustomError("one_of_both", "give either thread_id or user_id")
        return self


class Erased(Record):
    """What a worker made of the `Erase` of this `id` in one partition: it says no more of a person than which `threads`.

    `turns` counts those whose journal goes, `open` the ones of them that were open, `remembered` those that their thread
    remembered, `calls` those of a runner. With `refused` nothing was done, since turns are open. `more` says that there is
    more than fits into one answer: ask again.
    """

    type: Literal["erased"] = "erased"
    id: Id
    tenant: Id = "default"
    role: Literal["turns", "models", "tools"]
    partition: NonNegativeInt
    threads: tuple[Id, ...] = ()
    refused: bool = False
    turns: NonNegativeInt = 0
    open: NonNegativeInt = 0
    remembered: NonNegativeInt = 0
    calls: NonNegativeInt = 0
    more: bool = False
    at: float


class WorkerStatus(Record):
    """What one worker is, runs and could run. `active` and `available` are `kind/name@version#digest`.

    `offset` is the last record of `deployments` that the worker has read, `chain` names what it runs: workers with the
    same processors have the same. `refused` says why what is deployed is not what it runs.
    """

    worker: str
    role: Literal["turns", "models", "tools"]
    started_at: float
    seen_at: float
    active: tuple[str, ...] = ()
    available: tuple[str, ...] = ()
    chain: str = ""
    offset: int = -1
    refused: str | None = None


class DeadLetter(Record):
    """A record that could not be taken: where it was, and why. Holds no content: the record itself stays where it was.

    `origin_offset` in `origin_topic`/`origin_partition` is where the refused record is read again, for as long as that
    topic retains it.
    """

    id: str
    origin_topic: str
    origin_partition: NonNegativeInt
    origin_offset: NonNegativeInt
    error: str
    reason: str
    tenant: str | None = None
    thread_id: str | None = None
    turn_id: str | None = None
    worker: str
    at: float
    size: NonNegativeInt = 0
