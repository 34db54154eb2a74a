"""The chains that are in force: the operator's `Deps` with what is deployed on top of it. Pure.

`Deps` is the floor. A deployment chooses the version of what it lists, and adds to it. It never takes a control away, and
never narrows one: not for an agent, a channel or a tenant. A tenant may have more than the others, never less.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter
from typing import Any, cast

from processors.board import Choice, Plan
from processors.catalogue import Catalogue
from processors.declaration import CONTROLS, KINDS, LABELS, ON_FAILURE, Kind, OnFailure, Processor
from processors.deps import Deps
from processors.errors import DeclarationError, DeploymentError, DepsError
from processors.manifest import Manifest

_CHARS = 16


def effective(deps: Deps, catalogue: Catalogue, plan: Plan) -> Deps:
    """Return `deps` with `plan` on top of it.

    Raises:
        DeploymentError: something of the plan is not here, cannot be configured as it is, or may not be.
    """
    members = {kind: list(deps.chain(kind)) for kind in KINDS}
    added: dict[Kind, list[Processor]] = {kind: [] for kind in KINDS}
    for choice in plan.choices:
        check(choice, deps)
        _place(choice, catalogue, members, added)
    for kind in KINDS:
        # Controls of the floor keep their order, which may matter to it; what is deployed comes after them.
        members[kind] += sorted(added[kind], key=attrgetter("priority", "name"))
    if not plan.choices:
        return deps
    try:
        return deps.having({kind: tuple(chain) for kind, chain in members.items()})
    except DepsError as error:
        raise DeploymentError(str(error)) from error


def check(choice: Choice, deps: Deps) -> None:
    """Check that a choice takes nothing away that `deps` lists, and narrows no control.

    Raises:
        DeploymentError: it does.
    """
    called = f"{choice.kind}/{choice.name}"
    if choice.kind not in KINDS:
        raise DeploymentError(f"{called}: there is no such kind: {', '.join(KINDS)}")
    listed = any(member.name == choice.name for member in deps.chain(choice.kind))
    label = LABELS[choice.kind]
    if choice.kind not in CONTROLS:
        return
    if choice.agents is not None:
        raise DeploymentError(f"{called}: a control applies to every agent: a {label} cannot be scoped to agents")
    if choice.on_failure is not None:
        raise DeploymentError(f"{called}: the failure of a {label} always fails the turn: it takes no on_failure")
    if listed and choice.tenants is not None:
        raise DeploymentError(
            f"{called}: the Deps lists it for everybody: a tenant may add controls of other names, and remove none"
        )
    if listed and not choice.active:
        raise DeploymentError(
            f"{called}: the Deps lists it, so it stays active: choose another version, or change the Deps"
        )


def chain_id(manifest: Manifest) -> str:
    """Return what names the chains of `manifest`: the same for the same processors; "" where there are none."""
    if not manifest:
        return ""
    told: list[list[object]] = [[kind, *map(_told, manifest.chain(kind))] for kind in KINDS]
    told.append(["derivation", *map(_told, manifest.derivation)])
    told.append([manifest.window, manifest.gate_post_processed, manifest.carry_across_steps])
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:_CHARS]


def pins(manifest: Manifest) -> tuple[str, ...]:
    """Return every processor of the chains as `kind/name@version`, in the order in which a turn meets them."""
    return tuple(member.ref for member in manifest.everything)


def unpinned(chain: Iterable[str]) -> tuple[Choice, ...]:
    """Return the choices that `pins` speak of, as far as they can be read; no configuration is in them."""
    found = []
    for ref in chain:
        kind, _, rest = ref.partition("/")
        name, _, version = rest.rpartition("@")
        if kind in KINDS and name:
            found.append(Choice(kind, name, version, code=version.partition("+")[0]))
    return tuple(found)


def _place(
    choice: Choice, catalogue: Catalogue, members: dict[Kind, list[Processor]], added: dict[Kind, list[Processor]]
) -> None:
    kind = cast("Kind", choice.kind)
    chain = members.get(kind, [])
    at = next((place for place, member in enumerate(chain) if member.name == choice.name), None)
    if not choice.active:
        if at is not None:
            del chain[at]
        return
    if choice.version is None:
        if at is not None:
            chain[at] = _adjusted(chain[at], choice)
        return
    processor = _adjusted(build(choice, catalogue), choice)
    if at is None:
        added[kind].append(processor)
    else:
        chain[at] = processor


def build(choice: Choice, catalogue: Catalogue) -> Processor:
    """Return the processor that a choice of a version speaks of.

    Raises:
        DeploymentError: the code is not in this image, or is other code than was pushed, or the configuration is wrong.
    """
    version = choice.version or ""
    called = f"{choice.kind}/{choice.name}@{version}"
    code = catalogue.find(choice.kind, choice.name, choice.code or version)
    if code is None:
        raise DeploymentError(
            f"{called}: its code is not here: start workers from an image that has it, or deploy another version"
        )
    config: Any = json.loads(choice.config) if choice.config is not None else None
    processor = code.build(config)
    if choice.digest is not None and processor.digest != choice.digest:
        raise DeploymentError(
            f"{called}: the code here is not the code that was pushed: give changed code a new version, and push that"
        )
    return processor


def _adjusted(processor: Processor, choice: Choice) -> Processor:
    try:
        return replace(
            processor,
            priority=processor.priority if choice.priority is None else choice.priority,
            agents=processor.agents if choice.agents is None else choice.agents,
            on_failure=_stricter(processor.on_failure, choice.on_failure),
        )
    except DeclarationError as error:
        raise DeploymentError(str(error)) from error


def _stricter(declared: OnFailure, wanted: str | None) -> OnFailure:
    """Return the stricter of two: a deployment tightens, and loosens nothing."""
    order: tuple[OnFailure, ...] = ("skip", "block", "fail")
    if wanted not in ON_FAILURE:
        return declared
    return max(declared, wanted, key=order.index)


def _told(member: Any) -> list[object]:
    lookback = member.incremental.lookback_chars if member.incremental is not None else None
    return [
        member.ref,
        member.digest,
        member.is_async,
        member.timeout_s,
        member.priority,
        member.on_failure,
        lookback,
        member.agents,
        member.scans,
        member.linear_time,
        member.recent_turns_s,
    ]
