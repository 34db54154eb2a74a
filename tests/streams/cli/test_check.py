"""`turngate processors check`: whether a chain keeps its promise, told to people and to programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.streams.cli.command import Cli, turngate

CHAIN = """
import re
from processors import Deps, Incremental, Pass, Replace, output_processor

@output_processor("right", incremental=Incremental(lookback_chars=3))
def right(answer): return Replace(answer.text.replace("1234", "####"))

@output_processor("pins", incremental=Incremental(lookback_chars=2))
def pins(answer): return Replace(answer.text.replace("1234", "####"))

@output_processor("letters", incremental=Incremental(lookback_chars=3))
def letters(answer): return Replace(answer.text.replace("abcd", "34"))

@output_processor("unicorns", incremental=Incremental(lookback_chars=0))
def unicorns(answer):
    print("a processor prints this")
    return Replace(answer.text.replace(chr(0x1F984) * 2, "##"))

right_one = [right]
small = [pins]
feeding = Deps(output_processors=[letters, right])
only_unicorns = Deps(output_processors=[unicorns])
both = Deps(output_processors=[right, pins])
names = {}
"""


@pytest.fixture
def chain(cli: Cli, tmp_path: Path) -> Cli:
    """Give the command line beside a module of chains, which the current directory holds."""
    (tmp_path / "checked.py").write_text(CHAIN)
    return cli


def corpus(tmp_path: Path, *lines: object) -> str:
    """Write a corpus, and return its name."""
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "corpus.jsonl"


def test_a_chain_that_holds_is_status_0_with_a_summary(chain: Cli) -> None:
    """The smallest window of each member, and of the chain."""
    done = chain("processors", "check", "checked:right_one", "--json")
    assert done.status == 0
    (summary,) = done.rows
    assert (summary["ok"], summary["mode"], summary["needs_sum"]) == (True, "incremental", False)
    assert summary["members"] == [
        {"processor": "right", "declared": 3, "smallest": 3, "unbounded": False, "scans": False}
    ]
    assert (summary["chain"]["processor"], summary["chain"]["smallest"]) == (None, 3)
    assert done.err == ""


def test_a_chain_that_leaks_is_status_1_with_the_shortest_split(chain: Cli) -> None:
    """The finding comes first, the summary last."""
    done = chain("processors", "check", "checked:small", "--json")
    assert done.status == 1
    finding, summary = done.rows
    assert (finding["finding"], finding["level"], finding["processor"]) == ("window", "error", "pins")
    assert (finding["declared"], finding["needed"]) == (2, 3)
    split = finding["example"]
    assert (split["head"], split["tail"], split["released"], split["settled"]) == ("123", "4", "1", "####")
    assert (split["split"] - split["start"], split["end"] - split["split"]) == (3, 1)
    assert (summary["ok"], summary["errors"]) == (False, 1)


def test_people_get_a_table_and_sentences(chain: Cli) -> None:
    """With the split, and what to do."""
    done = chain("processors", "check", "checked:small")
    assert done.status == 1
    assert "smallest that holds" in done.out
    assert "error: pins: 2 characters are held back, and 3 have to be" in done.out
    assert '"123" | "4"  out: "1"  settled: "####"' in done.out
    assert "broken: 1 error, 0 warnings" in done.out


def test_a_chain_that_needs_the_sum_holds_with_it(chain: Cli) -> None:
    """Given on the command line, here."""
    done = chain("processors", "check", "checked:feeding", "--window", "sum", "--json")
    assert done.status == 0
    assert done.rows[-1]["needs_sum"]


def test_texts_of_a_corpus_are_named_by_line_and_not_shown(chain: Cli, tmp_path: Path) -> None:
    """Blank lines count; they are shown to those who ask."""
    name = corpus(tmp_path, "fine", {"text": "private \N{UNICORN FACE}\N{UNICORN FACE}"})
    (tmp_path / name).write_text("\n" + (tmp_path / name).read_text())
    command = ("processors", "check", "checked:only_unicorns", "--corpus", name)
    done = chain(*command, "--json")
    assert done.status == 1
    split = done.rows[0]["example"]
    assert (split["source"], split["text"], split["start"], split["split"], split["end"]) == ("corpus", 3, 8, 9, 10)
    assert "head" not in split
    shown = chain(*command, "--json", "--show").rows[0]["example"]
    assert (shown["head"], shown["tail"]) == ("\N{UNICORN FACE}", "\N{UNICORN FACE}")
    told = chain(*command)
    assert "split: 1 + 1 characters (corpus text 3, from 8, split at 9, to 10)" in told.out
    assert "\N{UNICORN FACE}" not in told.out


def test_no_show_hides_the_built_in_texts_too(chain: Cli) -> None:
    """For logs that are to hold no text at all."""
    done = chain("processors", "check", "checked:small", "--no-show")
    assert done.status == 1
    assert '"123"' not in done.out


def test_one_member_of_the_deps_is_checked_by_its_name(chain: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one, which leaks, is left out."""
    monkeypatch.setenv("TURNGATE_DEPS", "checked:both")
    done = chain("processors", "check", "right", "--json")
    assert done.status == 0
    assert [member["processor"] for member in done.rows[-1]["members"]] == ["right"]
    assert chain("processors", "check", "pins", "--json").status == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("checked:nothing",), "has no 'nothing'"),
        (("checked:names",), "type dict"),
        (("absent:deps",), "cannot import 'absent'"),
        (("right",), "TURNGATE_DEPS"),
        (("wrong", "--deps", "checked:both"), "there are: right, pins"),
        (("checked:small", "--corpus", "nowhere.jsonl"), "cannot read nowhere.jsonl"),
        ((), "turngate processors check --help"),
        (("checked:small", "--window", "narrow"), "--window"),
    ],
)
def test_what_cannot_be_checked_is_status_2_and_one_line(chain: Cli, arguments: tuple[str, ...], said: str) -> None:
    """The line says what to do."""
    done = chain("processors", "check", *arguments)
    assert done.status == 2
    assert said in done.sentence
    assert done.out == ""


@pytest.mark.parametrize(
    "line", [b"private", b'"\xff private"', b'["private"]', b'{"texts": "private"}', b"[" * 100_000]
)
def test_a_bad_line_of_a_corpus_is_named_by_number_and_never_quoted(chain: Cli, tmp_path: Path, line: bytes) -> None:
    """As an editor counts."""
    (tmp_path / "corpus.jsonl").write_bytes(b'"fine"\n\n' + line + b"\n")
    done = chain("processors", "check", "checked:small", "--corpus", "corpus.jsonl")
    assert done.status == 2
    assert "corpus.jsonl, line 3" in done.sentence
    assert "private" not in done.sentence


def test_what_processors_print_is_not_on_stdout(chain: Cli, tmp_path: Path) -> None:
    """Texts come from stdin here, and every line of stdout is ours."""
    assert chain is not None
    done = turngate(
        "processors", "check", "checked:only_unicorns", "--corpus", "-", "--json", cwd=tmp_path, stdin='"fine"\n'
    )
    assert done.status == 0
    assert [row["ok"] for row in done.rows] == [True]
    assert "a processor prints this" in done.err
