"""`turngate gate`: one answer through a chain, without a broker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.streams.cli.command import Cli, Done, turngate

CHAIN = """
import re
from processors import (
    Deps, Incremental, Pass, Proceed, Reject, Replace, input_processor, output_processor, pre_processor
)

@output_processor("mask", incremental=Incremental(lookback_chars=4))
def mask(answer): return Replace(answer.text.replace("1234", "####"))

@output_processor("mask-too", incremental=Incremental(lookback_chars=6))
def mask_too(answer): return Pass()

@output_processor("chatty")
def chatty(answer):
    print("a processor prints this")
    return Replace(answer.text.upper())

@output_processor("refuse")
def refuse(answer): return Reject("not today")

@output_processor("throw")
def throw(answer): raise ValueError(answer.text)

@output_processor("endless", timeout_s=0.5)
def endless(answer): return Replace(re.sub(r"(a+)+$", "", answer.text))

@pre_processor("welcome")
def welcome(incoming): return Proceed()

@input_processor("persona")
def persona(prompt): return prompt

masking = Deps(output_processors=[mask])
before = Deps(pre_processors=[welcome], input_processors=[persona])
both = Deps(output_processors=[mask, mask_too])
"""


@pytest.fixture
def chain(cli: Cli, tmp_path: Path) -> Cli:
    """Give the command line beside a module of chains, which the current directory holds."""
    (tmp_path / "chain.py").write_text(CHAIN + "as_list = [mask]\nnames = {}\n" + _lists())
    return cli


def _lists() -> str:
    return "".join(f"only_{name} = [{name}]\n" for name in ("chatty", "refuse", "throw", "endless"))


def frames(tmp_path: Path, *lines: Any) -> str:
    """Write frames to a file, and return its name."""
    (tmp_path / "answer.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "answer.jsonl"


def run(cli: Cli, chain: str, file: str, *more: str) -> Done:
    """Gate one file with --json."""
    return cli("gate", f"chain:{chain}", "--frames", file, "--json", *more)


def outcome(text: str, kind: str = "completed", **more: str) -> dict[str, str | None]:
    """Return the last line that there should be."""
    return {"outcome": kind, "text": text, "error": None, "processor": None, "reason": None, **more}


@pytest.mark.parametrize("name", ["masking", "as_list"])
def test_releases_come_first_and_the_outcome_last(chain: Cli, tmp_path: Path, name: str) -> None:
    """All but the window is out before the end."""
    done = run(chain, name, frames(tmp_path, "pin 12", "34 ok", {"text": "!", "finish_reason": "stop"}))
    assert done.status == 0
    *releases, last = done.rows
    assert [row["release"] for row in releases] == ["pi", "n ###", "# ok!"]
    assert last == outcome("pin #### ok!")
    assert done.err == ""


@pytest.mark.parametrize(("window", "first"), [("widest", "abcd"), ("sum", None)])
def test_the_window_can_be_chosen(chain: Cli, tmp_path: Path, window: str, first: str | None) -> None:
    """The sum of 4 and 6 leaves nothing of ten characters to release."""
    done = run(chain, "both", frames(tmp_path, "abcdefghij", "klmnopqrst"), "--window", window)
    releases = [row["release"] for row in done.rows[:-1]]
    assert releases[0] == (first or "abcdefghij")
    assert done.rows[-1] == outcome("abcdefghijklmnopqrst")


def test_a_rejection_is_status_1_with_its_reason(chain: Cli, tmp_path: Path) -> None:
    """This is the operator's own command: the reason is theirs to see."""
    done = run(chain, "only_refuse", frames(tmp_path, "hello"))
    assert done.status == 1
    assert done.rows == [outcome("", "rejected", error="OutputRejectedError", processor="refuse", reason="not today")]


def test_a_processor_that_throws_fails_the_answer_without_content(chain: Cli, tmp_path: Path) -> None:
    """Its message quoted the answer: that is nowhere."""
    done = run(chain, "only_throw", frames(tmp_path, "hello"))
    assert done.status == 1
    assert (done.rows[-1]["outcome"], done.rows[-1]["processor"]) == ("failed", "throw")
    assert done.rows[-1]["error"] == "ProcessorFailedError"
    assert "hello" not in done.out + done.err


