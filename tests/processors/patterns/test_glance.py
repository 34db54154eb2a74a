"""One look for many finders."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from processors.patterns import Pattern, Span
from processors.patterns import glance as module
from processors.patterns.engine import Engine
from processors.patterns.errors import PatternError
from processors.patterns.glance import Glance
from processors.patterns.settle import settle
from tests.processors.patterns.written import TEXTS, examples, patterns

WORD = Pattern(r"ab+c")
NUMBER = Pattern(r"(?<!\d)\d{3}(?!\d)")


class Stars:
    """A finder of another make: every star, and nothing is ever open."""

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:  # noqa: ARG002 - the protocol's
        """Yield the stars."""
        yield from (Span(place, place + 1) for place, char in enumerate(text) if char == "*" and place >= start)

    def open_from(self, text: str, start: int = 0) -> int:  # noqa: ARG002 - the protocol's
        """Return the end."""
        return len(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("-xyz", 4),
        ("-xyz ab", 5),
        ("-abc", None),
        ("-abc a", None),
        ("-12", 1),
        ("-123", 1),
        ("-123 ", None),
        ("-1234", 5),
        ("-x 12 a", 6),
        ("é秘 ab", 3),
    ],
)
def test_a_look_says_where_the_text_is_settled_unless_something_is_found(text: str, place: int | None) -> None:
    """Patterns with and without neighbours together."""
    assert Glance([WORD, NUMBER]).settled_to(text, 1, ended=False) == place


def test_case_is_no_disguise() -> None:
    """Where a pattern takes letters in any case."""
    assert Glance([Pattern("(?i)abc")]).settled_to("-ABC-", 1, ended=False) is None
    assert Glance([Pattern("(?i)abc"), Pattern("a-b")]).settled_to("-ABC.", 1, ended=True) is None


def test_at_the_end_nothing_is_open() -> None:
    """What is there is found, or it is not."""
    glance = Glance([WORD, NUMBER])
    assert glance.settled_to("-ab 12", 1, ended=True) == 6
    assert glance.settled_to("-ab 123", 1, ended=True) is None


def test_finders_of_another_make_are_asked_too() -> None:
    """Their findings count, and where they are open."""
    glance = Glance([WORD, Stars()])
    assert glance.settled_to("-x* ab", 1, ended=False) is None
    assert glance.settled_to("-x ab*", 1, ended=False) is None
    assert glance.settled_to("-x ab", 1, ended=False) == 3
    assert Glance([Stars()]).settled_to("-x", 1, ended=False) == 2
    assert Glance([]).settled_to("-x", 1, ended=False) == 2


@examples(200)
@given(st.lists(patterns(), min_size=1, max_size=2), TEXTS, TEXTS, TEXTS)
@example([r"(?a)\W"], "-", "é", "")
@example(["a?b"], "", "b", "")
@example(["(?i)ab"], "", "AB", "")
def test_in_text_that_passes_nothing_begins(written: list[str], before: str, text: str, after: str) -> None:
    """Whatever stands around it."""
    finders = [Pattern(one) for one in written]
    if Glance(finders).passes(text):
        found = settle(finders, before + text + after, len(before), ended=True).findings
        assert all(one.start >= len(before + text) for one in found)


def test_only_text_without_a_beginning_passes() -> None:
    """And none where some finder cannot say what its findings begin with."""
    assert [Glance([WORD, NUMBER]).passes(text) for text in ("xyz", "xa", "1", "b")] == [True, False, False, True]
    assert not Glance([WORD, Stars()]).passes("xyz")


def test_patterns_too_large_together_are_asked_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes longer, and says the same."""

    def refusing(spelling: str) -> Engine:
        raise PatternError("too large" + spelling[:0])

    monkeypatch.setattr(module, "Engine", refusing)
    glance = Glance([WORD, NUMBER])
    assert glance.settled_to("-xyz ab", 1, ended=False) == 5
    assert glance.settled_to("-abc ", 1, ended=False) is None
