"""Patterns as one automaton: it tells what is open as the engine does, and never misses that something matched."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.patterns import Pattern
from processors.patterns import automaton as module
from processors.patterns.automaton import Automaton, TooManyPositionsError
from processors.patterns.redactor import RedactingScanner, Redactor, Rule
from tests.processors.patterns.written import TEXTS, examples, patterns

EMAIL = Pattern(r"[\w.+-]+@[a-z]+(?:\.[a-z]+)+")
NUMBER = Pattern(r"\b\d{3}-\d{2}\b")


def read(finders: Sequence[Pattern], pieces: Sequence[str], before: str = "") -> tuple[int, bool]:
    """Return from where the text of `pieces` is open, and whether something matched in it."""
    automaton = Automaton(one.parsed for one in finders)
    at = automaton.outset(before)
    starts: list[int] = []
    length = 0
    for piece in pieces:
        step = automaton.read(at, piece)
        assert step is not None
        starts = [starts[start] if start >= 0 else length + ~start for start in step.starts]
        length += len(piece)
        at = step.to
    return (starts[0] if starts else length), at.matched


@pytest.mark.parametrize(
    ("text", "place", "matched"),
    [
        ("two words", 4, False),
        ("two words ", 10, False),
        ("at bob@exam", 3, False),
        ("at bob@example.co", 3, True),
        ("at bob@example.co, then", 19, True),
        ("x 123-4", 2, False),
        ("x 123-45", 2, False),
        ("x 123-456", 2, False),
        ("x 123-45 ", 9, True),
        ("x123-45 ", 8, False),
    ],
)
def test_it_tells_from_where_a_text_is_open_and_that_something_matched(text: str, place: int, matched: bool) -> None:
    """A match that what follows must confirm is one only then."""
    assert read([EMAIL, NUMBER], [text]) == (place, matched)


@given(st.lists(patterns(), min_size=1, max_size=3), TEXTS, st.data())
@examples(400)
def test_as_long_as_nothing_matched_it_says_what_the_engine_says(
    written: list[str], text: str, data: st.DataObject
) -> None:
    """Of any patterns, in any pieces, behind any neighbour."""
    finders = [Pattern(one) for one in written]
    start = data.draw(st.integers(0, len(text)), "start")
    cuts = sorted(data.draw(st.sets(st.integers(start, len(text))), "cuts"))
    pieces = [text[a:b] for a, b in pairwise([start, *cuts, len(text)])]
    place, matched = read(finders, pieces, text[:start])
    opened = min(one.open_from(text, start) for one in finders)
    found = [span for one in finders for span in one.spans(text, start, ended=False) if span.start < opened]
    assert matched or not found
    if not matched:
        assert start + place == opened


def test_a_step_that_was_made_is_remembered() -> None:
    """By every text that comes to the same place."""
    automaton = Automaton([EMAIL.parsed])
    at = automaton.outset("")
    assert automaton.read(at, "abc") is automaton.read(automaton.outset(""), "abc")


@given(st.text(st.sampled_from("ab@. 1-\nä"), min_size=1, max_size=24), st.text(st.sampled_from("ab@. 1-"), max_size=6))
@examples(200)
def test_a_piece_is_read_as_its_characters_are(piece: str, before: str) -> None:
    """It is read by words, which are told apart from what stands before them."""
    one, other = (Automaton([EMAIL.parsed, NUMBER.parsed]) for _ in range(2))
    at = one.read_once(one.outset(""), before)
    assert at is not None
    step = one.read(at.to, piece)
    place = other.read_once(other.outset(""), before)
    assert step is not None
    assert place is not None
    now, starts = place.to, list(range(len(place.to.groups)))
    for number, char in enumerate(piece):
        read = other.read(now, char)
        assert read is not None
        starts = [starts[start] if start >= 0 else start - number for start in read.starts]
        now = read.to
    assert (step.to.groups, step.to.begin, step.to.matched) == (now.groups, now.begin, now.matched)
    assert list(step.starts) == starts


def test_characters_of_the_same_classes_lead_to_the_same() -> None:
    """What one of them taught need not be learned for another."""
    automaton = Automaton([EMAIL.parsed])
    at = automaton.outset(" ")
    assert automaton.read(at, "x") is automaton.read(at, "y")
    assert automaton.read(at, "x") is not automaton.read(at, "@")


def test_what_is_remembered_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond it, all is forgotten, and read alike."""
    monkeypatch.setattr(module, "_MOST_STEPS", 10)
    automaton = Automaton([EMAIL.parsed])
    for number in range(200):
        step = automaton.read(automaton.outset(" "), f"a{number} ")
        assert step is not None
        assert step.starts == ()
        assert automaton.remembered <= 10


def test_patterns_of_too_many_characters_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted repeats are written out."""
    monkeypatch.setattr(module, "_MOST_POSITIONS", 1_000)
    with pytest.raises(TooManyPositionsError):
        Automaton([Pattern("a{999}b{2}").parsed])
    Automaton([Pattern("a{999}b").parsed])


def feed(scanner: RedactingScanner, text: str, size: int) -> list[str]:
    """Return what a scanner lets out of a text in pieces of `size`, and then at its end."""
    out = [scanner.feed(text[place : place + size]) for place in range(0, len(text), size)]
    return [*out, scanner.finish()]


@pytest.mark.parametrize("most", [0, 4_000])
def test_a_scanner_lets_out_the_same_with_an_automaton_and_without(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Piece by piece."""
    text = "write to bob@example.com or äne@x.de, 123-45 or 123-456, not to bob@ " * 3
    plain = Redactor("r", [Rule("E", EMAIL), Rule("N", NUMBER)])
    expected = feed(plain.open_scanner(), text, 3)
    monkeypatch.setattr(module, "_MOST_POSITIONS", most)
    assert feed(Redactor("r", [Rule("E", EMAIL), Rule("N", NUMBER)]).open_scanner(), text, 3) == expected


def test_prose_is_read_without_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what matched is looked at again."""
    redactor = Redactor("r", [Rule("E", EMAIL), Rule("N", NUMBER)])
    scanner = redactor.open_scanner()
    monkeypatch.setattr(RedactingScanner, "_read", None)
    text = "some prose, 12-34 and names@ without a host: "
    assert "".join(scanner.feed(text[place : place + 4]) for place in range(0, len(text), 4)) == text