def test_what_a_processor_throws_is_shown_at_level_debug(chain: Cli, tmp_path: Path) -> None:
    """With the place, to whoever asks for it; without, it is said how to ask."""
    assert chain is not None
    command = ("gate", "chain:only_throw", "--frames", frames(tmp_path, "hello"))
    done = turngate(*command, cwd=tmp_path)
    assert "TURNGATE_LOG_LEVEL=debug shows where it failed" in done.err
    assert "hello" not in done.err
    debugged = turngate(*command, cwd=tmp_path, TURNGATE_LOG_LEVEL="debug")
    assert "chain.py" in debugged.err
    assert "ValueError: hello" in debugged.err
    assert "shows where it failed" not in debugged.err


def test_an_answer_that_is_no_verdict_is_named_at_level_debug(chain: Cli, tmp_path: Path) -> None:
    """By its type: what would have been right stands beside it."""
    assert chain is not None
    (tmp_path / "plain.py").write_text(
        "from processors import Deps, output_processor\n"
        "@output_processor('shout')\ndef shout(answer): return answer.text.upper()\n"
        "deps = Deps(output_processors=[shout])\n"
    )
    done = turngate(
        "gate", "plain:deps", "--frames", frames(tmp_path, "hello"), cwd=tmp_path, TURNGATE_LOG_LEVEL="debug"
    )
    assert "shout failed: an output processor answers Pass, Replace or Reject, not str" in done.err
    assert "hello" not in done.err.lower()


def test_a_pattern_without_end_fails_the_answer_and_not_the_command(chain: Cli, tmp_path: Path) -> None:
    """The process in which it runs is killed."""
    done = run(chain, "only_endless", frames(tmp_path, "a" * 60 + "b"))
    assert done.status == 1
    assert (done.rows[-1]["outcome"], done.rows[-1]["processor"]) == ("failed", "endless")


def test_what_processors_print_is_not_on_stdout(chain: Cli, tmp_path: Path) -> None:
    """Frames come from stdin here, and every line of stdout is ours."""
    assert chain is not None
    done = turngate("gate", "chain:only_chatty", "--frames", "-", "--json", cwd=tmp_path, stdin='"loud"\n')
    assert done.status == 0
    assert done.rows == [{"release": "LOUD"}, outcome("LOUD")]
    assert "a processor prints this" in done.err


def test_for_people_it_prints_lines_of_text(chain: Cli, tmp_path: Path) -> None:
    """The same, without braces."""
    done = chain("gate", "chain:masking", "--frames", frames(tmp_path, "pin 1234 ok"))
    assert done.status == 0
    assert 'release "pin ###' in done.out
    assert "completed: 11 characters released" in done.out


def test_what_is_not_run_here_is_said(chain: Cli, tmp_path: Path) -> None:
    """Or somebody takes an answer for judged, or a question for prepared."""
    done = run(chain, "before", frames(tmp_path, "hello"))
    assert done.status == 0
    assert done.rows[-1] == outcome("hello")
    unjudged, pre, asked = done.err.splitlines()
    assert "unjudged" in unjudged
    assert pre.endswith("pre-processors are not run here, only output processors are: welcome")
    assert asked.endswith("input processors are not run here, only output processors are: persona")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"private words", "not JSON"),
        (b'"\xff private"', "not JSON"),
        (b'["private"]', "a text or an object"),
        (b"12345", "a text or an object"),
        (b'{"text": ["private"]}', "check text"),
        (b'{"seq": -1, "text": "private"}', "check seq"),
        (b'{"txet": "private"}', 'no field "txet", did you mean text?'),
        (b'{"text": "private", "' + b"q" * 500 + b'": 1}', '"' + "q" * 40 + '..."; a frame is'),
    ],
)
def test_a_bad_line_is_named_by_number_and_never_quoted(chain: Cli, tmp_path: Path, line: bytes, said: str) -> None:
    """Blank lines count, so that an editor finds the place."""
    (tmp_path / "answer.jsonl").write_bytes(b'"fine"\n\n' + line + b"\n")
    done = run(chain, "masking", "answer.jsonl")
    assert done.status == 2
    assert "answer.jsonl, line 3" in done.sentence
    assert said in done.sentence
    assert "private" not in done.sentence
    assert done.out == ""


@pytest.mark.parametrize(
    ("name", "file", "said"),
    [
        ("masking", "nowhere.jsonl", "cannot read nowhere.jsonl"),
        ("masking", ".", "cannot read ."),
        ("nothing", "answer.jsonl", "has no 'nothing'"),
        ("names", "answer.jsonl", "type dict"),
    ],
)
def test_a_file_or_chain_that_cannot_be_used_is_status_2(
    chain: Cli, tmp_path: Path, name: str, file: str, said: str
) -> None:
    """One line says which."""
    frames(tmp_path, "hello")
    done = run(chain, name, file)
    assert done.status == 2
    assert said in done.sentence
