"""Every record that flows through turngate, one frozen model each (`docs/wire.md`).

Wire rules: JSON, snake_case, `v` names the version of the record's shape, fields this build does not know are ignored.
Offsets and lengths of text count Unicode code points. Times are seconds since the Unix epoch.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import (
    AllowInfNan,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
)
from pydantic_core import CoreSchema

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
    """the version of the record's shape"""


class TurnRecord(Record):
    """Base of every record about one turn."""

    tenant: Id = "default"
    """who the turn is billed and isolated by"""
    thread_id: Id
    """the conversation"""
    turn_id: Id
    """the turn; it need only be unique in its thread"""

    @property
    def turn(self) -> TurnKey:
        """The identity of the turn this record is about."""
        return TurnKey(self.tenant, self.thread_id, self.turn_id)


# -- requests ---------------------------------------------------------------------------------------------------------


def _parts(value: object) -> object:
    """Accept a bare text where parts are wanted: most messages are one."""
    return [{"type": "text", "text": value}] if isinstance(value, str) else value


class _OrBareText:
    """Says in a schema what `_parts` takes."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, handler(core)]}


class TurnRequest(TurnRecord):
    """A caller asks for one turn: a user's `message` to `agent`, to be answered on `released`.

    `history`, `tools` or `continuation` make the turn stateless: the caller owns the conversation and runs the tools.
    `continuation` is what came after `message`: the tool calls that ended an earlier turn, and the results that the caller
    has for them. `deadline_s` is the longest the whole turn may take, in seconds from its acceptance. `delivery="final"`
    asks for the terminal frame only.
    """

    type: Literal["turn"] = "turn"
    """tells a turn from a cancel"""
    agent: Id = "default"
    """who is asked; pre-processors can be scoped by it"""
    channel: Id = "default"
    """where it was said, e.g. `web` or `voice`"""
    user: User | None = None
    """who speaks"""
    message: Annotated[tuple[Part, ...], BeforeValidator(_parts), Field(min_length=1), _OrBareText()]
    """what the user says; a bare text is taken as one text part"""
    history: tuple[Message, ...] | None = None
    """what was said before, oldest first"""
    continuation: tuple[Message, ...] | None = None
    """what came after `message`: tool calls that ended an earlier turn, and their results"""
    tools: tuple[ToolDefinition, ...] | None = None
    """tools the model may call; the caller runs them"""
    system: Text | None = None
    """the system text"""
    model: Text | None = None
    """which model answers; the runner's default where it is left out"""
    params: dict[str, Any] | None = None
    """for the model, e.g. `temperature`; what is allowed is the runner's to say"""
    delivery: Delivery = "stream"
    """`final`: only the terminal frame is released, with the whole reply"""
    deadline_s: PositiveFloat | None = None
    """the longest the turn may take, from its acceptance; `TURNGATE_TURN_TIMEOUT_S` is the upper limit"""
    attributes: dict[str, Any] | None = None
    """for your processors, in `TurnContext.attributes`; the model does not see them"""


class CancelTurn(TurnRecord):
    """A caller ends an open turn; one that is closed or unknown stays as it is."""

    type: Literal["cancel"] = "cancel"
    """must be written: a request without `type` is a turn"""


# -- model calls ------------------------------------------------------------------------------------------------------


class CallRecord(TurnRecord):
    """Base of every record about one attempt of one step's model call."""

    step: NonNegativeInt = 0
    """which model call of the turn, from 0"""
    attempt: NonNegativeInt = 0
    """which try of it"""


class PromptRequest(CallRecord):
    """The derived prompt of one attempt: what the model runner sends to the model.

    `partition` is where the answer's frames must go on `frames`. `retry` says that a model's failure led to this
    attempt: it was not merely interrupted.
    """

    partition: NonNegativeInt
    """where the frames of the answer have to go on `frames`"""
    agent: Id = "default"
    """from the request"""
    prompt: Prompt
    """what to send to the model, after all input processors"""
    tools: tuple[ToolDefinition, ...] | None = None
    """from the request"""
    model: Text | None = None
    """from the request"""
    params: dict[str, Any] | None = None
    """from the request"""
    deadline_at: float | None = None
    """when the turn ends, answered or not"""
    retry: bool = False
    """whether a model's failure led to this attempt, and not only an interruption"""


