"""What the records of `deployments` add up to: which versions there are, and which of them is chosen. Pure.

A choice counts until a later one of the same processor: those of a promotion as if each stood by itself. For a tenant the
choices that name it are added to those for everybody.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from topics.records import Deployment, DeploymentRecord, ProcessorVersion, Promotion

#: The key of the one record that holds what was promoted.
PROMOTION_KEY = "promotion"


def key_of(record: DeploymentRecord) -> str:
    """Return the key that a record is written under, so that compaction keeps what still counts."""
    match record:
        case ProcessorVersion():
            return f"{record.processor}@{record.version}"
        case Deployment():
            return record.processor
        case Promotion():
            return PROMOTION_KEY


@dataclass(frozen=True)
class Plan:
    """The choices that hold for a tenant, or for everybody. Can be sent to another process, and be a key.

    Where they stand `alone`, nothing that the `Deps` lists runs beside them: to try them out.
    """

    choices: tuple[Choice, ...] = ()
    alone: bool = False


@dataclass(frozen=True)
class Choice:
    """One processor's chosen version; None is what the `Deps` declares. What is None of the rest is not changed.

    `config` is JSON, so that plans can be compared.
    """

    kind: str
    name: str
    version: str | None
    code: str | None = None
    digest: str | None = None
    config: str | None = None
    active: bool = True
    priority: float | None = None
    agents: tuple[str, ...] | None = None
    on_failure: str | None = None
    tenants: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Board:
    """Everything that is deployed. `versions` by `kind/name@version`, `choices` by `kind/name`.

    `promoted` are the processors whose choice is from the last promotion, `offset` is that of the last record that was
    folded in, -1 before the first.
    """

    versions: Mapping[str, ProcessorVersion] = field(default_factory=dict)
    choices: Mapping[str, Deployment] = field(default_factory=dict)
    promoted: tuple[str, ...] = ()
    offset: int = -1

    def after(self, key: str, record: DeploymentRecord | None, offset: int) -> Board:
        """Return the board with the record at `offset`; None deletes what was under `key`."""
        match record:
            case ProcessorVersion():
                return replace(self, versions={**self.versions, key_of(record): record}, offset=offset)
            case Deployment():
                others = tuple(one for one in self.promoted if one != record.processor)
                choices = {**self.choices, record.processor: record}
                return replace(self, choices=choices, promoted=others, offset=offset)
            case Promotion():
                chosen = {member.processor: member for member in record.members}
                return replace(self, choices={**self.choices, **chosen}, promoted=tuple(chosen), offset=offset)
            case None:
                versions = {known: one for known, one in self.versions.items() if known != key}
                return replace(self, versions=versions, offset=offset)

    @property
    def tenants(self) -> tuple[str, ...]:
        """The tenants that have something of their own."""
        return tuple(sorted({tenant for one in self.choices.values() for tenant in one.tenants or ()}))

    def versions_of(self, processor: str) -> list[ProcessorVersion]:
        """Return the versions that were pushed of `kind/name`, the oldest first."""
        return sorted((one for one in self.versions.values() if one.processor == processor), key=lambda one: one.at)


def choice_of(deployment: Deployment) -> Choice:
    """Return a deployment's choice, without who made it and when."""
    return Choice(
        kind=deployment.kind,
        name=deployment.name,
        version=deployment.version,
        code=deployment.code,
        digest=deployment.digest,
        config=spelt(deployment.config),
        active=deployment.active,
        priority=deployment.priority,
        agents=deployment.agents,
        on_failure=deployment.on_failure,
        tenants=deployment.tenants,
    )


def plan_of(deployments: Iterable[Deployment], tenant: str | None = None) -> Plan:
    """Return the plan for `tenant`; None: for those that have nothing of their own."""
    holding = [one for one in deployments if one.tenants is None or (tenant is not None and tenant in one.tenants)]
    return Plan(tuple(choice_of(one) for one in sorted(holding, key=lambda one: one.processor)))


def shadow_plan(board: Board) -> Plan | None:
    """Return the plan in which every shadow stands in the place of what it runs beside; None if there is none."""
    shadowed: list[Deployment] = []
    for one in board.choices.values():
        beside = board.versions.get(f"{one.processor}@{one.shadow}") if one.shadow is not None else None
        if beside is not None and one.tenants is None:
            known = {"version": beside.version, "code": beside.code, "digest": beside.digest, "config": beside.config}
            shadowed.append(one.model_copy(update={**known, "active": True}))
    if not shadowed:
        return None
    kept = {one.processor: one for one in board.choices.values()} | {one.processor: one for one in shadowed}
    return plan_of(kept.values())


def spelt(config: Mapping[str, object] | None) -> str | None:
    """Return a configuration as JSON, the same whatever the order of its fields."""
    return None if config is None else json.dumps(config, sort_keys=True)
