"""What records on `deployments` add up to, what may be deployed, and the chains that follow."""

from __future__ import annotations

from typing import Any

import pytest

from processors import (
    Answer,
    DeploymentError,
    Deps,
    IncomingMessage,
    Pass,
    Proceed,
    output_processor,
    pre_processor,
)
from processors import deploying as acts
from processors.board import Board, Plan, key_of, plan_of, shadow_plan
from processors.catalogue import Catalogue, Code
from processors.declare import as_processor
from processors.deploying import Signed
from processors.effective import chain_id, effective, pins, unpinned
from topics.records import Deployment, DeploymentRecord, ProcessorVersion

NOW = Signed("ann", 1.0)


def control(name: str, version: str) -> Any:
    """Return an output processor."""

    @output_processor(name, version=version)
    def judge(_answer: Answer) -> Pass:
        return Pass()

    return judge


@pre_processor("greet", version="1")
def greet(_incoming: IncomingMessage) -> Proceed:
    """Let it go on."""
    return Proceed()


DEPS = Deps(output_processors=[control("a", "1"), control("b", "1")], pre_processors=[greet], required_controls=["a"])
CODES = Catalogue(
    [
        *(
            Code("here", processor=as_processor(control(name, version), "output"))
            for name in "abc"
            for version in "123"
        ),
        Code("here", processor=as_processor(greet, "pre")),
    ]
)


def version(name: str, number: str, kind: str = "output") -> ProcessorVersion:
    """Return a pushed version of what is in the catalogue."""
    code = CODES.find(kind, name, number)
    assert code is not None
    assert code.processor is not None
    return acts.push(code.processor, number, None, NOW)


def board(*records: DeploymentRecord) -> Board:
    """Return the board after records."""
    made = Board()
    for offset, record in enumerate(records):
        made = made.after(key_of(record), record, offset)
    return made


def chain(made: Board, tenant: str | None = None) -> list[str]:
    """Return the output chain that is in force."""
    deps = effective(DEPS, CODES, plan_of(made.choices.values(), tenant))
    return [member.ref.partition("/")[2] for member in deps.output_processors]


def test_a_deployment_chooses_a_version_in_its_place_and_adds_after_the_others() -> None:
    """The order of the floor's controls stays, which may matter to it."""
    made = board(acts.deploy(Board(), version("a", "2"), NOW), acts.deploy(Board(), version("c", "1"), NOW))
    assert chain(made) == ["a@2", "b@1", "c@1"]
    assert chain(Board()) == ["a@1", "b@1"]


def test_a_rollback_goes_back_step_by_step_to_what_is_declared() -> None:
    """And no further."""
    made = board(version("a", "2"), version("a", "3"))
    for number in ("2", "3"):
        made = made.after("output/a", acts.deploy(made, version("a", number), NOW), 9)
    chains = [chain(made)[0]]
    for _ in range(2):
        made = made.after("output/a", acts.roll_back(made, "output/a", NOW), 10)
        chains.append(chain(made)[0])
    assert chains == ["a@3", "a@2", "a@1"]
    with pytest.raises(DeploymentError, match="nothing to go back to"):
        acts.roll_back(made, "output/a", NOW)


def test_a_promotion_counts_as_its_members_and_keeps_those_of_the_one_before() -> None:
    """Its one record is all that compaction leaves."""
    first = acts.promote(Board(), [version("a", "2"), version("b", "2")], NOW)
    made = board(first)
    second = acts.promote(made, [version("b", "3")], NOW)
    assert chain(board(second)) == ["a@2", "b@3"]
    later = board(first, acts.deploy(made, version("a", "3"), NOW))
    assert [one.name for one in acts.promote(later, [version("c", "1")], NOW).members] == ["b", "c"]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"name": "a", "active": False}, "stays active"),
        ({"name": "b", "tenants": ("acme",), "version": "2"}, "may add controls of other names"),
        ({"name": "c", "agents": ("clerk",), "version": "1"}, "cannot be scoped"),
        ({"name": "c", "on_failure": "skip", "version": "1"}, "always fails the turn"),
        ({"name": "c", "version": "9"}, "its code is not here"),
        ({"name": "c", "version": "1", "digest": "other"}, "not the code that was pushed"),
        ({"name": "c", "version": "1", "config": {"x": 1}}, "takes no config"),
    ],
)
def test_what_would_take_a_control_away_or_cannot_run_is_refused(choice: dict[str, Any], message: str) -> None:
    """Whoever wrote it: workers check it as commands do."""
    with pytest.raises(DeploymentError, match=message):
        chain(board(Deployment(kind="output", by="x", at=0, **choice)), "acme")