class CancelCall(CallRecord):
    """The turn worker no longer wants this attempt's answer: stop the call."""

    partition: NonNegativeInt
    """as in the prompt"""


class ToolCallDelta(Frozen):
    """A piece of a tool call: pieces with the same `index` belong together, their `arguments` in order of arrival."""

    index: NonNegativeInt = 0
    """which of the answer's tool calls"""
    id: str | None = None
    """its id, in the first piece"""
    name: str | None = None
    """the tool, in the first piece"""
    arguments: str | None = None
    """the next piece of its arguments"""


class ModelError(Frozen):
    """Why a model call failed: `type` names the kind, `message` is the provider's wording and never released.

    `retry_after_s` is how long to wait before a new attempt, in seconds, where the provider or the model runner says so.
    """

    type: str = "ModelFailedError"
    """the kind of error"""
    message: str | None = None
    """the provider's words; neither released nor logged"""
    retryable: bool = False
    """whether a new attempt may fare better"""
    retry_after_s: Annotated[NonNegativeFloat, AllowInfNan(allow_inf_nan=False)] | None = None
    """how long to wait before a new attempt, in seconds; null: nobody said"""


class ModelFrame(CallRecord):
    """One record of an attempt's raw output.

    `seq` counts from 0 without gaps within an attempt. A frame may carry several of its payloads at once, or none.
    `seq` is null only when a model runner reports a call that it found started and never finished. Text may end in half
    of a surrogate pair whose other half opens the next frame's.
    """

    spelt_out = ("seq",)

    seq: NonNegativeInt | None
    """the frame's number in its attempt, from 0; null: the attempt was interrupted"""
    text: str | None = None
    """the next piece of the answer"""
    reasoning: str | None = None
    """the next piece of the model's reasoning; never released"""
    refusal: str | None = None
    """the next piece of the model's own refusal"""
    tool_call_delta: ToolCallDelta | None = None
    """a piece of a tool call"""
    finish_reason: Annotated[str | None, BeforeValidator(none_if_empty)] = None
    """the answer ends here, and why: `stop`, `length`, `tool_calls`, …"""
    usage: Usage | None = None
    """what the call cost; the last one counts"""
    error: ModelError | None = None
    """the attempt ends here, failed"""


# -- tools ------------------------------------------------------------------------------------------------------------


class ToolCallRequest(CallRecord):
    """One tool call of a step, published once the step's chain has passed it.

    `partition` is where its result must go on `tool-results`. `call.id` is unique among the calls of the attempt.
    """

    partition: NonNegativeInt
    """where the result has to go on `tool-results`"""
    call: ToolCall
    """what to run, as the chain passed it; `id` is the only one of its kind in the attempt, of 1000 characters at most
    """
    agent: Id = "default"
    """from the request"""
    user: User | None = None
    """from the request"""
    deadline_at: float | None = None
    """when nobody waits for the result any more"""


class ToolResult(CallRecord):
    """What a tool answered to `tool_call_id`; `error` says that the call failed and why, for the model to read.

    The first result of a call counts: a runner that dies between a result and its journal is followed by one that
    reports the call as interrupted.
    """

    tool_call_id: Text
    """which call this answers"""
    content: Text | tuple[Part, ...] | None = None
    """what the tool said"""
    error: Text | None = None
    """that it failed and why, for the model to read; there is either this or `content`"""


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
    """where `text` begins in its step's text; of a terminal frame that is not `completed`, how much of it was released
    """


class TextFrame(ReleasedRecord):
    """Text the reader may show: goes at `offset` of step `step`, attempt `attempt`."""

    kind: Literal["text"] = "text"
    """must be there on `released`"""
    text: Text
    """released text; never ends inside a grapheme cluster, except where the answer does"""


class ResetFrame(ReleasedRecord):
    """A new attempt of this step began: drop the text of earlier ones."""

    kind: Literal["reset"] = "reset"
    """`attempt` is the one that begins"""


