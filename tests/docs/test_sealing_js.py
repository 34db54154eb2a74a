"""Sealing in JavaScript: what the one side seals the other opens, and neither opens what was altered."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.docs.markdown import ROOT, fences
from topics import envelope
from topics.key_ring import KeyRing
from topics.sealing import Sealing
from topics.unreadable import Unreadable

NODE = shutil.which("node")
DRIVER = ROOT / "tests" / "docs" / "drive_sealing.mjs"
TOPIC, KEY, SECRET = "turngate.requests", b"default/thread-1", bytes(range(100, 132))
RING = KeyRing({"2026-12": SECRET}, "2026-12")
Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def node() -> Iterator[Ask]:
    """Give a function that has Node seal or open a value."""
    if NODE is None:
        pytest.skip("no `node` on PATH: sealing in JavaScript was not run")
    with subprocess.Popen([NODE, str(DRIVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def ask(what: str, value: bytes, *, secret: bytes = SECRET, key_id: str = "2026-12") -> dict[str, Any]:
            assert process.stdin is not None
            assert process.stdout is not None
            line = {"what": what, "id": key_id, "secret": text(secret), "topic": TOPIC, "key": text(KEY)}
            process.stdin.write(json.dumps(line | {"value": text(value)}) + "\n")
            process.stdin.flush()
            answer: dict[str, Any] = json.loads(process.stdout.readline())
            return answer

        yield ask
        process.stdin.close()  # type: ignore[union-attr] # a pipe, as asked for


def text(raw: bytes) -> str:
    """Return bytes in base64."""
    return base64.b64encode(raw).decode()


@settings(max_examples=30)
@given(value=st.binary(max_size=200))
def test_what_one_side_seals_the_other_opens(node: Ask, value: bytes) -> None:
    """In both directions, whatever the value."""
    sealed = Sealing(RING).seal(TOPIC, KEY, value)
    assert sealed is not None
    assert node("open", sealed) == {"value": text(value), "sealed": envelope.is_sealed(value)}
    made = node("seal", value)
    assert made["sealed"] is True
    assert Sealing(RING).open((TOPIC, 0, 0), KEY, base64.b64decode(made["value"])) == value


def test_what_is_altered_opens_on_neither_side(node: Ask) -> None:
    """At any byte; nor with another key."""
    sealed = Sealing(RING).seal(TOPIC, KEY, b"{}") or b""
    for at in range(len(sealed)):
        altered = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        assert "error" in node("open", altered), at
    assert "another one" in node("open", sealed, secret=bytes(32))["error"]
    assert "not here" in node("open", sealed, key_id="other")["error"]
    elsewhere = Sealing(RING).seal("turngate.frames", KEY, b"{}") or b""
    assert "error" in node("open", elsewhere)
    assert isinstance(Sealing(RING).open((TOPIC, 0, 0), KEY, elsewhere), Unreadable)


def test_the_page_shows_the_file_s_own_words() -> None:
    """The lines that seal are the same in both."""
    shown = [fence.text for fence in fences(ROOT / "docs" / "security.md") if fence.language == "js"]
    (code,) = shown
    assert code.strip() in (ROOT / "docs" / "sealing.mjs").read_text(encoding="utf-8")
