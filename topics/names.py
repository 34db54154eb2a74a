"""The table of topics: what each carries, how it is kept, who writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Discriminator, Tag, TypeAdapter

from topics import records

if TYPE_CHECKING:
    from collections.abc import Mapping

DAY_S = 86_400
DEFAULT_PREFIX = "turngate."
#: Partitions of `deployments`, `audit` and `workers`: each is read as a whole, in order.
SINGLE = 1


def _request_type(value: object) -> str:
    kind = value.get("type", "turn") if isinstance(value, dict) else getattr(value, "type", "turn")
    return kind if isinstance(kind, str) else ""


def _erasure_type(value: object) -> str:
    kind = value.get("type", "erase") if isinstance(value, dict) else getattr(value, "type", "erase")
    return kind if isinstance(kind, str) else ""


def _deployment_type(value: object) -> str:
    kind = value.get("type", "deployment") if isinstance(value, dict) else getattr(value, "type", "deployment")
    return kind if isinstance(kind, str) else ""


#: What `requests` carries: a record without a `type` is a turn.
Request = Annotated[
    Annotated[records.TurnRequest, Tag("turn")] | Annotated[records.CancelTurn, Tag("cancel")],
    Discriminator(_request_type),
]

#: What `erasures` carries: a record without a `type` is an operator's wish.
ErasureShape = Annotated[
    Annotated[records.Erase, Tag("erase")] | Annotated[records.Erased, Tag("erased")],
    Discriminator(_erasure_type),
]

#: What `deployments` carries: a record without a `type` is a deployment.
DeploymentShape = Annotated[
    Annotated[records.ProcessorVersion, Tag("version")]
    | Annotated[records.Deployment, Tag("deployment")]
    | Annotated[records.Promotion, Tag("promotion")],
    Discriminator(_deployment_type),
]

REQUEST: TypeAdapter[records.TurnRequest | records.CancelTurn] = TypeAdapter(Request)
RELEASED: TypeAdapter[records.ReleasedFrame] = TypeAdapter(records.ReleasedFrame)
MODEL_FRAME: TypeAdapter[records.ModelFrame] = TypeAdapter(records.ModelFrame)
PROMPT_REQUEST: TypeAdapter[records.PromptRequest] = TypeAdapter(records.PromptRequest)
TOOL_CALL: TypeAdapter[records.ToolCallRequest] = TypeAdapter(records.ToolCallRequest)
TOOL_RESULT: TypeAdapter[records.ToolResult] = TypeAdapter(records.ToolResult)
CANCEL_CALL: TypeAdapter[records.CancelCall] = TypeAdapter(records.CancelCall)
DEAD_LETTER: TypeAdapter[records.DeadLetter] = TypeAdapter(records.DeadLetter)

Writer = Literal["callers", "turn worker", "model runner", "tool runner", "operator", "any worker"]
#: What the key of a topic's records names: `tenant/thread_id`; a processor, as `kind/name` or with more (`docs/wire.md`);
#: a worker by its name; the record's own `id`.
KeyKind = Literal["thread", "processor", "name", "id"]


@dataclass(frozen=True, slots=True)
class Topic:
    """One row of the table.

    `shape` checks the topic's records; `per_turn` topics have the pipeline's partition count, others have one partition;
    `retention_s` is in seconds, None where the topic is compacted; a `sensitive` topic holds text that no control has
    passed, and readers must be denied it; `key` is what its records are keyed by.
    """

    name: str
    shape: TypeAdapter[Any]
    writers: tuple[Writer, ...]
    retention_s: int | None
    per_turn: bool = True
    sensitive: bool = True
    key: KeyKind = "thread"

    @property
    def cleanup(self) -> Literal["delete", "compact"]:
        """Kafka's `cleanup.policy` for this topic."""
        return "compact" if self.retention_s is None else "delete"