class PostprocessCompleteFrame(ReleasedRecord):
    """The final version of the whole reply, sent only if post-processing changed it."""

    kind: Literal["postprocess-complete"] = "postprocess-complete"
    """tells which frame it is"""
    text: Text
    """the final version of the whole reply"""


class CompletedFrame(ReleasedRecord):
    """The turn ended well. `reply` is all steps' settled text in order.

    A reply too long for one record is not repeated here: `reply` is then left out, and `length` (code points) and `sha256`
    (hex, of the UTF-8 bytes) let the reader check what it has. `length` is always given.
    """

    kind: Literal["completed"] = "completed"
    """tells which frame it is"""
    reply: Text | None = None
    """the whole text of all steps; left out if it does not fit (512 KiB as JSON)"""
    length: NonNegativeInt
    """the reply's length in code points"""
    sha256: str | None = None
    """hex digest of the reply's UTF-8 bytes; given when `reply` is not"""
    finish_reason: str
    """why the model stopped, in the provider's word"""
    refusal: Text | None = None
    """the model's own refusal, as the output chain passed it"""
    tool_calls: tuple[ToolCall, ...] = ()
    """what the model asks the caller to run, as the chain passed it"""
    usage: Usage | None = None
    """what the step cost, if the provider said so"""
    chain_changed: bool | None = None
    """true if the processors that the turn began with are gone, and others finished it"""


class BlockedFrame(ReleasedRecord):
    """A processor answered in place of the model: `response` is the reply.

    With `final` delivery a block that gives no reply has an empty one, and `code` says that this is what it is.
    """

    kind: Literal["blocked"] = "blocked"
    """tells which frame it is"""
    response: Text
    """the reply"""
    processor: str
    """who blocked"""
    code: Literal["preprocessor_blocked"] | None = None
    """with `final` delivery: the block gave no reply, so `response` is empty"""
    chain_changed: bool | None = None
    """true if the processors that the turn began with are gone, and others finished it"""


class RejectedFrame(ReleasedRecord):
    """An output processor refused the answer; why is on `decisions`, not here."""

    kind: Literal["rejected"] = "rejected"
    """tells which frame it is"""
    error: Literal["OutputRejectedError"] = "OutputRejectedError"
    """always this"""
    processor: str
    """who refused"""
    chain_changed: bool | None = None
    """true if the processors that the turn began with are gone, and others finished it"""


class FailedFrame(ReleasedRecord):
    """The turn could not be answered. `message` says what happened and what to do, without content."""

    kind: Literal["failed"] = "failed"
    """tells which frame it is"""
    error: ErrorName
    """see the table of errors"""
    phase: Phase | None = None
    """where the turn was"""
    processor: str | None = None
    """which processor, if one is to blame"""
    message: str
    """what happened and what to do; holds nothing of what anybody said"""
    chain_changed: bool | None = None
    """true if the processors that the turn began with are gone, and others finished it"""


class CancelledFrame(ReleasedRecord):
    """The caller ended the turn; `usage` is what it had cost by then, if known."""

    kind: Literal["cancelled"] = "cancelled"
    """tells which frame it is"""
    usage: Usage | None = None
    """what the turn had cost by then: an estimate"""
    chain_changed: bool | None = None
    """true if the processors that the turn began with are gone, and others finished it"""


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
    """`tenant/thread_id/turn_id/step/attempt`, of a processor with `/processor/number` after that"""
    agent: Id
    """from the request"""
    user_id: str | None = None
    """from the request"""
    model: Text | None = None
    """as the request named it; of a processor, as that said"""
    usage: Usage
    """the tokens"""
    estimated: bool = False
    """no provider's count: four characters are taken for a token"""
    outcome: Literal["completed", "rejected", "failed", "cancelled"]
    """what became of the call; of a processor's, `failed` if the processor was"""
    processor: str | None = None
    """the processor that made the calls; `null` for the turn's own call"""
    at: float
    """when"""


