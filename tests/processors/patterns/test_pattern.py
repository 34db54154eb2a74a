"""A pattern matches where Python's `re` would, and what it would."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from processors.patterns import Pattern, Span
from tests.processors.patterns.written import TEXTS, examples, patterns


def found(pattern: Pattern, text: str, start: int = 0) -> list[tuple[int, int]]:
    """Return where a pattern matches."""
    return [(span.start, span.end) for span in pattern.spans(text, start, ended=True) if span.holds]


@examples(400)
@given(patterns(), st.lists(TEXTS, min_size=4, max_size=4), st.integers(0, 3))
@example(r"\b[\w.-]+b", ["-ab", "..ab", "éab"], 0)
@example(r"1{1,2}(?![a])", ["11a", "1a1"], 0)
@example(r"(?<!a)b+1?", ["abb1", "bb"], 1)
@example(r"a$", ["a\n", "a\na\n", "a\n\n"], 0)
@example(r"(?i)(?<!a)b", ["Ab", "AB"], 0)
@example(r"(?a)\bé?a", ["éa", "bé"], 0)
def test_it_matches_what_re_matches(written: str, texts: list[str], start: int) -> None:
    """From any place on, what stands before it being a neighbour."""
    pattern = Pattern(written)
    for text in texts:
        begin = min(start, len(text))
        assert found(pattern, text, begin) == [match.span() for match in re.compile(written).finditer(text, begin)]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b", "...bob@acme.co, -x@y.zz_ a@b.com1 é@c.de éa@c.de"),
        (r"\b[\w.]+\b", ".a.b. _ é.é"),
        (r"(?<!\S)\d+(?!\S)", "1 2,3 \u00a04\n"),
        (r"(?<![\w-])-?\d{1,3}(?![\d.])", "-12 -1234 x-5 6.7 8"),
        (r"\b(?:foo|bar)\b", "foo foobar bar_ é-bar foo"),
        (r"^\s*x.*?$", "x\n xy\n"),
        (r"(?m)^x.*$", "x\nyx\nxz"),
        (r"\Ax|y\Z", "xy"),
        (r"\b\w+?\b(?!-)", "ab-cd ef"),
        (r"\b-?\w\b", "a-b --c"),
        (r"a1?[b.]\b", "ab a.b a.. ba a1b a1.b"),
    ],
)
def test_patterns_as_people_write_them(written: str, text: str) -> None:
    """With word boundaries at both ends, and more than one edge at a side."""
    if "|" in written and written.startswith(r"\A"):
        with pytest.raises(Exception, match="anchor"):
            Pattern(written)
        return
    assert found(Pattern(written), text) == [match.span() for match in re.finditer(written, text)]


def test_a_word_boundary_behind_what_may_end_either_way_prefers_the_word() -> None:
    """The one place where a match may be shorter than that of `re`: it begins at the same place."""
    assert found(Pattern(r"a\.?\b"), "a.b") == [(0, 1)]


def test_a_match_that_is_refused_is_none_and_the_search_goes_on_behind_it() -> None:
    """It is told all the same, as what it is."""
    pattern = Pattern(r"\d{2,4}", check=lambda text: len(text) == 2)
    assert list(pattern.spans("12 1234 56", ended=True)) == [Span(0, 2), Span(3, 7, holds=False), Span(8, 10)]


def test_places_are_code_points() -> None:
    """Whatever a character takes in UTF-8."""
    assert found(Pattern(r"\bb+"), "é b \U0001f600b 中bb\uff0cbb") == [(2, 3), (5, 6), (11, 13)]


def test_halves_of_characters_hurt_nobody() -> None:
    """A lone surrogate is some character."""
    text = "\ud83d1\ude00 22"
    assert found(Pattern(r"\d+"), text) == [(1, 2), (4, 6)]
    assert Pattern(r"\d+").open_from(text) == 4


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"(?:a+)+$", "a" * 50_000 + "b"),
        (r"(?:a|aa)+c", "a" * 50_000),
        (r"\b[\w.+-]+@\w+\.\w+", "." * 100_000),
        (r"(?<!a)a+b", "a" * 100_000),
        (r"(?:\w*\.)*@", "a." * 50_000),
    ],
)
def test_no_text_takes_more_than_a_few_readings(written: str, text: str) -> None:
    """Engines that backtrack, and loops that look again one character on, would not come back from these."""
    pattern = Pattern(written)
    assert found(pattern, text) == []
    assert 0 <= pattern.open_from(text) <= len(text)


def test_many_matches_are_found_in_a_long_text() -> None:
    """One reading for all of them."""
    text = "12é " * 50_000
    assert len(found(Pattern(r"\d+"), text)) == 50_000
