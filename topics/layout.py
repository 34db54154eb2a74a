"""How every topic must be laid out, and what is wrong with those that are not: pure, no broker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from topics.names import DAY_S, SINGLE, TOPICS, JournalRole, Names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: The replication factor that leaves the choice to the broker's `default.replication.factor`.
BROKER_DEFAULT = -1
#: A journal's tombstones must outlive any reader that is replaying it, and its log must become compactable soon.
JOURNAL_DELETE_RETENTION_MS = 3_600_000
JOURNAL_SEGMENT_MS = 600_000
#: From this many replicas on, one may be down and an acknowledged record is still on two.
_REPLICAS_FOR_QUORUM = 3


@dataclass(frozen=True, slots=True)
class TopicLayout:
    """How one topic must be: `configs` are Kafka's names and values, `cleanup.policy` among them."""

    name: str
    partitions: int
    configs: Mapping[str, str]

    @property
    def cleanup(self) -> str:
        """Kafka's `cleanup.policy`."""
        return self.configs["cleanup.policy"]


@dataclass(frozen=True, slots=True)
class TopicState:
    """How one topic is: `configs` holds what the broker tells, possibly nothing."""

    name: str
    partitions: int
    configs: Mapping[str, str] = field(default_factory=dict)

    @property
    def cleanup(self) -> str | None:
        """Kafka's `cleanup.policy`, or None where the broker does not tell."""
        return self.configs.get("cleanup.policy")


FindingKind = Literal["missing", "partitions", "cleanup", "delete-retention"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with one topic: what it `is` and what is `wanted`, in words fit to print."""

    topic: str
    kind: FindingKind
    is_: str
    wanted: str

    def __str__(self) -> str:
        if self.kind == "missing":
            return f"{self.topic}: is missing, wanted {self.wanted}"
        return f"{self.topic}: has {self.is_}, wanted {self.wanted}"


def wanted_layout(names: Names, partitions: int, replication: int = BROKER_DEFAULT) -> tuple[TopicLayout, ...]:
    """Return the layout of every topic of a pipeline with `partitions` partitions, the journals included.

    Raises:
        ValueError: `partitions` is not positive, or `replication` neither positive nor `BROKER_DEFAULT`.
    """
    if partitions < 1:
        raise ValueError(f"partitions must be at least 1, not {partitions}")
    if replication < 1 and replication != BROKER_DEFAULT:
        raise ValueError(f"replication must be at least 1, or {BROKER_DEFAULT} for the broker's default: {replication}")
    common = {"min.insync.replicas": "2"} if replication >= _REPLICAS_FOR_QUORUM else {}
    layouts = []
    for topic in TOPICS:
        configs = {"cleanup.policy": topic.cleanup, **common}
        if topic.retention_s is not None:
            configs["retention.ms"] = str(topic.retention_s * 1000)
            # Records go only with a whole segment, and a segment lasts a week unless told otherwise.
            configs["segment.ms"] = str(min(topic.retention_s, DAY_S) * 1000)
        layouts.append(TopicLayout(names.topic(topic), partitions if topic.per_turn else SINGLE, configs))
    for role in get_args(JournalRole):
        configs = {
            # Never `delete` as well: a journal that forgets by age forgets open turns.
            "cleanup.policy": "compact",
            "delete.retention.ms": str(JOURNAL_DELETE_RETENTION_MS),
            "segment.ms": str(JOURNAL_SEGMENT_MS),
            **common,
        }
        layouts.append(TopicLayout(names.journal(role), partitions, configs))
    return tuple(layouts)


def findings(wanted: Iterable[TopicLayout], existing: Mapping[str, TopicState]) -> list[Finding]:
    """Return what differs between `wanted` and `existing` (by name); a config that the broker does not tell is fine."""
    found: list[Finding] = []
    for layout in wanted:
        state = existing.get(layout.name)
        if state is None:
            wish = f"{_partitions(layout.partitions)} and cleanup.policy={layout.cleanup}"
            found.append(Finding(layout.name, "missing", "nothing", wish))
            continue
        if state.partitions != layout.partitions:
            is_ = _partitions(state.partitions)
            found.append(Finding(layout.name, "partitions", is_, _partitions(layout.partitions)))
        if state.cleanup is not None and _policies(state.cleanup) != _policies(layout.cleanup):
            is_, wish = f"cleanup.policy={state.cleanup}", f"cleanup.policy={layout.cleanup}"
            found.append(Finding(layout.name, "cleanup", is_, wish))
        least = layout.configs.get("delete.retention.ms")
        kept = state.configs.get("delete.retention.ms")
        if least is not None and kept is not None and int(kept) < int(least):
            is_, wish = f"delete.retention.ms={kept}", f"at least {least}"
            found.append(Finding(layout.name, "delete-retention", is_, wish))
    return found


def _partitions(count: int) -> str:
    return f"{count} partition{'' if count == 1 else 's'}"


def _policies(value: str) -> set[str]:
    return {policy.strip() for policy in value.split(",")}
