"""What each role may do on a cluster that asks for permissions: as much as it needs, and no more.

Who writes a topic stands in the table of topics; who reads it, here. The rules that matter most follow from the two:
`released` is written by turn workers alone, and readers see nothing else.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from topics.names import (
    AUDIT,
    CANCELS,
    DEAD_LETTERS,
    DECISIONS,
    DEPLOYMENTS,
    ERASURES,
    FRAMES,
    PROMPTS,
    RELEASED_FRAMES,
    REQUESTS,
    TOOL_CALLS,
    TOOL_RESULTS,
    TOPICS,
    USAGE,
    WORKERS,
    JournalRole,
    Names,
    Topic,
    Writer,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

AclRole = Literal["turns", "models", "tools", "callers", "gateway", "readers", "operator"]
ACL_ROLES: Final[tuple[AclRole, ...]] = get_args(AclRole)

#: As `kafka-acls` writes them. Who may read or write a topic may describe it too.
Operation = Literal["Read", "Write", "Create", "Describe", "DescribeConfigs", "Alter", "AlterConfigs"]
Resource = Literal["topic", "group", "cluster"]

#: The writers of the table of topics that each role stands for.
WRITES_AS: Mapping[AclRole, tuple[Writer, ...]] = {
    "turns": ("turn worker", "any worker"),
    "models": ("model runner", "any worker"),
    "tools": ("tool runner", "any worker"),
    "callers": ("callers",),
    "gateway": ("callers",),
    "readers": (),
    "operator": ("operator",),
}
#: What each role reads. Turn workers read `released` to repeat a terminal frame, and `usage` for budgets; callers follow the
#: turns they submit, and the gateway also tells what became of them.
READS: Mapping[AclRole, tuple[Topic, ...]] = {
    "turns": (REQUESTS, FRAMES, TOOL_RESULTS, RELEASED_FRAMES, USAGE, DEPLOYMENTS, ERASURES),
    "models": (PROMPTS, CANCELS, ERASURES),
    "tools": (TOOL_CALLS, CANCELS, ERASURES),
    "callers": (RELEASED_FRAMES,),
    "gateway": (RELEASED_FRAMES, USAGE, DECISIONS),
    "readers": (RELEASED_FRAMES,),
    "operator": (USAGE, DECISIONS, DEPLOYMENTS, AUDIT, ERASURES, WORKERS, DEAD_LETTERS),
}
_JOURNALS: Mapping[AclRole, JournalRole] = {"turns": "turns", "models": "models", "tools": "tools"}
#: What `turngate dead-letters` looks at and sends again, on top of all else, for an operator who is to do that.
REPLAYED: tuple[Topic, ...] = (REQUESTS, PROMPTS, FRAMES, CANCELS, TOOL_CALLS, TOOL_RESULTS)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a role may do with one topic, group or the cluster, all of them literal names."""

    role: AclRole
    resource: Resource
    name: str
    operations: tuple[Operation, ...]

    def command(self, bootstrap: str, principal: str) -> str:
        """Return the `kafka-acls` command that grants it to `principal`, such as `User:readers`."""
        place = ["--cluster"] if self.resource == "cluster" else [f"--{self.resource}", self.name]
        operations = [word for one in self.operations for word in ("--operation", one)]
        words = ["--bootstrap-server", bootstrap, "--add", "--allow-principal", principal, *operations, *place]
        return shlex.join(["kafka-acls.sh", *words])


def grants(role: AclRole, names: Names, *, replays: bool = True) -> Sequence[Grant]:
    """Return all that `role` needs in the pipeline that `names` describes, topics in the order of the table.

    Without `replays` an operator can look at dead letters and cannot send their records again, nor see them.
    """
    return tuple(_grants(role, names, replays=replays))


def _grants(role: AclRole, names: Names, *, replays: bool) -> Iterator[Grant]:
    journal = _JOURNALS.get(role)
    for topic in TOPICS:
        operations = _operations(role, topic, replays=replays)
        if operations:
            yield Grant(role, "topic", names.topic(topic), operations)
    for one in _JOURNALS.values():
        if one == journal:
            yield Grant(role, "topic", names.journal(one), ("Read", "Write"))
        elif role == "operator":
            yield Grant(role, "topic", names.journal(one), _LAYS_OUT)
        elif journal is not None:
            yield Grant(role, "topic", names.journal(one), ("Describe",))
    if journal is not None:
        yield Grant(role, "group", names.group(journal), ("Read",))


#: To create, check and correct topics. A worker looks whether all are there before it starts, and need not see how they
#: are set.
_LAYS_OUT: Final[tuple[Operation, ...]] = ("Create", "Describe", "DescribeConfigs", "AlterConfigs")


def _operations(role: AclRole, topic: Topic, *, replays: bool) -> tuple[Operation, ...]:
    operations: list[Operation] = []
    replayed = role == "operator" and replays and topic in REPLAYED
    if topic in READS[role] or replayed:
        operations.append("Read")
    if set(topic.writers) & set(WRITES_AS[role]) or replayed:
        operations.append("Write")
    if role == "operator":
        operations += _LAYS_OUT
    elif not operations and role in _JOURNALS:
        operations.append("Describe")
    return tuple(operations)