class Decision(TurnRecord):
    """What one processor decided about a turn.

    With `shadow` it was a version that runs beside the active one without any effect; `same` tells whether the reader
    would have been told the same. `changes` counts what it rewrote, `time_ms` is how long it ran, `error` the class name of
    what it threw. `reason` and `metadata` are the processor's own words: whoever may read this topic may read them.
    """

    step: NonNegativeInt = 0
    """which step"""
    attempt: NonNegativeInt = 0
    """which attempt"""
    phase: Phase
    """which chain"""
    processor: str
    """its name"""
    version: str
    """its version"""
    verdict: Literal["pass", "replace", "reject", "proceed", "block", "skipped", "failed"]
    """what it said, or what became of its failure"""
    changes: NonNegativeInt = 0
    """how many things it rewrote"""
    time_ms: NonNegativeFloat = 0.0
    """how long it ran"""
    error: str | None = None
    """the class name of what it threw"""
    reason: Text | None = None
    """why it rejected or blocked, in its own words"""
    metadata: dict[str, Any] | None = None
    """what a pre-processor said beside its verdict"""
    shadow: bool | None = None
    """true if the version only ran beside the active one, without any effect"""
    same: bool | None = None
    """of a shadow: whether readers would have been told the same"""
    at: float
    """when"""


ProcessorKind: TypeAlias = Literal["governance", "pre", "input", "output", "tool_rule", "post"]


class ProcessorRecord(Record):
    """Base of what an operator, `by`, said `at` a time (epoch seconds) about the processor called `name`."""

    kind: ProcessorKind
    """the processor's kind"""
    name: str
    """its name"""
    by: str
    """who decided it"""
    at: float
    """when"""

    @property
    def processor(self) -> str:
        """The processor's identity, `kind/name`."""
        return f"{self.kind}/{self.name}"


class ProcessorVersion(ProcessorRecord):
    """A version that may be chosen: the version `code` of the processor's code, with `config`.

    `version` names the two together, `digest` tells them from whatever else may have that name.
    """

    type: Literal["version"] = "version"
    """what record this is"""
    version: str
    """what code and configuration together are called"""
    code: str
    """the version of the code alone"""
    digest: str
    """of code and configuration"""
    config: dict[str, Any] | None = None
    """what it is configured with"""


class Deployment(ProcessorRecord):
    """Which version of a processor is active.

    Without a `version` it is what the operator's code declares, or nothing. `shadow` is a version that runs beside it and
    is never enforced. `previous` are the versions chosen before this one, the latest last; "" stands for none.
    """

    type: Literal["deployment"] = "deployment"
    """what record this is"""
    version: str | None = None
    """the version that is chosen; null is what the operator's code declares"""
    code: str | None = None
    """the version of its code"""
    digest: str | None = None
    """of code and configuration"""
    active: bool = True
    """whether it runs"""
    priority: float | None = None
    """order among others that are deployed, or pre- and post-processors; null is as declared"""
    config: dict[str, Any] | None = None
    """what it is configured with"""
    agents: tuple[str, ...] | None = None
    """for which agents; null is as declared"""
    tenants: tuple[str, ...] | None = None
    """for which tenants, beside what all have; null is all"""
    on_failure: Literal["skip", "fail", "block"] | None = None
    """stricter than declared, if given"""
    shadow: str | None = None
    """a version that runs beside it without any effect"""
    previous: tuple[str, ...] = ()
    """what was chosen before, the latest last; empty text is what the operator's code declares"""


class Promotion(Record):
    """Several choices made at once: each of `members` counts as if it had been written here by itself."""

    type: Literal["promotion"] = "promotion"
    """what record this is"""
    members: tuple[Deployment, ...]
    """what is chosen at once"""
    by: str
    """who decided it"""
    at: float
    """when"""


DeploymentRecord: TypeAlias = ProcessorVersion | Deployment | Promotion


class AuditRecord(Record):
    """What an operator does to the deployments: `record` is written under `key` there, right after this; null deletes.

    Of an erasure it says who wants it before, and what became of it after. A change never comes without one of these. One of
    these may come without its change, if the command was cut off.
    """

    action: str
    """the command"""
    key: str
    """the key on `deployments`; of an erasure `thread/` or `user/` and the hash of the id"""
    record: dict[str, Any] | None = None
    """what is written there, of an erasure counts; null is a deletion"""
    by: str
    """who does it"""
    at: float
    """when"""


