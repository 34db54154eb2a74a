"""How commands write numbers."""

from __future__ import annotations

import pytest

from streams.cli import output


@pytest.mark.parametrize(
    ("number", "written"), [(0, "0 characters"), (1, "1 character"), (2, "2 characters"), (11, "11 characters")]
)
def test_a_noun_takes_an_s_unless_there_is_one(number: int, written: str) -> None:
    """As people write it."""
    assert output.count(number, "character") == written
