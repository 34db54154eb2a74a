"""`turngate processors test`: one processor of any kind on one input, and the exit status by its verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.docs.markdown import ROOT
from tests.streams.cli.command import turngate

VERSIONS = "tests.integration.versions"
SAMPLES = "tests.streams.cli.one_of_each"


@pytest.mark.parametrize(
    ("processor", "given", "status", "said"),
    [
        (f"{VERSIONS}:mark_2", {"answer": "hi"}, 0, {"verdict": "replace", "text": "hi [2]", "version": "2"}),
        (f"{SAMPLES}:no_gold", {"answer": "gold"}, 1, {"verdict": "reject", "reason": "gold"}),
        (f"{SAMPLES}:no_gold", {"answer": "tin"}, 0, {"verdict": "pass", "text": "tin"}),
        (f"{SAMPLES}:closed", {"message": "hello", "channel": "web"}, 1, {"verdict": "block", "response": "web"}),
        (f"{SAMPLES}:ruled", {"message": "hello"}, 0, {"kind": "governance", "verdict": "proceed"}),
        (f"{SAMPLES}:kind", {"system": "Be.", "messages": [{"role": "user", "content": "hi"}]}, 0, {"kind": "input"}),
        (f"{SAMPLES}:careful", {"name": "delete", "arguments": {"id": 7}}, 1, {"kind": "tool_rule", "reason": "no"}),
        (f"{VERSIONS}:sign", {"message": "hi", "response": "Hello", "channel": "web"}, 0, {"text": "Hello -- us"}),
        (f"{SAMPLES}:throws", {"answer": "secret"}, 1, {"verdict": "failed", "error": "LookupError"}),
    ],
)
def test_each_kind_is_shown_what_it_sees_in_a_turn(
    processor: str, given: dict[str, Any], status: int, said: dict[str, Any]
) -> None:
    """The status is 0 only if the turn would go on."""
    done = turngate("processors", "test", processor, "--input", json.dumps(given), "--json", cwd=ROOT)
    assert done.status == status, done.err
    (row,) = done.rows
    assert {name: row.get(name) for name in said} == said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--input", '{"message": "x"}'), "lacks answer"),
        (("--input", '{"answer": "x", "colour": 1}'), "has colour"),
        (("--input", "["), "not JSON"),
        (("--input", '{"answer": "x"}', "--config", "{}"), "takes no config"),
    ],
)
def test_what_cannot_be_used_is_said(words: tuple[str, ...], sentence: str) -> None:
    """With what would be right."""
    done = turngate("processors", "test", f"{VERSIONS}:mark_2", *words, cwd=ROOT)
    assert done.status == 2
    assert sentence in done.sentence


def test_a_name_means_what_the_settings_name() -> None:
    """Several versions of it are told apart."""
    settings = {"TURNGATE_DEPS": f"{VERSIONS}:deps", "TURNGATE_PROCESSORS": f'["{VERSIONS}:more"]'}
    done = turngate("processors", "test", "mark", "--input", '{"answer": "a"}', "--json", cwd=ROOT, **settings)
    assert (done.status, "say which" in done.sentence) == (2, True)
    done = turngate("processors", "test", "mark@1", "--input", '{"answer": "a"}', "--json", cwd=ROOT, **settings)
    assert done.rows[0]["text"] == "a [1]"
    configured = ("--config", '{"words": ["a"]}', "--input", '{"answer": "a"}')
    assert turngate("processors", "test", "no-words", *configured, cwd=ROOT, **settings).status == 1
