"""Processors that are slow, hang, or take their process down: the check reports them, and comes to its own end."""

from __future__ import annotations

import os
import re
import threading

import pytest

from processors import Answer, Deps, DepsError, Incremental, Pass, Reject, Replace, output_processor
from processors.checker import Options, check, given_texts
from processors.testing import check_promise
from tests.processors.checker.finding import example, kinds, the

_NESTED = re.compile(r"^(?:x|xx)+!$")
_HEAVY = re.compile(r"(?:(?:[a-z]+)+)+\d$")
_SQUARE = re.compile(r"\w+@\w{1,3}")


@output_processor("nested", incremental=Incremental(lookback_chars=0))
def nested(answer: Answer) -> Pass | Reject:
    """Refuse by a pattern that tries every way to cut a run in ones and twos."""
    return Reject("no") if _NESTED.search(answer.text) else Pass()


@output_processor("heavy")
def heavy(answer: Answer) -> Pass | Reject:
    """Refuse by a pattern that hangs on the built-in texts already."""
    return Reject("no") if _HEAVY.match(answer.text.replace(" ", "")) else Pass()


@output_processor("square")
def square(answer: Answer) -> Replace:
    """Replace by a pattern that looks for the rest from each character of a word."""
    return Replace(_SQUARE.sub("[x]", answer.text))


@output_processor("waits", incremental=Incremental(lookback_chars=0))
def waits(answer: Answer) -> Pass:
    """Never come back from one text."""
    if answer.text.endswith("lazy dog"):
        threading.Event().wait()
    return Pass()


@output_processor("exits", incremental=Incremental(lookback_chars=0))
def exits(answer: Answer) -> Pass:
    """Take the process down at one text."""
    if answer.text.endswith("lazy dog"):
        os._exit(0)
    return Pass()


@output_processor("pins", incremental=Incremental(lookback_chars=2))
def pins(answer: Answer) -> Replace:
    """Be wrong in another way."""
    return Replace(answer.text.replace("1234", "####"))


def test_a_pattern_that_backtracks_without_end_is_reported_while_it_is_short() -> None:
    """It is not called with anything that would not come back, and the rest of the check goes on."""
    report = check_promise([nested])
    found = the(report, "slow", "nested")
    assert found.level == "error"
    assert "backtracks without end" in found.message
    assert set(example(found).head.rstrip("\x00\n!")) == {"x"}
    assert kinds(report) == {"slow"}
    assert report.members[0].smallest == 0


def test_a_pattern_that_hangs_is_ended() -> None:
    """Whichever check meets it first."""
    report = check_promise([heavy], limit_s=0.5)
    assert kinds(report) & {"slow", "hangs"}


def test_time_that_grows_with_the_square_of_the_length_is_reported() -> None:
    """With what a long answer would take; whether that is over the limit depends on the machine."""
    found = the(check_promise([square]), "slow", "square")
    assert "to the power of" in found.message


def test_a_call_that_hangs_is_ended_and_named_with_its_text() -> None:
    """The next member is checked, and the chain, which would hang too, is not."""
    report = check_promise([waits, pins], limit_s=0.5)
    found = the(report, "hangs", "waits")
    assert example(found).head.endswith("lazy dog")
    assert the(report, "window", "pins").needed == 3
    assert report.members[0].smallest is None
    assert report.chain is not None
    assert report.chain.smallest is None


def test_a_call_that_ends_its_process_is_named_with_its_text() -> None:
    """It does not end ours."""
    report = check_promise([exits, pins])
    found = the(report, "crashes", "exits")
    assert example(found).head.endswith("lazy dog")
    assert the(report, "window", "pins").needed == 3


def test_a_stage_that_takes_too_long_ends_in_good_order() -> None:
    """And the report says that not all was tried."""
    options = Options(texts=given_texts(["word " * 200]), budget_s=0.01)
    report = check(lambda: Deps(output_processors=[pins]), options)
    assert "incomplete" in kinds(report, "warning")


def test_errors_of_a_deps_come_through() -> None:
    """It is loaded in the other process, and the error is as if it had been loaded here."""

    def broken() -> Deps:
        return Deps(output_processors=[1])

    with pytest.raises(DepsError, match=r"output_processors\[0\]"):
        check(broken, Options())


def test_progress_is_told() -> None:
    """What is being done, and how much of all is done."""
    told: list[tuple[int, int, str]] = []
    check(lambda: Deps(output_processors=[pins]), Options(), lambda *now: told.append(now[:3]))
    assert {"speed: pins", "window: pins"} <= {doing for _, _, doing in told}
    assert {total for _, total, doing in told if doing == "window: pins"} == {3}
