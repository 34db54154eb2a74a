"""Text as a detector reads it, and the way back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.patterns import Pattern
from processors.patterns.folding import Unmasked, context, fold


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("plain ascii", "plain ascii"),
        ("b\u200bo\u2060b", "bob"),
        ("b\u00ado\ufe0fb", "bob"),
        ("\uff42\uff4f\uff42\uff20", "bob@"),
        ("b\u043eb", "bob"),
        ("be\u0301", "be"),
        ("b\u00e9", "be"),
        ("\u338f\ufb01", "kgfi"),
        ("\uff10\u0661\u06f2", "012"),
        ("000\u201112\u20133456", "000-12-3456"),
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\U0001f4bb"),
        ("", ""),
    ],
)
def test_disguises_are_undone(written: str, read: str) -> None:
    """Nothing of a width, wide forms, look-alikes, marks, digits of other scripts."""
    assert fold(written).text == read


def test_a_text_that_is_read_as_it_is_says_so() -> None:
    """Then there is one reading only."""
    assert fold("ascii").places is None
    assert fold("中文 и").places is None
    assert fold("é").places is not None


@given(st.text(st.sampled_from("ab\u200b\u0301é\u338f\uff20\u200d\U0001f469中")))
def test_places_lead_back_to_the_characters_that_were_read(text: str) -> None:
    """Each character of the folded text is of the character it stands at."""
    view = fold(text)
    for index, char in enumerate(view.text):
        place = view.back(index)
        assert char in fold(text[place]).text
        assert view.back_end(index + 1) == place + 1
        assert view.forth(place) <= index < view.forth(place + 1)
    assert view.back(len(view.text)) == len(text)
    assert view.forth(len(text)) == len(view.text)


@given(st.text("ab\u200b\u0301é"), st.text("ab\u200bé"), st.integers(1, 4))
def test_neighbours_are_kept_as_far_as_a_detector_looks_back(before: str, after: str, count: int) -> None:
    """In both readings, and no more than twice as many."""
    kept = context(before + after, len(before), count)
    assert kept[-count:] == before[-count:]
    assert fold(kept).text[-count:] == fold(before).text[-count:]
    assert len(kept) <= 2 * count


def unmasked(pattern: str, text: str, start: int = 0) -> list[str]:
    """Return what a pattern finds in a text through its folds."""
    finder = Unmasked(Pattern(pattern), fold(text))
    return [text[one.start : one.end] for one in finder.spans(text, start, ended=True)]


def test_findings_are_of_whole_characters_of_the_original() -> None:
    """A character that is read as two is taken if one of them is, and once."""
    assert unmasked("bob", "xb\u200bobx") == ["b\u200bob"]
    assert unmasked("k", "1\u338f") == ["\u338f"]
    assert unmasked("[kg]", "1\u338fg") == ["\u338f", "g"]
    assert unmasked("g1", "\u338f1") == ["\u338f1"]
    assert unmasked("b", "b\u200bb", 1) == ["b"]


def test_what_is_open_begins_with_a_whole_character() -> None:
    """Of the original."""
    text = "1\u338f"
    assert Unmasked(Pattern("g1"), fold(text)).open_from(text) == 1
    text = "b\u200bo"
    assert Unmasked(Pattern("bob"), fold(text)).open_from(text) == 0
    text = "x\u200b"
    assert Unmasked(Pattern("bob"), fold(text)).open_from(text) == 2
