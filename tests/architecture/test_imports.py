"""Who may import what: the layers, and the few places where the world outside is touched."""

from __future__ import annotations

import pytest

from tests.architecture.sources import PACKAGES, Module, importers, modules

#: What a module without clock, randomness, environment or I/O does not import.
IMPURE = frozenset(
    {"asyncio", "time", "random", "secrets", "uuid", "os", "socket", "threading", "subprocess", "signal", "datetime"}
)
PURE_PROCESSORS = {
    f"processors.{name}"
    for name in (
        "agents",
        "budgets",
        "chain",
        "contracts",
        "declaration",
        "history",
        "manifest",
        "message_chains",
        "outcomes",
        "policy",
        "scanner",
        "verdicts",
    )
}
#: What decides whether a provider is called, and by which clock it does is its caller's business.
PURE_MODELS = {f"streams.models.{name}" for name in ("asked", "breaker", "budget", "guard")}


def within(package: str) -> list[Module]:
    """Return the modules of a package."""
    return [module for module in modules() if module.name == package or module.name.startswith(f"{package}.")]


def ours(module: Module) -> set[str]:
    """Return what a module imports of this project."""
    return {name for name in module.imports if name.partition(".")[0] in PACKAGES}


def test_the_modules_are_found() -> None:
    """Rules about no modules would always hold."""
    assert len(modules()) > 80
    assert {"topics.codec", "processors.chain", "streams.gate.machine"} <= {module.name for module in modules()}


@pytest.mark.parametrize(
    ("library", "package"),
    [
        ("faust", "streams.faust_shell"),
        ("prometheus_client", "streams.metrics"),
        ("pydantic_settings", "streams.settings"),
        ("openai", "streams.models"),
        ("opentelemetry", "streams.tracing.otel"),
        ("typer", "streams.cli"),
    ],
)
def test_a_library_is_wired_in_one_place(library: str, package: str) -> None:
    """Whoever changes a library changes one package."""
    found = importers(library)
    assert found, f"nobody imports {library}: drop the rule or the dependency"
    assert {name for name in found if name != package and not name.startswith(f"{package}.")} == set()


def test_the_environment_is_read_in_one_module() -> None:
    """Everybody else is told."""
    readers = {
        module.name
        for module in modules()
        if module.attributes("os") & {"environ", "getenv", "environb", "putenv"}
        or module.imports & {"os.environ", "os.getenv"}
    }
    assert readers == {"streams.settings"}


@pytest.mark.parametrize("module", within("streams.gate"), ids=lambda module: module.name)
def test_the_gate_is_pure(module: Module) -> None:
    """No clock, no randomness, no I/O: whole text in, decisions out."""
    assert {name.partition(".")[0] for name in module.imports} & IMPURE == set()


@pytest.mark.parametrize(
    "module", [module for module in modules() if module.name in PURE_PROCESSORS], ids=lambda module: module.name
)
def test_contracts_and_chains_are_pure(module: Module) -> None:
    """What processors are, and how they follow each other, needs nothing from outside."""
    assert {name.partition(".")[0] for name in module.imports} & IMPURE == set()


@pytest.mark.parametrize(
    "module", [module for module in modules() if module.name in PURE_MODELS], ids=lambda module: module.name
)
def test_what_a_provider_is_spared_is_decided_by_the_time_handed_in(module: Module) -> None:
    """So that tests move the clock by hand."""
    assert {name.partition(".")[0] for name in module.imports} & IMPURE == set()


def test_every_pure_module_is_there() -> None:
    """A renamed module must not leave its rule behind."""
    assert {module.name for module in modules()} >= PURE_PROCESSORS | PURE_MODELS


@pytest.mark.parametrize("module", within("streams.gate"), ids=lambda module: module.name)
def test_the_gate_knows_records_and_outcomes_only(module: Module) -> None:
    """Neither the shell nor the code of processors."""
    allowed = ("topics", "processors.outcomes", "streams.gate")
    assert {name for name in ours(module) if not _any_of(name, allowed) and name != "processors"} == set()


@pytest.mark.parametrize("module", within("topics"), ids=lambda module: module.name)
def test_topics_know_nobody(module: Module) -> None:
    """What flows is known to all and knows none of them."""
    assert {name for name in ours(module) if not _any_of(name, ("topics",))} == set()


@pytest.mark.parametrize("module", within("processors"), ids=lambda module: module.name)
def test_processors_know_topics_only(module: Module) -> None:
    """Judgement runs wherever it is asked for; the tools that show what the gate makes of a processor use the gate."""
    tool = module.name in {"processors.testing", "processors.checker"} or module.name.startswith("processors.checker.")
    allowed = ("topics", "processors", *(("streams",) if tool else ()))
    assert {name for name in ours(module) if not _any_of(name, allowed)} == set()


@pytest.mark.parametrize("module", within("streams.journal"), ids=lambda module: module.name)
def test_the_journal_knows_no_turns(module: Module) -> None:
    """It keeps rows of subjects for whoever has some, and goes through many of them in steps."""
    allowed = ("streams.journal", "streams.steps")
    assert {name for name in ours(module) if not _any_of(name, allowed) and name != "streams"} == set()


@pytest.mark.parametrize("name", ["streams.turns", "streams.runner", "streams.journal", "streams.gate"])
def test_the_shells_work_does_not_know_its_broker(name: str) -> None:
    """Loops run the same on Kafka and in memory; only the roles put the two together."""
    for module in within(name):
        assert not {one for one in module.imports if one.partition(".")[0] in {"faust", "aiokafka"}}, module.name
        assert not {one for one in ours(module) if one.startswith("streams.faust_shell")}, module.name


def test_what_traces_is_not_known_to_what_is_traced() -> None:
    """The work goes on without it; only those who put processes together know it."""
    found = importers("streams.tracing")
    allowed = ("streams.tracing", "streams.roles", "streams.gateway.serve")
    assert {name for name in found if not _any_of(name, allowed)} == set()


def test_records_are_acknowledged_in_the_two_loops_alone() -> None:
    """Each in one numbered order that is tested."""
    acknowledging = {module.name for module in modules() if module.method_calls("ack")}
    assert acknowledging == {"streams.turns.loop", "streams.runner.loop"}


def _any_of(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)
