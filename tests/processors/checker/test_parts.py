"""The checker's own parts: windows by the gate's rule, growing, shortening, texts from code, the clock."""

from __future__ import annotations

import datetime as dt
import functools
import re
import time
from dataclasses import dataclass
from typing import Any

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from processors import Answer, Pass, output_processor
from processors.checker.clock import clock_at
from processors.checker.grow import UNBOUNDED, Case, grow
from processors.checker.reach import reach
from processors.checker.samples import is_endless, samples, texts_between
from processors.checker.shorten import shorten
from processors.checker.texts import Text
from processors.checker.window import common_length, window_needed
from processors.declare import as_processor
from streams.gate.release import releasable

_TEXTS = st.text("ab\r\n\u0301\u200d\U0001f1e9", max_size=12)
_HIDDEN = re.compile(r"EMP-\d{6}")


@given(one=_TEXTS, other=_TEXTS)
def test_the_common_length_is_the_longest_common_beginning(one: str, other: str) -> None:
    """Compared with counting."""
    counted = 0
    while counted < min(len(one), len(other)) and one[counted] == other[counted]:
        counted += 1
    assert common_length(one, other) == counted


@given(output=_TEXTS, data=st.data())
def test_the_window_needed_is_the_smallest_that_the_gates_rule_needs(output: str, data: st.DataObject) -> None:
    """Every smaller one lets out more than is agreed; grapheme clusters may make it smaller than the difference."""
    agreed = data.draw(st.integers(0, len(output)))
    window = window_needed(output, agreed)
    assert len(releasable(output, "", window) or "") <= agreed
    assert all(len(releasable(output, "", smaller) or "") > agreed for smaller in range(window))


def _half_matched(pattern: str) -> Case:
    """Return a case that is about the end of a text which may still become a match."""
    return Case(Text("corpus", 1, "so: ab@c"), 7, 8, _held(pattern, "so: ab@", "so: ab@c"))


def _held(pattern: str, head: str, whole: str) -> int:
    match = re.search(pattern + r"\Z", whole)
    return len(head) - match.start() if match else 0


def test_an_example_grows_up_to_the_bound_of_its_pattern() -> None:
    """Eight letters, and what stands behind them."""
    pattern = "[a-z]{1,8}@c"
    assert grow(_half_matched(pattern), functools.partial(_held, pattern)).need == 9


def test_an_example_of_a_pattern_without_bound_grows_without_bound() -> None:
    """And with a limit, as little as it takes."""
    pattern = "[a-z]+@c"
    case = _half_matched(pattern)
    assert grow(case, functools.partial(_held, pattern)).need >= UNBOUNDED
    assert grow(case, functools.partial(_held, pattern), until=40).need == 40


def test_an_example_is_shortened_on_both_sides() -> None:
    """Places stay those of the text it is in."""
    text = Text("corpus", 1, "before [12|34] after")

    def breaks(head: str, whole: str) -> bool:
        return head.endswith("12|") and "34" in whole[len(head) :]

    example = shorten(text, (11, 20), breaks)
    assert (example.head, example.tail) == ("12|", "34")
    assert (example.start, example.split, example.end) == (8, 11, 13)


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        (r"EMP-\d{6}", 0),
        (r"(?:sk|pk)[-_](?:live|test)_[A-Za-z0-9]{4,}", 0),
        (r"[^@\s]+@[^@\s]+", 0),
        (r"\b(\w)\w*\.(?:com|org)\b", re.IGNORECASE),
        (r"<(?P<tag>\w+)>.*?</", re.DOTALL),
    ],
)
def test_the_samples_of_a_pattern_match_it(pattern: str, flags: int) -> None:
    """All of them, so that each branch and each length is met."""
    made = samples(pattern, flags)
    assert made
    assert all(re.search(pattern, sample, flags) for sample in made)


def test_each_branch_of_a_pattern_has_a_sample() -> None:
    """Otherwise half of a pattern would never be met."""
    assert {"cat", "dog", "bird"} <= set(samples("cat|dog|bird", 0))


@pytest.mark.parametrize(
    ("pattern", "endless"), [(r"a{1,64}", False), (r"\d+", True), (r"(?:a|b*)c", True), ("abc", False), ("(", False)]
)
def test_a_pattern_without_a_longest_match_is_recognised(pattern: str, *, endless: bool) -> None:
    """By its tree alone."""
    assert is_endless(pattern, 0) is endless


def test_texts_are_made_in_which_one_member_writes_what_another_looks_for() -> None:
    """The one that shows why such a chain needs the sum is among them."""
    assert "12abcd" in texts_between([["abcd", "34"], ["1234", "####"]], 40, seed=0)


@dataclass
class _Holder:
    wanted: re.Pattern[str]


def test_patterns_and_words_are_found_wherever_a_function_keeps_them() -> None:
    """In a global, a closure, an object, a default, a module's engine, or the code itself."""
    holder, linear = _Holder(re.compile("held+")), re2.compile(r"lin\x{65}ar+")

    @output_processor("finds")
    def finds(answer: Answer, words: tuple[str, ...] = ("orion",)) -> Pass:
        """Say nothing."""
        found = holder.wanted.search(answer.text) or linear.search(answer.text) or _HIDDEN.search(answer.text)
        assert not found
        assert re.search(r"written (here|there)", answer.text) is None
        assert answer.text not in words
        return Pass()

    reached = reach([as_processor(finds, "output").call])
    assert {"held+", r"lin\U00000065ar+", r"EMP-\d{6}", "written (here|there)"} <= {one for one, _ in reached.patterns}
    assert "orion" in reached.words
    assert "Say nothing." not in reached.words


def test_the_clock_stands_elsewhere_and_comes_back() -> None:
    """For the modules, for names taken from them, and for instances of the real classes."""
    names: dict[str, Any] = {"now": time.time, "datetime": dt.datetime}
    before = (time.time, dt.datetime)
    with clock_at(86_400.0, [names]):
        assert names["now"]() == time.time() == 86_400.0
        assert dt.datetime.now(tz=dt.UTC).isoformat() == "1970-01-02T00:00:00+00:00"
        assert names["datetime"] is dt.datetime
        assert isinstance(dt.datetime.now(tz=dt.UTC), dt.datetime)
        assert time.gmtime().tm_mday == 2
    assert (time.time, dt.datetime) == before
    assert names == {"now": before[0], "datetime": before[1]}
