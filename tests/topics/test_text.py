"""Text is valid UTF-8, whatever a producer wrote."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topics.text import followed_by, piece, well_formed

HIGH, LOW = "\ud83d", "\ude00"
ANYTHING = st.text(st.characters(), max_size=20) | st.text(st.sampled_from([HIGH, LOW, "a", "\xe9", "\U0001f600"]))


@given(ANYTHING)
def test_any_text_becomes_utf8_and_stays_so(value: str) -> None:
    """To mend it twice is to mend it once."""
    mended = well_formed(value)
    assert isinstance(mended, str)
    mended.encode()
    assert well_formed(mended) == mended


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_good_text_is_left_alone(value: str) -> None:
    """Character by character."""
    assert well_formed(value) == value


def test_two_halves_are_one_character() -> None:
    """As JSON spells it."""
    assert well_formed(f"a{HIGH}{LOW}b") == "a\U0001f600b"


def test_a_half_alone_is_replaced() -> None:
    """Wherever it stands, and whichever half; those beside it stay."""
    assert well_formed(f"a{HIGH}b") == "a\ufffdb"
    assert well_formed(f"{LOW}\xe9") == "\ufffd\xe9"
    assert well_formed(f"{LOW}{HIGH}") == "\ufffd\ufffd"
    assert well_formed(f"{HIGH}{HIGH}{LOW}") == "\ufffd\U0001f600"


def test_what_is_no_text_is_left_to_others() -> None:
    """The field's own check refuses it."""
    assert well_formed(None) is None
    assert well_formed(b"\xff") == b"\xff"
    assert well_formed(7) == 7


@given(st.lists(st.text(st.sampled_from([HIGH, LOW, "a", "\xe9", "\U0001f600"]), max_size=4), max_size=6))
def test_a_text_taken_in_piece_by_piece_is_the_text_taken_in_at_once(pieces: list[str]) -> None:
    """Halves that meet are one character, whether they came together or not."""
    text = ""
    for number, one in enumerate(pieces):
        last = number == len(pieces) - 1
        text = followed_by(text, piece(one, ended=last), ended=last)
    assert text == well_formed("".join(pieces))


def test_only_a_half_that_may_still_be_completed_is_kept() -> None:
    """At the end of what has not ended, and at the beginning of a piece."""
    assert followed_by("a", f"b{HIGH}", ended=False) == f"ab{HIGH}"
    assert followed_by(f"a{HIGH}", "", ended=True) == "a\ufffd"
    assert followed_by("a", f"{LOW}{HIGH}b", ended=False) == "a\ufffd\ufffdb"
    assert piece(f"{LOW}{HIGH}b{LOW}{HIGH}", ended=False) == f"{LOW}\ufffdb\ufffd{HIGH}"
    assert piece(f"{LOW}{HIGH}", ended=True) == f"{LOW}\ufffd"