def test_others_than_controls_may_be_switched_off_and_scoped() -> None:
    """Never more leniently than declared."""
    off = board(acts.switch(Board(), "pre/greet", NOW, active=False))
    assert effective(DEPS, CODES, plan_of(off.choices.values())).pre_processors == ()
    scoped = acts.deploy(Board(), version("greet", "1", "pre"), NOW, agents=("clerk",), on_failure="fail")
    (member,) = effective(DEPS, CODES, plan_of([scoped])).pre_processors
    assert (member.agents, member.on_failure) == (("clerk",), "fail")


def test_a_tenant_has_what_all_have_and_its_own() -> None:
    """Others do not have that."""
    made = board(acts.deploy(Board(), version("c", "1"), NOW, tenants=("acme",)))
    assert chain(made, "acme") == ["a@1", "b@1", "c@1"]
    assert chain(made, "other") == chain(made) == ["a@1", "b@1"]
    assert made.tenants == ("acme",)


def test_a_control_of_everybody_is_not_narrowed_to_a_tenant() -> None:
    """That would take it from the others."""
    made = board(acts.deploy(Board(), version("c", "1"), NOW))
    with pytest.raises(DeploymentError, match="runs for everybody"):
        acts.deploy(made, version("c", "2"), NOW, tenants=("acme",))


def test_a_shadow_changes_nothing_and_stands_in_the_shadow_plan() -> None:
    """In the place of what it runs beside; with none there is no plan."""
    made = board(version("a", "2"), acts.shadow(Board(), version("a", "2"), NOW))
    assert chain(made) == ["a@1", "b@1"]
    plan = shadow_plan(made)
    assert plan is not None
    assert [member.ref for member in effective(DEPS, CODES, plan).output_processors] == ["output/a@2", "output/b@1"]
    assert shadow_plan(made.after("output/a", acts.unshadow(made, "output/a", NOW), 5)) is None


def test_a_version_in_use_is_not_deleted() -> None:
    """Whoever starts later would not find it."""
    made = board(version("a", "2"), acts.deploy(Board(), version("a", "2"), NOW))
    with pytest.raises(DeploymentError, match="in use"):
        acts.check_unused(made, version("a", "2"))
    acts.check_unused(made, version("a", "3"))
    assert made.after("output/a@2", None, 7).versions == {}


def test_versions_are_found_by_name_or_digest() -> None:
    """And names by what says enough."""
    made = board(version("a", "2"))
    digest = made.versions["output/a@2"].digest
    assert acts.pushed(made, "output/a", digest[:6]).version == "2"
    with pytest.raises(DeploymentError, match="processors push"):
        acts.pushed(made, "output/a", "7")
    assert acts.processor_called(made, ["pre/greet@1#x"], "greet") == "pre/greet"
    with pytest.raises(DeploymentError, match="no such processor"):
        acts.processor_called(made, [], "zzz")
    with pytest.raises(DeploymentError, match="say which"):
        acts.processor_called(made, ["pre/a@1#x"], "a")


def test_chains_have_the_same_name_where_the_same_runs() -> None:
    """A turn that pinned them finds them again, also where another Deps lists the old version elsewhere."""
    made = effective(DEPS, CODES, plan_of([acts.deploy(Board(), version("a", "2"), NOW)]))
    assert chain_id(made.manifest) != chain_id(DEPS.manifest)
    again = effective(DEPS, CODES, Plan(unpinned(pins(made.manifest))))
    assert chain_id(again.manifest) == chain_id(made.manifest)
    newer = Deps(output_processors=[control("a", "3"), control("b", "1")], pre_processors=[greet])
    revived = effective(newer, CODES, Plan(unpinned(pins(DEPS.manifest))))
    assert chain_id(revived.manifest) == chain_id(DEPS.manifest)
    assert chain_id(Deps().manifest) == ""
