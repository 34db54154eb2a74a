"""Where a number may begin: looked for from behind its first character, found where a look-behind would find it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.builtin.walking import beginning

CASES = [
    ("[0-9]", ("[0-9]", "[0-9][.,]")),
    ("[A-Za-z]", ("[A-Za-z0-9]",)),
    ("[+(0-9]", (r"[\w+]", "[0-9][.,]")),
    ("[0-9]", ()),
]


@pytest.mark.parametrize(("first", "before"), CASES)
@given(text=st.text("01a.,+( -\né", max_size=12), start=st.integers(0, 12))
def test_it_is_found_where_a_look_behind_would_find_it(
    first: str, before: tuple[str, ...], text: str, start: int
) -> None:
    """From any place on, with what stands before that place."""
    plain = re.compile("".join(f"(?<!{one})" for one in before) + first)
    found = re.compile(beginning(first, before))
    expected = plain.search(text, start)
    got = found.search(text, start)
    assert (got and got.start()) == (expected and expected.start())
