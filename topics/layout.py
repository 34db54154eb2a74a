"""How every topic must be laid out, and what is wrong with those that are not: pure, no broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, get_args

from topics.names import DAY_S, SINGLE, TOPICS, JournalRole, Names

if TYPE_CHECKING:
    from collections.abc import Iterable

#: The replication factor that leaves the choice to the broker's `default.replication.factor`.
BROKER_DEFAULT = -1
#: A journal's tombstones must outlive any reader that is replaying it, and its log must become compactable soon.
JOURNAL_DELETE_RETENTION_MS = 3_600_000
JOURNAL_SEGMENT_MS = 600_000
#: At the latest after so long the old values under tombstones are gone: else the cleaner may leave them for ever.
JOURNAL_COMPACTION_LAG_MS = DAY_S * 1000
#: From this many replicas on, one may be down and an acknowledged record is still on two.
_REPLICAS_FOR_QUORUM = 3


@dataclass(frozen=True, slots=True)
class TopicLayout:
    """How one topic must be: `configs` are Kafka's names and values, `cleanup.policy` among them.

    `binding` says that an operator has set how long it keeps records; otherwise what the broker has is fine.
    """

    name: str
    partitions: int
    configs: Mapping[str, str]
    binding: bool = False

    @property
    def cleanup(self) -> str:
        """Kafka's `cleanup.policy`."""
        return self.configs["cleanup.policy"]


@dataclass(frozen=True, slots=True)
class TopicState:
    """How one topic is: `configs` holds what the broker tells, possibly nothing; `own` names what the topic itself sets."""

    name: str
    partitions: int
    configs: Mapping[str, str] = field(default_factory=dict)
    own: frozenset[str] = frozenset()

    @property
    def cleanup(self) -> str | None:
        """Kafka's `cleanup.policy`, or None where the broker does not tell."""
        return self.configs.get("cleanup.policy")


FindingKind = Literal["missing", "partitions", "cleanup", "delete-retention", "retention", "compaction-lag"]
#: What is wrong, and does no harm to a pipeline that runs: `create` corrects it.
CORRECTABLE: Final[frozenset[FindingKind]] = frozenset({"retention", "compaction-lag"})
#: What each of these is about, and what it is on a topic whose configuration does not say.
_LIMITS: Final[Mapping[FindingKind, str]] = {"retention": "retention.ms", "compaction-lag": "max.compaction.lag.ms"}


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


def wanted_layout(
    names: Names,
    partitions: int,
    replication: int = BROKER_DEFAULT,
    retention_s: Mapping[str, int] = MappingProxyType({}),
) -> tuple[TopicLayout, ...]:
    """Return the layout of every topic of a pipeline with `partitions` partitions, the journals included.

    `retention_s` has, by short name, the seconds that topics keep their records if that is not as in the table of topics.

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
            kept_s = retention_s.get(topic.name, topic.retention_s)
            configs["retention.ms"] = str(kept_s * 1000)
            # Records go only with a whole segment, and a segment lasts a week unless told otherwise.
            configs["segment.ms"] = str(min(kept_s, DAY_S) * 1000)
        count = partitions if topic.per_turn else SINGLE
        layouts.append(TopicLayout(names.topic(topic), count, configs, topic.name in retention_s))
    for role in get_args(JournalRole):
        configs = {
            # Never `delete` as well: a journal that forgets by age forgets open turns.
            "cleanup.policy": "compact",
            "delete.retention.ms": str(JOURNAL_DELETE_RETENTION_MS),
            "segment.ms": str(JOURNAL_SEGMENT_MS),
            "max.compaction.lag.ms": str(JOURNAL_COMPACTION_LAG_MS),
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
        for kind, config in _LIMITS.items():
            limit, told = layout.configs.get(config), state.configs.get(config)
            if limit is None or told is None or told == limit:
                continue
            # Whoever has the cleaner come sooner has a reason.
            if layout.binding if kind == "retention" else int(told) > int(limit):
                found.append(Finding(layout.name, kind, f"{config}={told}", f"{config}={limit}"))
    return found


def _partitions(count: int) -> str:
    return f"{count} partition{'' if count == 1 else 's'}"


def _policies(value: str) -> set[str]:
    return {policy.strip() for policy in value.split(",")}
