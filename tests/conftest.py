"""What all tests share: the brokers of this run, and names that are a test's own.

A test that takes the fixture `broker` runs once on each broker of the run and carries its marker, so that `-m apache`
chooses by broker. `@pytest.mark.only_brokers("apache")` keeps a test to some of them. `--brokers` or the variable
TURNGATE_TEST_BROKERS (comma-separated names) restricts the whole run.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.brokers.broker import Broker
from tests.brokers.choice import KINDS, Choice, ChoiceError, choose

pytest_plugins = ("tests.chaos.report",)

VARIABLE = "TURNGATE_TEST_BROKERS"
CHOICE = pytest.StashKey[Choice]()

# How long an example takes says something about the machine, and nothing about the property.
settings.register_profile("turngate", deadline=None)
settings.load_profile("turngate")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--brokers`."""
    parser.addoption("--brokers", default=None, help=f"brokers to test on: {', '.join(KINDS)} (default: all there are)")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the brokers of this run."""
    config.addinivalue_line("markers", "only_brokers(*names): run this test on these brokers alone")
    # Taken out, not only read: commands under test refuse to start under a TURNGATE_ variable they do not know.
    variable = os.environ.pop(VARIABLE, "")
    if config.option.brokers is None:
        config.option.brokers = variable  # where the suite runs in several processes, they are given the options
    try:
        config.stash[CHOICE] = choose(config.option.brokers)
    except ChoiceError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which brokers are used, and why the others are not."""
    return config.stash[CHOICE].header()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say at the end how many tests ran on each broker, and once more which brokers were left out."""
    if config.getoption("collectonly"):
        return
    choice = config.stash[CHOICE]
    ran = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    terminalreporter.section("brokers")
    for name in choice.used:
        count = sum(1 for report in ran if report.when == "call" and name in report.keywords)
        terminalreporter.line(f"broker {name}: {count} tests ran on it")
    for name, reason in choice.left_out.items():
        terminalreporter.line(f"broker {name}: SKIPPED, {reason}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test that takes a broker one instance for each broker of the run."""
    if "broker" not in metafunc.fixturenames:
        return
    choice = metafunc.config.stash[CHOICE]
    only = metafunc.definition.get_closest_marker("only_brokers")
    allowed = tuple(KINDS) if only is None else only.args
    names = [name for name in choice.used if name in allowed]
    instances = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in names]
    if not instances:
        reasons = "; ".join(f"{name}: {choice.left_out[name]}" for name in allowed if name in choice.left_out)
        instances = [pytest.param("none", marks=pytest.mark.skip(reason=f"no broker for this test ({reasons})"))]
    metafunc.parametrize("broker", instances, indirect=True, scope="session")


@pytest.fixture(scope="session")
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Give a running broker, shared by all tests on this kind; use `prefix` to keep out of their way."""
    name: str = request.param
    instance = KINDS[name].make(tmp_path_factory.mktemp(f"broker-{name}"))
    instance.start()
    yield instance
    instance.stop()


@pytest.fixture
def prefix(request: pytest.FixtureRequest) -> str:
    """Give a topic prefix, ending in a dot, that no other test uses; it also serves for group and client ids."""
    readable = re.sub(r"[^a-z0-9]+", "-", request.node.originalname.lower()).strip("-")[:40]
    return f"{readable}-{uuid.uuid4().hex[:8]}."
