"""From code points to bytes and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.patterns import PatternError
from processors.patterns.classes import spell_set
from processors.patterns.engine import Encoded, Engine

TEXTS = st.text(st.sampled_from("aé秘\U0001f600\u0301"), min_size=1, max_size=8)


@given(TEXTS)
def test_places_and_offsets_lead_to_each_other(text: str) -> None:
    """Rising and falling."""
    encoded = Encoded(text)
    offsets = [encoded.offset(place) for place in range(len(text) + 1)]
    assert offsets == [len(text[:place].encode()) for place in range(len(text) + 1)]
    assert [encoded.place(offset) for offset in offsets] == list(range(len(text) + 1))
    assert [encoded.place(offset) for offset in reversed(offsets)] == list(reversed(range(len(text) + 1)))
    assert [encoded.before(offset) for offset in offsets] == [0, *offsets[:-1]]
    assert [encoded.after(offset) for offset in offsets[:-1]] == offsets[1:]


def test_a_group_that_took_part_is_found() -> None:
    """Of several; without groups, the whole match."""
    encoded = Encoded("xab")
    assert Engine("x(a)b|(c)", groups=2).find_group(encoded) == (1, 2)
    assert Engine("(c)|x(a)", groups=2).find_group(encoded) == (1, 2)
    assert Engine("x(a)").find_group(encoded) == (0, 2)
    assert Engine("x(c)", groups=1).find_group(encoded) is None
    assert Engine("b").find(encoded, 1) == (2, 3)
    assert Engine("b").find(encoded, 3) is None


@pytest.mark.parametrize("spelling", ["a{1001}", "(?:a{1000}){1000}", r"(?:\pL{1000}){1,9}"])
def test_what_is_too_large_is_refused(spelling: str) -> None:
    """And does not quote it."""
    with pytest.raises(PatternError, match="write it shorter"):
        Engine(spelling)


def test_a_set_of_characters_is_spelt_in_ranges() -> None:
    """Of those of which all conditions hold."""
    assert spell_set("[a-c]") == r"[\x{61}-\x{63}]"
    assert spell_set("(?!b)", "[a-c]") == r"[\x{61}-\x{61}\x{63}-\x{63}]"
    assert spell_set("(?=[0-9])", "[a-c]") is None
    assert spell_set(r"[\s\S]") == r"[\x{0}-\x{10ffff}]"
