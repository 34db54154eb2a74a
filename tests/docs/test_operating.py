"""`docs/operating.md` against the code: alerts, statuses, log lines, what keeps a worker from starting, and its commands."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from streams.cli import failures
from streams.settings import Settings
from tests.docs.commands import check_parses, commands_of, reason_not_to_run, run
from tests.docs.markdown import ROOT, code, codes, fences, sections
from tests.streams.cli.command import turngate
from tests.streams.cli.pipeline import Up
from topics.names import TOPICS

PAGE = ROOT / "docs" / "operating.md"
SECTIONS = sections(PAGE)
#: Commands that are only parsed: what they begin with, and why.
NOT_RUN = {
    "turngate processors rollback": "needs something deployed; tests/integration/test_deployments.py has that",
}

HOUSE = """
from processors import Deps, Pass, output_processor

@output_processor("one")
def one(answer): return Pass()

@output_processor("one")
def another(answer): return Pass()

deps = Deps(output_processors=[one])
"""
DEPS = "worker --role turns --broker 127.0.0.1:1 --deps "
#: How to bring about what a row says: files beside house.py, variables, and the command; None where a pipeline is needed.
FAULTS: dict[str, tuple[dict[str, str], dict[str, str], str] | None] = {
    "The module was found, but fails while it is imported": ({"bad.py": "import no_such_thing"}, {}, DEPS + "bad:deps"),
    "Looked in the installed packages": ({}, {}, DEPS + "not_there:deps"),
    "the module was imported but has no": ({}, {}, DEPS + "house:dips"),
    "write module:attribute": ({}, {}, DEPS + "house"),
    "required_controls: not active": (
        {"gate.py": "from house import *\ndeps = Deps(output_processors=[one], required_controls=['two'])"},
        {},
        DEPS + "gate:deps",
    ),
    "has more than one of": (
        {"gate.py": "from house import *\ndeps = Deps(output_processors=[one, another])"},
        {},
        DEPS + "gate:deps",
    ),
    "is no output processor": (
        {"gate.py": "from house import *\ndeps = Deps(output_processors=[len])"},
        {},
        DEPS + "gate:deps",
    ),
    "unknown setting": ({}, {"TURNGATE_PARTITION": "3"}, DEPS + "house:deps"),
    "has no effect, as": ({}, {"TURNGATE_KAFKA_PASSWORD": "x"}, DEPS + "house:deps"),
    "declares no tools": ({}, {}, "worker --role tools --broker 127.0.0.1:1 --deps house:deps"),
    "the gateway has no keys": ({}, {}, "gateway --broker 127.0.0.1:1"),
    "cannot listen on port": None,
    "No Kafka broker answered": ({}, {}, DEPS + "house:deps"),
    "there is no broker": ({}, {}, "worker --role turns --deps house:deps"),
    "There is no topic": None,
    "Topics are not laid out as turngate needs them": None,
}


def test_every_alert_has_its_section() -> None:
    """In the order of the rules."""
    rules = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yml").read_text(encoding="utf-8"))
    alerts = [rule["alert"] for group in rules["groups"] for rule in group["rules"]]
    assert [title for title in SECTIONS if title.startswith("Turngate")] == alerts
    assert all(SECTIONS[alert].text.strip() for alert in alerts)


def test_the_exit_statuses() -> None:
    """All of them, as the commands exit."""
    statuses = [failures.OK, failures.FAILED, failures.USAGE, failures.UNREACHABLE, failures.FAULT]
    assert [int(row["status"]) for row in SECTIONS["Exit statuses"].rows] == statuses


def test_the_lines_of_the_log_are_written_somewhere() -> None:
    """Each piece of them in the code."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "streams").rglob("*.py"))
    for row in SECTIONS["Logs"].rows:
        assert all(f'"{piece}' in source or f"s {piece}" in source for piece in re.split(r" ?… ?", code(row["line"])))


def test_the_settings_and_topics_of_the_tables_are_there() -> None:
    """What is to be changed can be changed."""
    for row in SECTIONS["Capacity"].rows:
        assert set(codes(row["setting"])) <= set(Settings.model_fields)
    behind = [name for row in SECTIONS["Lag"].rows for name in codes(row["topic"])]
    assert set(behind) <= {topic.name for topic in TOPICS}
    assert {"requests", "frames", "prompts", "tool-calls", "tool-results"} == set(behind)


def test_every_fault_of_the_table_is_tried() -> None:
    """None is only claimed."""
    assert [code(row["it says"]) for row in SECTIONS["A worker that does not start"].rows] == list(FAULTS)


@pytest.mark.parametrize("says", [says for says, how in FAULTS.items() if how is not None])
def test_what_keeps_a_worker_from_starting_says_so(says: str, tmp_path: Path) -> None:
    """In one sentence, with a status that tells a supervisor to wait for a person; without brokers that it may try later."""
    how = FAULTS[says]
    assert how is not None
    files, variables, command = how
    for name, text in {"house.py": HOUSE, **files}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = turngate(*command.split(), cwd=tmp_path, XDG_RUNTIME_DIR=str(tmp_path), **variables)
    assert says in done.sentence
    assert done.status == (failures.UNREACHABLE if "broker" in says else failures.USAGE)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """A pipeline of `turngate up`, with the examples beside it."""
    directory = tmp_path_factory.mktemp("operating")
    shutil.copytree(ROOT / "examples", directory / "examples")
    up = Up.start(directory, "--model", "script")
    try:
        yield up
    finally:
        assert up.end(signal.SIGINT)[0] == 0


@pytest.mark.embedded
def test_its_commands_do_what_is_shown(pipeline: Up) -> None:
    """In their order, against a pipeline."""
    ran = []
    for fence in fences(PAGE):
        assert fence.language == "console"
        for command in commands_of(fence):
            check_parses(command.text)
            ran.append(command.text)
            if reason_not_to_run(command.text, NOT_RUN) is None:
                done = run(f"{{ {command.text}; }} 2>&1", pipeline.directory, **environment_of(pipeline))
                assert done.returncode == command.status, f"{command.text}: {done.stdout}"
                assert command.matches(done.stdout), f"{command.text}: {done.stdout}"
    assert [start for start in NOT_RUN if not any(text.startswith(start) for text in ran)] == []


@pytest.mark.embedded
def test_a_worker_without_its_topics_says_so(pipeline: Up) -> None:
    """None of them; then fewer than there should be, or others."""
    at = environment_of(pipeline)
    done = run("turngate worker --role turns", pipeline.directory, TURNGATE_PREFIX="other.", **at)
    assert done.returncode == failures.FAILED
    assert "There is no topic" in done.stderr
    done = run("turngate topics create", pipeline.directory, TURNGATE_PARTITIONS="9", **at)
    assert done.returncode == failures.FAILED
    assert "Topics are not laid out as turngate needs them" in done.stderr


@pytest.mark.embedded
def test_a_worker_whose_port_is_taken_says_so(pipeline: Up) -> None:
    """Here by the broker."""
    port = pipeline.bootstrap.rpartition(":")[2]
    done = run(
        "turngate worker --role models", pipeline.directory, TURNGATE_METRICS_PORT=port, **environment_of(pipeline)
    )
    assert done.returncode == failures.USAGE
    assert "cannot listen on port" in done.stderr


def environment_of(pipeline: Up) -> Mapping[str, str]:
    """Return the variables by which commands find the pipeline."""
    return {"XDG_RUNTIME_DIR": str(pipeline.directory)}
