"""`turngate topics` on every broker, and workers that miss their topics."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.brokers.broker import Broker
from tests.streams.cli.command import Cli, Done, turngate


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
