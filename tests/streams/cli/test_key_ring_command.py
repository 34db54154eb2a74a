"""`turngate key-ring`: keys are made and chosen without a broker, and their use is told on every one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.brokers.broker import Broker
from tests.streams.cli.command import Cli, turngate
from topics import names
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.key_ring import KeyRing
from topics.names import Names
from topics.sealing import Sealing


def test_keys_are_made_and_one_of_them_is_active(cli: Cli, tmp_path: Path) -> None:
    """The first one made, until another is chosen; nobody but the owner may read them, and nothing prints them."""
    folder = tmp_path / "keys"
    said = [
        cli("key-ring", "add", "a", "--folder", str(folder)),
        cli("key-ring", "add", "b", "--folder", str(folder), "--json"),
    ]
    assert [one.status for one in said] == [0, 0]
    assert KeyRing.read(folder).active.id == "a"
    assert said[1].rows == [{"key": "b", "folder": str(folder), "active": False}]
    said.append(cli("key-ring", "activate", "b", "--folder", str(folder)))
    assert KeyRing.read(folder).active.id == "b"
    said.append(cli("key-ring", "add", "c", "--activate", "--folder", str(folder)))
    ring = KeyRing.read(folder)
    assert (ring.active.id, sorted(ring.keys)) == ("c", ["a", "b", "c"])
    assert len({key.check for key in ring.keys.values()}) == 3
    for key in "abc":
        assert (folder / key).stat().st_mode & 0o077 == 0
        assert not any((folder / key).read_text().strip() in one.out + one.err for one in said)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("add", "a b"), "KEY: write"),
        (("add", "active"), "not active"),
        (("add", "taken"), "another id"),
        (("activate", "other"), "add it first"),
    ],
)
def test_what_cannot_be_done_is_said(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And changes nothing."""
    monkeypatch.setenv("TURNGATE_KEY_RING", str(tmp_path / "keys"))
    cli("key-ring", "add", "taken")
    before = {one.name: one.read_text() for one in (tmp_path / "keys").iterdir()}
    done = cli("key-ring", *arguments)
    assert done.status == 2
    assert words in done.sentence
    assert {one.name: one.read_text() for one in (tmp_path / "keys").iterdir()} == before


def test_without_a_folder_it_is_said_how_to_name_one(cli: Cli) -> None:
    """There is no usual place for keys."""
    assert "TURNGATE_KEY_RING" in cli("key-ring", "add", "a").sentence


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"TURNGATE_KEY_RING": "nowhere"}, "the folder of keys nowhere cannot be read"),
        ({"TURNGATE_KEY_RING_ACTIVE": "a"}, "TURNGATE_KEY_RING_ACTIVE has no effect"),
        ({"TURNGATE_KEY_RING_USE": "write"}, "TURNGATE_KEY_RING_USE has no effect"),
        ({"TURNGATE_KEY_RING_USE": "perhaps"}, "TURNGATE_KEY_RING_USE"),
    ],
)
def test_a_ring_that_protects_nothing_is_refused(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], words: str
) -> None:
    """By every command that would go to a broker, before it does."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = cli("topics", "check", "--broker", "127.0.0.1:1")
    assert done.status == 2
    assert words in done.sentence


def test_the_keys_in_use_are_told(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """By topic, with those that nothing needs any more, and those that something needs and nobody has here."""
    old, new, foreign = (bytes([n]) * 32 for n in range(3))
    writers = [
        Sealing(KeyRing({"old": old}, "old")),
        Sealing(KeyRing({"new": new}, "new")),
        Sealing(KeyRing({"new": foreign}, "new")),
        Sealing(),
    ]

    async def write() -> None:
        await TopicAdmin(Connection(broker.bootstrap), Names(prefix)).create(1)
        for sealing, topic in zip(writers, (names.REQUESTS, names.FRAMES, names.FRAMES, names.PROMPTS), strict=True):
            async with Connection(broker.bootstrap, sealing=sealing).producer() as producer:
                await producer.send_and_wait(Names(prefix).topic(topic), b"{}", key=b"k")

    asyncio.run(write())
    ring = tmp_path / "ring"
    ring.mkdir()
    for key, secret in (("new", new), ("spare", old)):
        (ring / key).write_text(secret.hex())
    variables = {
        "TURNGATE_BROKER": broker.bootstrap,
        "TURNGATE_PREFIX": prefix,
        "TURNGATE_KEY_RING": str(ring),
        "TURNGATE_KEY_RING_ACTIVE": "new",
    }
    done = turngate("key-ring", "status", "--json", cwd=tmp_path, **variables)
    assert done.status == 1, done.err
    *rows, summary = done.rows
    assert {(row["topic"].removeprefix(prefix), row["key"], row["records"], row["foreign"]) for row in rows} == {
        ("requests", "old", 1, 0),
        ("frames", "new", 2, 1),
        ("prompts", None, 1, 0),
    }
    assert summary == {"active": "new", "unused": ["spare"], "missing": ["new", "old"], "plain": 1}
    shown = turngate("key-ring", "status", cwd=tmp_path, **variables)
    assert "No record is sealed with spare: it may be taken away." in shown.out
    assert "Records are sealed with old, and it is not in the ring." in shown.out
