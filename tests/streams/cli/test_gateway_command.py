"""`turngate keys` and `turngate gateway`, as far as they need no pipeline; tests/integration/test_gateway.py has one."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from streams.gateway.keys import Caller, Keys, hash_of
from tests.brokers.broker import Broker
from tests.streams.cli.command import Cli, turngate


def test_a_key_is_printed_once_and_kept_as_a_hash(cli: Cli, tmp_path: Path) -> None:
    """In a file that only its owner reads, beside the keys that are there already."""
    file = tmp_path / "keys.toml"
    first = cli("keys", "create", "website", "--tenant", "acme", "--user", 'u "1"', "--file", str(file))
    assert first.status == 0
    key = first.out.strip()
    assert file.stat().st_mode & 0o077 == 0
    assert key not in file.read_text() + first.err
    second = cli("keys", "create", "other", "--file", str(file), "--json")
    (row,) = second.rows
    keys = Keys({}, file, lambda: 0.0)
    assert keys.caller(key) == Caller("website", "acme", 'u "1"')
    assert keys.caller(row["key"]) == Caller("other", "default", None)


def test_a_key_is_an_operator_s_only_if_that_is_said(cli: Cli, tmp_path: Path) -> None:
    """It may see what models wrote, so nobody gets one by accident."""
    file = tmp_path / "keys.toml"
    made = [
        cli("keys", "create", "ann", "--operator", "--file", str(file)),
        cli("keys", "create", "bob", "--file", str(file)),
    ]
    keys = Keys({}, file, lambda: 0.0)
    assert [keys.caller(one.out.strip()) for one in made] == [
        Caller("ann", "default", operator=True),
        Caller("bob", "default", operator=False),
    ]


def test_without_a_file_the_entry_is_shown(cli: Cli) -> None:
    """To be put where it belongs."""
    made = cli("keys", "create", "website")
    entry = tomllib.loads(made.err[made.err.index("[keys.") :])
    assert entry == {"keys": {"website": {"sha256": hash_of(made.out.strip()), "tenant": "default"}}}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("a b",), "NAME"),
        (("ok", "--tenant", "a/b"), "no slash"),
        (("taken", "--file", "keys.toml"), "taken"),
        (("new", "--file", "broken.toml"), "key file"),
        (("new", "--file", "none/keys.toml"), "cannot write"),
    ],
)
def test_what_cannot_be_a_key_is_status_2(cli: Cli, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    """Nothing is written."""
    (tmp_path / "keys.toml").write_text(f'[keys.taken]\nsha256 = "{hash_of("x")}"\n')
    (tmp_path / "broken.toml").write_text("x = 1")
    before = (tmp_path / "keys.toml").read_text()
    done = cli("keys", "create", *arguments)
    assert (done.status, done.out) == (2, "")
    assert words in done.sentence
    assert (tmp_path / "keys.toml").read_text() == before


@pytest.mark.only_brokers("embedded")
def test_a_gateway_without_keys_is_status_2(broker: Broker, tmp_path: Path) -> None:
    """It says what to do; so it is where it would be open to others than this machine."""
    done = turngate("gateway", "--broker", broker.bootstrap, cwd=tmp_path)
    assert done.status == 2
    assert "turngate keys create" in done.sentence
    done = turngate("gateway", "--broker", broker.bootstrap, "--open", "--host", "0.0.0.0", cwd=tmp_path)  # noqa: S104
    assert done.status == 2
    assert "loopback" in done.sentence


def test_a_gateway_without_a_broker_is_status_3(cli: Cli) -> None:
    """As any other command."""
    assert cli("gateway", "--open").status == 3
