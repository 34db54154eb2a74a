"""`length_cap`: where an answer is cut, and that no one sees it happen."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from processors import Answer, DeclarationError, Deps
from processors.builtin import length_cap
from processors.testing import run_gate
from tests.cases.case import case
from tests.processors.builtin.leaks import assert_same_however_cut
from topics.graphemes import safe_length

WOMAN_CODING = "\U0001f469\u200d\U0001f4bb"
FLAG = "\U0001f1e9\U0001f1ea"
TEXTS = st.text(st.sampled_from([*"ab \r\n", "\u0301", "\u200d", "\U0001f469", "\U0001f1e9", "\uac00", "\u11a8"]))


def capped(text: str, limit: int, ellipsis: str = "\u2026") -> str:
    """Return what the processor makes of a whole text."""
    return length_cap(limit, ellipsis).process(Answer(text)).text


def test_the_case_comes_out_as_it_says() -> None:
    """`length-cap`: cut to its very text, however it is cut before."""
    given = case("length-cap")
    assert_same_however_cut(length_cap(20), "".join(given.frames), given.expected["final"])
    run = run_gate([length_cap(20)], given.frames)
    assert (run.releases, run.outcome) == (["Hello there,", " gentle", "\u2026"], "completed")


@pytest.mark.parametrize(
    ("length", "expected"), [(0, ""), (4, "aaaa"), (5, "aaaaa"), (6, "aaaa\u2026"), (500, "aaaa\u2026")]
)
def test_only_what_is_too_long_is_cut(length: int, expected: str) -> None:
    """An answer of exactly the limit is not."""
    assert capped("a" * length, 5) == expected


def test_the_ellipsis_counts_and_may_be_none() -> None:
    """The limit is a limit."""
    assert capped("abcdef", 5, "...") == "ab..."
    assert capped("abcdef", 3, "...") == "..."
    assert capped("abcdef", 3, "") == "abc"


@pytest.mark.parametrize("cluster", [WOMAN_CODING, FLAG, "e\u0301", "\r\n", "\uac00\u11a8"])
def test_no_character_is_cut_in_two(cluster: str) -> None:
    """It is left out as a whole, and no reader sees a part of it meanwhile."""
    for before in range(4):
        text = "ab" * before + cluster * 3 + "tail"
        for limit in range(2, len(text)):
            out = capped(text, limit)
            assert len(out) <= limit
            cut = len(out) - 1
            assert out == text[:cut] + "\u2026"
            assert safe_length(text, cut) == cut
            assert_same_however_cut(length_cap(limit), text, out, drawn=5)


def test_a_pile_of_marks_is_no_way_to_have_everything_cut() -> None:
    """Nor to have it all held: a cluster that long is cut in two."""
    text = "Hello a" + "\u0301" * 100
    assert capped(text, 50) == text[:49] + "\u2026"
    assert_same_however_cut(length_cap(50), text, text[:49] + "\u2026", drawn=20)


def test_what_is_far_from_the_limit_flows_at_once() -> None:
    """And near it all but a character that may grow."""
    scanner = length_cap(1_000).open_scanner()
    assert scanner.feed("Hello the") == "Hello the"
    near = length_cap(9).open_scanner()
    assert [near.feed(char) for char in "Hello th"] == ["", *"Hello t"]
    assert near.feed("e") == "h"
    assert near.finish() == "e"


def test_what_follows_the_cut_costs_nothing_and_changes_nothing() -> None:
    """Nothing of it is kept."""
    scanner = length_cap(5).open_scanner()
    assert scanner.feed("abcdef") == "abcd\u2026"
    assert [scanner.feed("x" * 1_000) for _ in range(3)] == ["", "", ""]
    assert scanner.finish() == ""
    assert scanner.changes == 1


@given(TEXTS, st.integers(1, 12), st.sampled_from(["", "\u2026", "...", "\u0301"]), st.integers(1, 4))
@example("\r\n\r\n", 2, "\u2026", 1)
def test_a_scanner_says_what_its_processor_says(text: str, limit: int, ellipsis: str, size: int) -> None:
    """And takes nothing back."""
    if len(ellipsis) > limit:
        return
    settled = capped(text, limit, ellipsis)
    assert len(settled) <= limit
    scanner = length_cap(limit, ellipsis).open_scanner()
    out = ""
    for place in range(0, len(text), size):
        out += scanner.feed(text[place : place + size])
        assert settled.startswith(out)
    assert out + scanner.finish() == settled


@given(TEXTS, st.integers(100, 140))
def test_a_long_limit_is_kept_like_a_short_one(text: str, limit: int) -> None:
    """Where most of an answer is far from its cut."""
    whole = "x" * (limit - 10) + text
    settled = capped(whole, limit)
    scanner = length_cap(limit).open_scanner()
    out = "".join(scanner.feed(char) for char in whole)
    assert settled.startswith(out)
    assert out + scanner.finish() == settled
    assert settled == whole or (len(settled) <= limit and settled.endswith("\u2026"))


def test_it_scans() -> None:
    """So that text flows while the model writes."""
    assert Deps(output_processors=[length_cap(5)]).manifest.release_mode == "scan"


@pytest.mark.parametrize(("limit", "ellipsis"), [(0, ""), (-1, ""), (2, "..."), (True, ""), (2.5, "")])
def test_a_limit_that_cannot_be_is_refused(limit: int, ellipsis: str) -> None:
    """When it is declared, not when an answer comes."""
    with pytest.raises(DeclarationError, match="room for the ellipsis"):
        length_cap(limit, ellipsis)
