"""Ids in logs: hashed wherever they may be personal, and found again by who knows them."""

from __future__ import annotations

import ast
import io
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.private_ids import Private, SaltedIds, hashed, hashed_user
from tests.architecture.sources import modules
from tests.memory.power import Power
from tests.memory.simtime import simulate
from tests.streams.cli.command import Done, turngate
from tests.streams.turns.simulation import FRAMES, REQUESTS, Process, Said, Scenario, World, turn
from topics.ids import ThreadKey, TurnKey

TURN = TurnKey("shop", "jane-doe", "her-first")
PERSONAL = ("jane", "doe", "shop", "her-first", "Rumpelstiltskin", "user-7")
#: What an id is called in code. A log line must not be given one as it is.
ID_NAMES = {"turn", "turn_id", "thread", "thread_id", "tenant", "user", "user_id", "key", "call", "subject"}


def said(salt: str, *args: object) -> str:
    """Return what a handler with the filter writes."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(SaltedIds(salt))
    handler.handle(logging.LogRecord("x", logging.INFO, "x.py", 1, "turn %s, step %d", args, None))
    return stream.getvalue().strip()


def test_a_turn_reads_as_two_hashes_with_the_deployments_key() -> None:
    """That of its thread first, so that all lines of a thread are found."""
    line = said("k", Private(TURN), 3)
    assert line == f"turn {hashed('shop/jane-doe', 'k')}/{hashed('shop/jane-doe/her-first', 'k')}, step 3"
    assert line != said("another", Private(TURN), 3)
    assert said("k", Private(TURN.thread), 3) == f"turn {hashed('shop/jane-doe', 'k')}, step 3"


def test_without_the_filter_no_id_shows_either() -> None:
    """A handler that somebody adds knows no key, and has hashes all the same."""
    for one in (TURN, TURN.thread):
        assert not [word for word in PERSONAL if word in str(Private(one))]


def test_hashes_tell_ids_apart() -> None:
    """Also of a user and of a thread with the same name, and of one name in two tenants; keys may be of any length."""
    same = {hashed("a/b"), hashed_user("a", "b"), hashed_user("c", "b"), hashed("a/b", "k"), hashed("a/b", "k" * 100)}
    assert len(same) == 5
    assert Private(ThreadKey("a", "b")).salted("k") == hashed("a/b", "k")


def test_the_command_finds_what_logs_say(tmp_path: Path) -> None:
    """With the key in the settings."""

    def hash_id(*arguments: str) -> Done:
        return turngate("hash-id", *arguments, cwd=tmp_path, TURNGATE_LOG_ID_SALT="k")

    done = hash_id("--tenant", "shop", "--thread", "jane-doe", "--turn", "her-first")
    assert done.out.strip() == Private(TURN).salted("k")
    assert hash_id("--user", "jane", "--json").rows == [{"user": hashed_user("default", "jane", "k")}]
    for wrong in ([], ["--user", "a", "--thread", "b"]):
        done = hash_id(*wrong)
        assert (done.status, done.sentence) == (2, "turngate: say either --thread or --user")


def logged() -> Iterator[tuple[str, ast.expr]]:
    """Yield the arguments of every call that logs, each with its place."""
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value)
                if owner in {"log", "_log", "logger"}:
                    for argument in node.args[1:]:
                        yield f"{module.name}:{node.lineno}", argument


def test_no_log_line_is_given_an_id_as_it_is() -> None:
    """Whatever is called like one has to be wrapped; a number of them, or a class, is none."""
    found = list(logged())
    assert len(found) > 40
    bare = {
        place
        for place, argument in found
        if (isinstance(argument, ast.Name) and argument.id in ID_NAMES)
        or (isinstance(argument, ast.Attribute) and argument.attr in ID_NAMES)
    }
    assert bare == set()


def test_a_worker_s_logs_name_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Turns that end well, fail and are refused, frames of nobody's turn, restarts: nothing of it at any level."""
    ids: dict[str, Any] = {"tenant": "shop", "thread_id": "jane-doe", "user": {"id": "user-7"}}
    asked = [turn(f"her-first-{n}", message="I am Rumpelstiltskin", **ids) for n in range(3)]
    broken = b'{"tenant": "shop", "thread_id": "jane-doe", "turn_id": "her-first-9", "message": 7}'
    scenario = Scenario(
        "logs",
        (*(Said(one) for one in asked), Said(broken), Said(b"Rumpelstiltskin"), Said(asked[0], after="her-first-0")),
        {
            "her-first-0": [("Rumpelstiltskin", {"finish_reason": "stop"})],
            "her-first-1": [({"error": {"type": "ServerError", "message": "Rumpelstiltskin"}},)],
            "her-first-2": [("Rumpelstiltskin", {"finish_reason": "stop"})],
        },
    )

    async def play() -> World:
        world = World(scenario)
        world.broker.append(FRAMES, 0, None, b'{"tenant": "shop", "thread_id": "jane-doe", "turn_id": "doe", "seq": 0}')
        for cut in (20, None):
            process = Process(world, Power(cut_at=cut))
            if await process.start():
                await process.work()
            await process.end()
        return world

    caplog.set_level(logging.DEBUG)
    world = simulate(play())
    assert len(world.broker.values(REQUESTS)) == 6
    text = caplog.text
    assert "refused a record" in text
    assert not [word for word in PERSONAL if word in text]