REQUESTS = Topic("requests", REQUEST, ("callers",), 7 * DAY_S)
PROMPTS = Topic("prompts", PROMPT_REQUEST, ("turn worker",), DAY_S)
FRAMES = Topic("frames", MODEL_FRAME, ("model runner",), DAY_S)
CANCELS = Topic("cancels", CANCEL_CALL, ("turn worker",), DAY_S)
TOOL_CALLS = Topic("tool-calls", TOOL_CALL, ("turn worker",), DAY_S)
TOOL_RESULTS = Topic("tool-results", TOOL_RESULT, ("tool runner",), DAY_S)
RELEASED_FRAMES = Topic("released", RELEASED, ("turn worker",), 7 * DAY_S, sensitive=False)
USAGE = Topic("usage", TypeAdapter(records.UsageRecord), ("turn worker",), 30 * DAY_S, sensitive=False)
DECISIONS = Topic("decisions", TypeAdapter(records.Decision), ("turn worker",), 400 * DAY_S, sensitive=False)
DEPLOYMENT: TypeAdapter[records.DeploymentRecord] = TypeAdapter(DeploymentShape)
DEPLOYMENTS = Topic("deployments", DEPLOYMENT, ("operator",), None, per_turn=False, sensitive=False, key="processor")
AUDIT = Topic(
    "audit",
    TypeAdapter(records.AuditRecord),
    ("operator",),
    400 * DAY_S,
    per_turn=False,
    sensitive=False,
    key="processor",
)
ERASURE: TypeAdapter[records.Erase | records.Erased] = TypeAdapter(ErasureShape)
ERASED: TypeAdapter[records.Erased] = TypeAdapter(records.Erased)
ERASURES = Topic("erasures", ERASURE, ("operator", "turn worker", "model runner", "tool runner"), 7 * DAY_S, key="id")
WORKERS = Topic(
    "workers", TypeAdapter(records.WorkerStatus), ("any worker",), None, per_turn=False, sensitive=False, key="name"
)
DEAD_LETTERS = Topic("dead-letters", DEAD_LETTER, ("any worker",), 14 * DAY_S, key="id")

TOPICS: tuple[Topic, ...] = (
    REQUESTS,
    PROMPTS,
    FRAMES,
    CANCELS,
    TOOL_CALLS,
    TOOL_RESULTS,
    RELEASED_FRAMES,
    USAGE,
    DECISIONS,
    DEPLOYMENTS,
    AUDIT,
    ERASURES,
    WORKERS,
    DEAD_LETTERS,
)
BY_NAME: Mapping[str, Topic] = {topic.name: topic for topic in TOPICS}

#: What the name of a journal's topic ends with.
JOURNAL_SUFFIX = "-journal-changelog"
#: What the full names of topics end with, under whatever prefix: of those that anybody may read, and of the others.
OPEN_NAMES = tuple(topic.name for topic in TOPICS if not topic.sensitive)
SENSITIVE_NAMES = (*(topic.name for topic in TOPICS if topic.sensitive), JOURNAL_SUFFIX)

#: Roles that keep a journal; each journal is the changelog topic of a Faust table, partitioned like the turn topics.
JournalRole = Literal["turns", "models", "tools"]


@dataclass(frozen=True, slots=True)
class Names:
    """Names of topics and groups under one `prefix`, so that several pipelines can share a broker."""

    prefix: str = DEFAULT_PREFIX

    def topic(self, topic: Topic) -> str:
        """Return the full name of `topic`."""
        return self.prefix + topic.name

    def group(self, role: JournalRole) -> str:
        """Return the consumer group of the workers of `role`; also the Faust app's id."""
        return f"{self.prefix}{role}"

    def journal(self, role: JournalRole) -> str:
        """Return the topic that the journal of `role` is kept in: the name Faust gives to the table's changelog."""
        return self.group(role) + JOURNAL_SUFFIX

    def short(self, full_name: str) -> str:
        """Return the name of a topic without the prefix."""
        return full_name.removeprefix(self.prefix)
