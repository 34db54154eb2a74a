"""What every command does with wrong usage, bad settings and an absent broker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from streams.brokers import runtime_file
from streams.brokers.ports import free_port
from streams.cli import session
from tests.streams.cli.command import Cli

#: A valid call of each command that reads settings.
CALLS = {
    "demo": ("demo",),
    "up": ("up",),
    "worker": ("worker", "--role", "turns"),
    "send": ("send", "hello"),
    "follow": ("follow",),
    "topics create": ("topics", "create"),
    "topics check": ("topics", "check"),
    "topics list": ("topics", "list"),
    "topics schemas": ("topics", "schemas"),
    "dead-letters list": ("dead-letters", "list"),
    "dead-letters show": ("dead-letters", "show", "x/0/0"),
    "dead-letters replay": ("dead-letters", "replay", "x/0/0"),
    "threads list": ("threads", "list"),
    "threads show": ("threads", "show", "thread-1"),
    "processors check": ("processors", "check", "chain:deps"),
    "gate": ("gate", "chain:deps", "--frames", "none.jsonl"),
    "settings": ("settings",),
}
ATTACHING = [
    name for name in CALLS if name not in {"demo", "up", "processors check", "gate", "settings", "topics schemas"}
]


@pytest.mark.parametrize("name", CALLS)
def test_an_unknown_variable_is_refused_with_the_nearest_name(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A misspelt setting never goes unnoticed, whatever the command."""
    monkeypatch.setenv("TURNGATE_PARTITONS", "8")
    done = cli(*CALLS[name])
    assert done.status == 2
    assert done.sentence == "turngate: unknown setting TURNGATE_PARTITONS, did you mean TURNGATE_PARTITIONS?"
    assert done.out == ""


def test_a_name_like_none_is_not_taken_for_another(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """That both begin with TURNGATE_ makes them no more alike."""
    monkeypatch.setenv("TURNGATE_MODL", "x")
    done = cli("settings")
    assert "did you mean" not in done.sentence
    assert "`turngate settings` lists those there are" in done.sentence


@pytest.mark.parametrize("name", ATTACHING)
def test_without_a_broker_commands_start_none_and_exit_3(cli: Cli, name: str) -> None:
    """They say how to start one."""
    done = cli(*CALLS[name])
    assert done.status == 3
    assert "`turngate up`" in done.sentence
    assert done.out == ""


@pytest.mark.parametrize("name", ["topics list", "send", "dead-letters list"])
def test_a_broker_that_does_not_answer_is_status_3(cli: Cli, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The address is named, and --broker wins over the environment."""
    monkeypatch.setattr(session, "REACH_LIMIT_S", 0.5)
    monkeypatch.setenv("TURNGATE_BROKER", "127.0.0.1:1")
    address = f"127.0.0.1:{free_port()}"
    done = cli(*CALLS[name], "--broker", address)
    assert done.status == 3
    assert address in done.err


@pytest.mark.parametrize("address", ["somewhere", "host:port", "a:1,b", "host:1 ", "http://host:1"])
def test_an_address_that_is_none_is_refused_before_anything_is_tried(cli: Cli, address: str) -> None:
    """A name without a port would otherwise be tried for seconds."""
    done = cli("topics", "list", "--broker", address)
    assert done.status == 2
    assert "host:port" in done.sentence


def test_the_runtime_file_of_a_dead_owner_is_no_broker(cli: Cli, tmp_path: Path) -> None:
    """A pipeline that was killed leaves its file behind."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    stale = runtime_file.RunningBroker(bootstrap="127.0.0.1:1", pid=gone.pid)
    runtime_file.write(tmp_path / "run", stale)
    assert cli("topics", "list").status == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nonsense",), "No such command 'nonsense'. See `turngate --help`."),
        (("topics", "nonsense"), "No such command 'nonsense'. See `turngate topics --help`."),
        (("send",), "See `turngate send --help`."),
        (("send", "hi", "--delivery", "pigeon"), "'--delivery'"),
        (("send", "hi", "--colour", "red"), "--colour"),
        (("up", "--workers", "0"), "'--workers'"),
        (("up", "--model", "parrot"), "--model"),
        (("up", "--model", "openai"), "TURNGATE_OPENAI_API_KEY"),
        (("worker",), "--role"),
        (("worker", "--role", "tools", "--broker", "127.0.0.1:1"), "TURNGATE_DEPS"),
        (("follow", "--turn", "a/b"), "tenant/thread/turn"),
        (("follow", "--turn", "a", "--tenant", "t"), "--thread"),
        (("follow", "--timeout", "5"), "--turn"),
        (("up", "--port", "9092", "--broker", "127.0.0.1:1"), "--port"),
        (("up", "--port", "0"), "'--port'"),
        (("dead-letters", "replay"), "--all"),
        (("dead-letters", "replay", "x/0/0", "--error", "WireError"), "--error"),
        (("dead-letters", "replay", "x/0/0", "--all"), "--all"),
        (("send", "hi", "--params", "[1]", "--broker", "127.0.0.1:1"), "--params"),
        (("send", "hi", "--params", "{", "--broker", "127.0.0.1:1"), "--params"),
    ],
)
def test_wrong_usage_is_status_2_and_one_line(cli: Cli, arguments: tuple[str, ...], said: str) -> None:
    """The line says what to do, on stderr."""
    done = cli(*arguments)
    assert done.status == 2
    assert said in done.sentence
    assert done.out == ""


def test_no_command_shows_the_help_on_stderr(cli: Cli) -> None:
    """It is no success, and no result."""
    done = cli()
    assert done.status == 2
    assert "dead-letters" in done.err
    assert done.out == ""


def test_the_version_is_shown(cli: Cli) -> None:
    """With the name, as scripts expect it."""
    done = cli("--version")
    assert done.status == 0
    assert done.out.startswith("turngate 0.")


@pytest.mark.parametrize("arguments", [["--help"], ["send", "--help"], ["up", "--help"]])
def test_help_imports_nothing_that_takes_long(arguments: list[str]) -> None:
    """Nor does it read settings: help is there when they are wrong."""
    code = (
        "import sys; from streams.cli import main; status = main(sys.argv[1:]); "
        "slow = {'aiokafka', 'faust', 'pydantic_settings', 'topics'} & set(sys.modules); "
        "sys.exit(f'imported {slow}' if slow else status)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Usage: turngate" in done.stdout
