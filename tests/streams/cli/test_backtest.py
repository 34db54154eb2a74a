"""`turngate backtest`: recorded answers through two chains."""

from __future__ import annotations

import json
from pathlib import Path

from tests.docs.markdown import ROOT
from tests.streams.cli.command import turngate

SAMPLES = "tests.streams.cli.one_of_each"
MARK = "tests.integration.versions:deps"


def recorded(folder: Path) -> str:
    """Write three answers: two of turns, in frames that are mixed, and one in an array; and one that never ended."""
    ids = [{"thread_id": "h", "turn_id": name} for name in ("a", "b", "open")]
    frames = [
        {**ids[0], "seq": 0, "text": "all that is go"},
        {**ids[1], "seq": 0, "text": "tin"},
        {**ids[0], "seq": 1, "text": "ld", "finish_reason": "stop"},
        {**ids[2], "seq": 0, "text": "and so"},
        {**ids[1], "seq": 1, "finish_reason": "stop"},
    ]
    path = folder / "frames.jsonl"
    path.write_text("\n".join([*map(json.dumps, frames), json.dumps(["copper"])]))
    return str(path)


def test_what_would_become_of_recorded_answers_is_counted_beside_what_became_of_them(tmp_path: Path) -> None:
    """Texts stay hidden."""
    done = turngate("backtest", f"{SAMPLES}:candidate", "--frames", recorded(tmp_path), "--json", cwd=ROOT)
    assert done.status == 0, done.err
    *differences, counts = done.rows
    assert [(one["answer"], one["candidate"]["outcome"]) for one in differences] == [("default/h/a/0/0", "rejected")]
    assert "gold" not in done.out.replace("no-gold", "")
    assert (counts["answers"], counts["left_out"], counts["different"]) == (3, 1, 1)
    assert (counts["active"]["completed"], counts["candidate"]["rejected"]) == (3, 1)
    assert counts["candidate"]["by"] == {"no-gold": 1}


def test_texts_are_shown_when_they_are_asked_for(tmp_path: Path) -> None:
    """Around the place where they differ first."""
    words = ("--frames", recorded(tmp_path), "--against", MARK, "--show", "--sample", "1")
    done = turngate("backtest", f"{SAMPLES}:nothing", *words, cwd=ROOT)
    assert done.status == 0, done.err
    assert '"copper [1]"' in done.out
    assert "3 with a difference" in done.out


def test_a_chain_that_takes_back_what_it_has_let_out_fails_the_test(tmp_path: Path) -> None:
    """Its promise is not kept: its readers would have seen their turns fail."""
    done = turngate("backtest", f"{SAMPLES}:unkept", "--frames", recorded(tmp_path), "--json", cwd=ROOT)
    assert done.status == 1
    assert done.rows[-1]["candidate"]["violations"] == done.rows[-1]["candidate"]["failed"] == 3


def test_a_file_without_a_whole_answer_is_refused(tmp_path: Path) -> None:
    """There is nothing to compare."""
    path = tmp_path / "open.jsonl"
    path.write_text('{"thread_id": "h", "turn_id": "a", "seq": 0, "text": "and so"}')
    done = turngate("backtest", MARK, "--frames", str(path), cwd=ROOT)
    assert (done.status, "no complete answer" in done.sentence) == (2, True)
