"""`turngate topics` on every broker, and workers that miss their topics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.brokers.broker import Broker
from tests.docs.markdown import ROOT
from tests.streams.cli.command import Cli, Done, turngate
from topics.names import TOPICS

DOCS = ROOT / "docs"


class Place:
    """One prefix on one broker, as the environment names them."""

    def __init__(self, broker: Broker, prefix: str, directory: Path) -> None:
        self._variables = {"TURNGATE_BROKER": broker.bootstrap, "TURNGATE_PREFIX": prefix}
        self._directory = directory

    def turngate(self, *arguments: str) -> Done:
        """Run one command there."""
        return turngate(*arguments, cwd=self._directory, **self._variables)


@pytest.fixture
def place(broker: Broker, prefix: str, tmp_path: Path) -> Place:
    """Give a place without any topics."""
    return Place(broker, prefix, tmp_path)


def test_topics_are_created_once_and_checked(place: Place, prefix: str) -> None:
    """Missing, created, there: each with its own status."""
    before = place.turngate("topics", "check", "--json")
    assert before.status == 1
    assert {row["finding"] for row in before.rows} == {"missing"}
    assert f"{prefix}turns-journal-changelog" in {row["topic"] for row in before.rows}

    created = place.turngate("topics", "create", "--partitions", "3", "--json")
    assert created.status == 0
    assert {row["topic"] for row in created.rows if row["created"]} == {row["topic"] for row in before.rows}
    again = place.turngate("topics", "create", "--partitions", "3", "--json")
    assert again.status == 0
    assert not any(row["created"] for row in again.rows)

    after = place.turngate("topics", "check")
    assert (after.status, after.out) == (0, "")
    wrong = place.turngate("topics", "check", "--partitions", "5")
    assert wrong.status == 1
    assert f"{prefix}requests: has 3 partitions, wanted 5 partitions" in wrong.out

    refused = place.turngate("topics", "create", "--partitions", "5")
    assert refused.status == 1
    assert "choose another prefix" in refused.err
    listed = place.turngate("topics", "list")
    assert [line.split()[:2] for line in listed.out.splitlines()[1:2]] == [[f"{prefix}requests", "3"]]


@pytest.mark.parametrize("arguments", [("worker", "--role", "turns"), ("worker", "--role", "models"), ("send", "hi")])
def test_without_topics_it_is_said_how_to_create_them(place: Place, arguments: tuple[str, ...]) -> None:
    """Nothing is created in passing, and nothing is left running."""
    done = place.turngate(*arguments)
    assert done.status == 1
    assert "`turngate topics create`" in done.err
    assert done.out == ""
    assert place.turngate("topics", "list", "--json").rows == []


def test_acls_are_printed_without_a_broker(cli: Cli) -> None:
    """As commands to paste, or as objects; for the roles that are asked for, all of them without that."""
    done = cli("topics", "acls", "--role", "readers", "--principal", "User:CN={role}", "--broker", "kafka:9092")
    assert done.status == 0
    (command,) = done.out.splitlines()
    assert command.startswith(
        "kafka-acls.sh --bootstrap-server kafka:9092 --add --allow-principal User:CN=readers --op"
    )
    assert command.endswith("--operation Read --topic turngate.released")
    rows = cli("topics", "acls", "--json").rows
    assert {row["role"] for row in rows} == {"turns", "models", "tools", "callers", "readers", "operator"}
    assert [row for row in rows if row["role"] == "callers"] == [
        {
            "principal": "User:turngate-callers",
            "role": "callers",
            "resource": "topic",
            "name": f"turngate.{name}",
            "operations": [operation],
        }
        for name, operation in (("requests", "Write"), ("released", "Read"))
    ]
    assert len(cli("topics", "acls", "--no-replays", "--json").rows) == len(rows)


def test_schemas_are_printed_without_a_broker(cli: Cli) -> None:
    """One document, for people or on a line; of all, of a topic, or of a record."""
    done = cli("topics", "schemas")
    assert done.status == 0
    assert set(json.loads(done.out)["$defs"]) >= {"requests", "released", "TurnRequest", "CompletedFrame"}
    (whole,) = cli("topics", "schemas", "--json").rows
    assert whole == json.loads(done.out)
    (topic,) = cli("topics", "schemas", "--topic", "requests", "--json").rows
    assert topic["oneOf"] == [{"$ref": "#/$defs/TurnRequest"}, {"$ref": "#/$defs/CancelTurn"}]
    (record,) = cli("topics", "schemas", "--record", "ResetFrame", "--json").rows
    assert record["required"] == ["thread_id", "turn_id", "kind"]


def test_an_asyncapi_document_has_the_settings_prefix(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """As what the parameter is by default."""
    monkeypatch.setenv("TURNGATE_PREFIX", "mine.")
    (document,) = cli("topics", "schemas", "--format", "asyncapi", "--json").rows
    assert document["asyncapi"] == "3.0.0"
    assert document["components"]["parameters"]["prefix"]["default"] == "mine."


def test_schemas_are_written_to_files(cli: Cli, tmp_path: Path) -> None:
    """One for each topic, or one document; the same as in the documentation."""
    where = tmp_path / "made" / "here"
    for options, names in (((), [topic.name for topic in TOPICS]), (("--format", "asyncapi"), ["asyncapi"])):
        done = cli("topics", "schemas", *options, "--out", str(where), "--json")
        assert done.status == 0
        assert [row["file"] for row in done.rows] == [str(where / f"{name}.json") for name in names]
    for path in where.iterdir():
        shipped = DOCS / "asyncapi.json" if path.name == "asyncapi.json" else DOCS / "schemas" / path.name
        assert path.read_text(encoding="utf-8") == shipped.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--record", "TurnReqest"), "there is no record 'TurnReqest', did you mean 'TurnRequest'?"),
        (("--topic", "realeased"), "there is no topic 'realeased', did you mean 'released'?"),
        (("--topic", "requests", "--record", "TurnRequest"), "give one of --topic, --record and --format asyncapi"),
        (("--topic", "requests", "--format", "asyncapi"), "give one of --topic, --record and --format asyncapi"),
    ],
)
def test_schemas_of_nothing_are_usage_errors(cli: Cli, arguments: tuple[str, ...], sentence: str) -> None:
    """The nearest name is told."""
    done = cli("topics", "schemas", *arguments)
    assert (done.status, done.out) == (2, "")
    assert sentence in done.sentence


def test_a_directory_that_cannot_be_written_is_said(cli: Cli, tmp_path: Path) -> None:
    """In one sentence, with what to do."""
    (tmp_path / "file").write_text("")
    done = cli("topics", "schemas", "--out", str(tmp_path / "file" / "under"))
    assert done.status == 2
    assert "name another directory" in done.sentence
