"""How much of a pass's output may go out, and how it is cut into records."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.gate.release import pieces, releasable
from topics.graphemes import safe_length

TEXT = st.text(st.sampled_from([*"abc\r\n", "\u0301", "\u200d", "\U0001f1e9"]), max_size=12)


def test_all_but_the_window_goes_out() -> None:
    """To the character."""
    assert releasable("0123456789", "", 4) == "012345"
    assert releasable("0123456789", "0123", 4) == "45"


def test_a_window_of_nothing_holds_nothing() -> None:
    """Counting from the end by minus zero would hold everything."""
    assert releasable("0123456789", "", 0) == "0123456789"
    assert releasable("0123456789", "01234", 0) == "56789"


@pytest.mark.parametrize("window", [10, 11, 1000])
def test_a_window_as_wide_as_the_output_holds_all(window: int) -> None:
    """And one that is wider does not wrap around to the other end."""
    assert releasable("0123456789", "", window) == ""


def test_an_ended_answer_has_no_window() -> None:
    """What was held goes out with the settled answer."""
    assert releasable("0123456789", "012", 1000, ended=True) == "3456789"
    assert releasable("abc", "abc", 4, ended=True) == ""


def test_a_release_never_splits_a_character_as_readers_see_it() -> None:
    """The window falls inside a cluster: all of it is held."""
    assert releasable("ab\r\ncd", "", 3) == "ab"
    assert releasable("ab\r", "", 0) == "ab"
    assert releasable("ab\r", "ab", 0, ended=True) == "\r"


def test_an_output_that_takes_back_released_text_gives_nothing_to_release() -> None:
    """Whatever is there past the released length does not follow what readers have."""
    assert releasable("XXXXXXXXXX", "0123", 2) is None
    assert releasable("0123X56789", "01234", 0) is None


def test_an_output_that_is_shorter_for_now_is_no_contradiction() -> None:
    """A pass may hold back more than one before it did; what it shows agrees."""
    assert releasable("0123", "01234", 2) == ""
    assert releasable("0123", "01234567", 0) == ""


def test_a_shorter_output_that_differs_contradicts() -> None:
    """Where it does show something, it must agree."""
    assert releasable("X123", "01234", 0) is None


@pytest.mark.parametrize("settled", ["", "012", "X1234", "01X34", "X123456789"])
def test_a_settled_answer_must_start_with_all_that_is_out(settled: str) -> None:
    """Shorter is a contradiction too: released text cannot be called back."""
    assert releasable(settled, "01234", 0, ended=True) is None


@given(TEXT, TEXT, st.integers(0, 14), st.booleans())
def test_what_is_out_afterwards_is_a_prefix_of_the_output(output: str, released: str, window: int, ended: bool) -> None:
    """It leaves the window alone unless the answer has ended, and nothing else that could have gone out."""
    tail = releasable(output, released, window, ended=ended)
    if ended:
        assert tail == (output[len(released) :] if output.startswith(released) else None)
    elif tail:
        out = released + tail
        assert output.startswith(out)
        assert len(out) <= len(output) - window
        assert all(safe_length(output, cut) == len(out) for cut in range(len(out), len(output) - window + 1))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), st.integers(14, 40))
def test_pieces_are_the_text_again(text: str, limit: int) -> None:
    """In order, each within the limit as JSON, none empty but that of an empty text."""
    cut = list(pieces(text, limit))
    assert "".join(cut) == text
    assert all(len(orjson.dumps(piece)) <= limit for piece in cut)
    assert all(cut) or cut == [""]


def test_pieces_end_between_clusters() -> None:
    """Where there is room for one in a piece."""
    text = "\r\n" * 50 + "e\u0301" * 50
    cut = list(pieces(text, 24))
    length = 0
    for piece in cut:
        length += len(piece)
        assert safe_length(text, length) == length


def test_escapes_count_as_they_are_spelt() -> None:
    """A quote takes two bytes, a control character six."""
    assert all(len(orjson.dumps(piece)) <= 32 for piece in pieces('"' * 100 + "\x00" * 100, 32))


def test_a_cluster_wider_than_a_piece_is_cut_all_the_same() -> None:
    """Better that than a record the broker refuses."""
    cut = list(pieces("a" + "\u0301" * 100, 32))
    assert "".join(cut) == "a" + "\u0301" * 100
    assert all(len(orjson.dumps(piece)) <= 32 for piece in cut)
