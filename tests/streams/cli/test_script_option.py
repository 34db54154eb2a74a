"""`turngate send --script`: the model's answer, given in several forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.cli.failures import CommandError
from streams.cli.work.gate import parse_frames
from streams.cli.work.send import read_script

ITEMS = ["Hello ", {"text": "world", "delay_s": 0.5}, {"finish_reason": "stop"}]
EXAMPLE = Path(__file__).parents[3] / "examples" / "answer.jsonl"


def test_a_list_on_the_command_line() -> None:
    """It is taken as it stands."""
    assert read_script(" " + json.dumps(ITEMS)) == ITEMS


@pytest.mark.parametrize("form", [json.dumps(ITEMS, indent=1), "\n".join(map(json.dumps, ITEMS)) + "\n\n"])
def test_a_file_with_a_list_or_with_lines(tmp_path: Path, form: str) -> None:
    """Both mean the same."""
    (tmp_path / "script").write_text(form)
    assert read_script(str(tmp_path / "script")) == ITEMS


def test_the_example_is_a_script_and_also_frames_for_the_gate() -> None:
    """One file serves both commands."""
    items = read_script(str(EXAMPLE))
    assert len(items) > 5
    assert parse_frames(EXAMPLE.read_bytes(), "example") == items


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('["fine", {"txet": "private"}]', "item 2"),
        ('["fine", 5]', "item 2"),
        ('["private"', "not JSON"),
        ("no-such-file", "cannot read no-such-file"),
    ],
)
def test_a_script_that_cannot_be_played_is_refused_here(script: str, said: str) -> None:
    """Before it is published, and without its words."""
    with pytest.raises(CommandError, match=said) as caught:
        read_script(script)
    assert caught.value.status == 2
    assert "private" not in str(caught.value)


def test_what_an_item_may_have_is_said() -> None:
    """Nobody has to guess how a tool call is written."""
    with pytest.raises(CommandError, match=r"tool_call_delta.*step"):
        read_script('[{"tool_calls": []}]')


def test_a_bad_line_of_a_file_is_named(tmp_path: Path) -> None:
    """By its number."""
    (tmp_path / "script").write_text('"fine"\nprivate\n')
    with pytest.raises(CommandError, match="line 2") as caught:
        read_script(str(tmp_path / "script"))
    assert "private" not in str(caught.value)