class Erase(Record):
    """An operator, `by`, wants everything about one thread, or about every thread that one user spoke in, forgotten.

    Exactly one of `thread_id` and `user_id` is given. Threads with open turns are left alone unless `cancel_open`. `id`
    is unique: a repeat of a record is recognised by it, and answers name it.
    """

    type: Literal["erase"] = "erase"
    """what record this is"""
    id: Id
    """unique: by it a repeat is recognised, and answers name it"""
    tenant: Id = "default"
    """whose thread or user it is"""
    thread_id: Id | None = None
    """the thread to erase; either this or `user_id`"""
    user_id: Text | None = None
    """the user whose threads to erase"""
    cancel_open: bool = False
    """whether open turns are cancelled; otherwise they stand in the way"""
    by: str
    """who wants it"""
    at: float
    """when"""


class Erased(Record):
    """What a worker made of the `Erase` of this `id` in one partition: it says no more of a person than which `threads`.

    `turns` counts those whose journal goes, `open` the ones of them that were open, `remembered` those that their thread
    remembered, `calls` those of a runner. With `refused` nothing was done, since turns are open. `more` says that there is
    more than fits into one answer: ask again.
    """

    type: Literal["erased"] = "erased"
    """what record this is"""
    id: Id
    """that of the `Erase`"""
    tenant: Id = "default"
    """the same"""
    role: Literal["turns", "models", "tools"]
    """who answers"""
    partition: NonNegativeInt
    """for which partition"""
    threads: tuple[Id, ...] = ()
    """the threads that were erased there"""
    refused: bool = False
    """nothing was done, because turns are open"""
    turns: NonNegativeInt = 0
    """how many turns' journals go"""
    open: NonNegativeInt = 0
    """how many turns were open: they are cancelled, or stand in the way"""
    remembered: NonNegativeInt = 0
    """how many turns the threads remembered"""
    calls: NonNegativeInt = 0
    """how many calls of a runner"""
    more: bool = False
    """there are more threads than fit into an answer: ask again"""
    at: float
    """when"""


class WorkerStatus(Record):
    """What one worker is, runs and could run. `active` and `available` are `kind/name@version#digest`.

    `offset` is the last record of `deployments` that the worker has read, `chain` names what it runs: workers with the
    same processors have the same. `refused` says why what is deployed is not what it runs.
    """

    worker: str
    """its name"""
    role: Literal["turns", "models", "tools"]
    """what it does"""
    started_at: float
    """when it started"""
    seen_at: float
    """when it last said so"""
    active: tuple[str, ...] = ()
    """`kind/name@version#digest` of what it runs"""
    available: tuple[str, ...] = ()
    """`kind/name@version#digest` of the code that it could run"""
    chain: str = ""
    """a name for all that it runs: the same where the same runs"""
    offset: int = -1
    """the last record of `deployments` that it has read"""
    refused: str | None = None
    """why it does not run what is deployed"""


class DeadLetter(Record):
    """A record that could not be taken: where it was, and why. Holds no content: the record itself stays where it was.

    `origin_offset` in `origin_topic`/`origin_partition` is where the refused record is read again, for as long as that
    topic retains it.
    """

    id: str
    """`topic/partition/offset` of the refused record"""
    origin_topic: str
    """its topic, prefix included"""
    origin_partition: NonNegativeInt
    """its partition"""
    origin_offset: NonNegativeInt
    """its offset: it can be read there while the topic keeps it"""
    error: str
    """the kind of fault, see below"""
    reason: str
    """what is wrong and what to do; names fields, never values"""
    tenant: str | None = None
    """of the turn it names, if that can be read"""
    thread_id: str | None = None
    """the same"""
    turn_id: str | None = None
    """the same"""
    worker: str
    """who refused it"""
    at: float
    """when"""
    size: NonNegativeInt = 0
    """the refused value's length in bytes"""
