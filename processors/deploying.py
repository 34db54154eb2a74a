"""What each operation writes: pure, from the board as it is to the record that changes it.

Whether the code is there is not known here; that is for whoever asks the workers, and tries it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from processors.board import Board
from processors.declaration import CONTROLS, KINDS, Declaration
from processors.errors import DeploymentError
from topics.records import Deployment, ProcessorVersion, Promotion

#: How many earlier versions a choice remembers, for rollbacks.
HISTORY = 10


@dataclass(frozen=True)
class Signed:
    """Who does something, and when (epoch seconds)."""

    by: str
    at: float


def push(member: Declaration, code: str, config: dict[str, Any] | None, signed: Signed) -> ProcessorVersion:
    """Return the record of a version: `member` is what the code of version `code` makes of `config`."""
    if member.kind not in KINDS:
        raise DeploymentError(f"{member.ref} is no processor that could be deployed")
    return ProcessorVersion(
        kind=member.kind,
        name=member.name,
        version=member.version,
        code=code,
        digest=member.digest,
        config=config,
        by=signed.by,
        at=signed.at,
    )


def deploy(board: Board, version: ProcessorVersion, signed: Signed, **scope: Any) -> Deployment:
    """Return the choice of a pushed version; `scope` are the fields of `Deployment` that are set anew.

    Raises:
        DeploymentError: it would narrow a control that runs for everybody now.
    """
    before = board.choices.get(version.processor)
    if before is not None and version.kind in CONTROLS and scope.get("tenants") and before.active:
        lost = "everybody" if before.tenants is None else ", ".join(sorted(set(before.tenants) - set(scope["tenants"])))
        if before.version is not None and lost:
            raise DeploymentError(
                f"{version.processor}: it runs for {lost} now, and a control is taken from nobody this way: push it under "
                "another name for the tenant, or deactivate it for everybody"
            )
    kept = before.model_dump(include={"priority", "agents", "tenants", "on_failure", "shadow"}) if before else {}
    fields: dict[str, Any] = {
        **_of(version),
        **kept,
        **{name: value for name, value in scope.items() if value is not None},
    }
    return Deployment(
        kind=version.kind,
        name=version.name,
        **fields,
        previous=_earlier(before, version.version),
        by=signed.by,
        at=signed.at,
    )


def roll_back(board: Board, processor: str, signed: Signed) -> Deployment:
    """Return the choice of what was chosen before.

    Raises:
        DeploymentError: nothing was, or it has been deleted.
    """
    now = _chosen(board, processor)
    if not now.previous:
        raise DeploymentError(f"{processor}: no version was chosen before this one, so there is nothing to go back to")
    *earlier, wanted = now.previous
    if not wanted:
        return _changed(now, signed, version=None, code=None, digest=None, config=None, previous=tuple(earlier))
    return _changed(now, signed, **_of(pushed(board, processor, wanted)), active=True, previous=tuple(earlier))


def switch(board: Board, processor: str, signed: Signed, *, active: bool) -> Deployment:
    """Return the choice with the processor switched on or off."""
    before = board.choices.get(processor)
    if before is None:
        kind, _, name = processor.partition("/")
        return Deployment(kind=kind, name=name, active=active, by=signed.by, at=signed.at)  # type: ignore[arg-type]
    return _changed(before, signed, active=active)


def shadow(board: Board, version: ProcessorVersion, signed: Signed) -> Deployment:
    """Return the choice with `version` beside what runs.

    Raises:
        DeploymentError: it is no output processor: only these run in the shadow.
    """
    if version.kind != "output":
        raise DeploymentError(f"{version.processor}: only output processors run in the shadow of another version")
    before = board.choices.get(version.processor)
    if before is None:
        return Deployment(kind=version.kind, name=version.name, shadow=version.version, by=signed.by, at=signed.at)
    return _changed(before, signed, shadow=version.version)


def unshadow(board: Board, processor: str, signed: Signed) -> Deployment:
    """Return the choice without a version beside what runs."""
    return _changed(_chosen(board, processor), signed, shadow=None)


def withdraw(board: Board, processor: str, signed: Signed) -> Deployment:
    """Return the choice of nothing: what the `Deps` declares holds again, if it declares anything.

    Raises:
        DeploymentError: nothing is chosen.
    """
    now = _chosen(board, processor)
    return Deployment(kind=now.kind, name=now.name, previous=_earlier(now, None), by=signed.by, at=signed.at)


def promote(board: Board, chosen: Iterable[ProcessorVersion], signed: Signed) -> Promotion:
    """Return the choice of several versions at once; what was promoted before and still holds stays in it."""
    members = {name: board.choices[name] for name in board.promoted}
    for version in chosen:
        members[version.processor] = deploy(board, version, signed)
    return Promotion(members=tuple(members[name] for name in sorted(members)), by=signed.by, at=signed.at)


def check_unused(board: Board, version: ProcessorVersion) -> None:
    """Check that a version can be deleted.

    Raises:
        DeploymentError: it is chosen, or runs in the shadow.
    """
    choice = board.choices.get(version.processor)
    if choice is not None and version.version in (choice.version, choice.shadow):
        raise DeploymentError(f"{version.processor}@{version.version} is in use: deploy another version first")


def pushed(board: Board, processor: str, wanted: str) -> ProcessorVersion:
    """Return the version that was pushed as `wanted`, which may be the beginning of its digest too.

    Raises:
        DeploymentError: there is none, or more than one.
    """
    versions = board.versions_of(processor)
    found = [one for one in versions if one.version == wanted] or [
        one for one in versions if one.digest.startswith(wanted)
    ]
    if len(found) != 1:
        known = ", ".join(one.version for one in versions) or "none"
        raise DeploymentError(
            f"{processor}@{wanted}: {'no such version was' if not found else 'several versions were'} pushed (pushed: "
            f"{known}): run `turngate processors push {processor}@{wanted}` first"
        )
    return found[0]


def processor_called(board: Board, listed: Sequence[str], name: str) -> str:
    """Return the `kind/name` that `name` means: spelt out, or the only one of that name that is known.

    `listed` is what there is beside the board, as `kind/name@version#digest`.

    Raises:
        DeploymentError: there is none, or more than one.
    """
    known = {*board.choices, *(one.processor for one in board.versions.values())}
    known |= {ref.partition("#")[0].rpartition("@")[0] for ref in listed}
    found = sorted(one for one in known if name in (one, one.partition("/")[2]))
    if len(found) != 1:
        there = ", ".join(sorted(known)) or "none"
        hint = f"it could be {' or '.join(found)}: say which" if found else f"no such processor; there are: {there}"
        raise DeploymentError(f"{name}: {hint}")
    return found[0]


def _of(version: ProcessorVersion) -> dict[str, Any]:
    """Return the fields by which a choice says what is chosen."""
    return version.model_dump(include={"version", "code", "digest", "config"})


def _earlier(before: Deployment | None, now: str | None) -> tuple[str, ...]:
    if before is None:
        return ("",)
    if before.version == now:
        return before.previous
    return (*before.previous, before.version or "")[-HISTORY:]


def _chosen(board: Board, processor: str) -> Deployment:
    found = board.choices.get(processor)
    if found is None:
        raise DeploymentError(f"{processor}: nothing is deployed, so there is nothing to change")
    return found


def _changed(before: Deployment, signed: Signed, **changes: Any) -> Deployment:
    return before.model_copy(update={**changes, "by": signed.by, "at": signed.at})
