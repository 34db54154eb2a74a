"""`turngate demo`, from nothing to nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.brokers import runtime_file
from streams.cli.work.demo_turns import TURNS
from tests.streams.cli.command import turngate

pytestmark = pytest.mark.embedded


def test_the_demo_shows_every_ending_and_exits_0(tmp_path: Path) -> None:
    """What the model wrote is beside what readers saw, and they differ as they must."""
    (tmp_path / "turngate.toml").write_text('on_retry = "fail"\nmetrics_port = 1\n')  # none of the demo's business
    done = turngate("demo", "--json", cwd=tmp_path, XDG_RUNTIME_DIR=str(tmp_path))
    assert done.status == 0, done.err
    *turns, last = done.rows
    assert last["ok"] is True
    assert [(turn["turn"], turn["outcome"], turn["ok"]) for turn in turns] == [
        (turn.name, turn.outcome, True) for turn in TURNS
    ]
    redacted, rejected, blocked, whole, stepped = turns
    assert "@example.com" in redacted["raw"]
    assert "@" not in redacted["reply"]
    assert "".join(redacted["releases"]) == redacted["reply"]
    assert len(redacted["releases"]) > 1
    assert "sk-4f9a0c77d1e2" in rejected["raw"]
    assert "sk-" not in rejected["reply"]
    assert blocked["raw"] == ""
    assert len(whole["releases"]) == 1
    assert stepped["tools"][0] == 'asks find_courier {"parcel": "parcel 17"}'
    assert "bob.ray@example.org" in stepped["tools"][1]
    assert "bob.ray@example.org" in stepped["raw"]
    assert "@" not in "".join(stepped["releases"])
    assert len(stepped["releases"]) > 1
    assert runtime_file.read(tmp_path) is None
