"""What is open: checked against trying out what could follow."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from processors.patterns import Pattern
from tests.processors.patterns.written import bodies, examples

LETTERS = "ab1-"
CLASSES = ["a", "b", "1", "-", ".", r"\w", r"\W", r"\d", "[ab]", "[^a]", "[a1]"]
GREEDY = ["", "", "", "?", "*", "+", "{2}", "{1,2}"]
TEXTS = st.text(LETTERS, max_size=4)
#: All that could follow, as far as it matters to patterns of so few parts.
NEXT = ["".join(chars) for count in range(1, 4) for chars in itertools.product(LETTERS, repeat=count)]


@examples(300)
@given(bodies(CLASSES, GREEDY), TEXTS)
def test_open_is_what_some_continuation_completes(body: str, text: str) -> None:
    """Neither less nor more: the first place from which all the rest begins a text that the pattern matches."""
    pattern = Pattern(body)
    whole = re.compile(body)
    found = pattern.open_from(text)
    for place in range(found):
        assert not any(whole.fullmatch(text[place:] + more) for more in NEXT)
    if found < len(text):
        assert completed(pattern, whole, text[found:])


def completed(pattern: Pattern, whole: re.Pattern[str], text: str) -> bool:
    """Return whether going on from one open text to the next ends with a match, or at least never in a dead end."""
    texts = [text]
    while texts and len(texts) < 200:
        texts = [one + char for one in texts for char in LETTERS]
        if any(map(whole.fullmatch, texts)):
            return True
        texts = [one for one in texts if pattern.open_from(one) == 0]
        if len(texts) == 1 and len(texts[0]) > 40:
            return False
    return bool(texts)


@examples(300)
@example("", "1a??1", "", "1111")
@given(
    st.sampled_from(["", r"\b", "(?<!a)", "^", "(?m)^"]),
    bodies(CLASSES),
    st.sampled_from(["", "(?!a)", r"\b", "$"]),
    TEXTS,
)
def test_before_what_is_open_nothing_that_follows_makes_a_difference(
    before: str, body: str, after: str, text: str
) -> None:
    """At each such place the pattern matches, or does not, whatever comes.

    What is open of a lazy pattern begins behind the matches that are certain: nobody looks at the places within those.
    """
    written = f"{before}(?:{body}){after}"
    pattern, tried = re.compile(written), Pattern(written)
    behind = 0
    for place in range(tried.open_from(text)):
        if place < behind:
            continue
        ends = set()
        for more in ("", *NEXT[:84]):
            match = pattern.match(text + more, place)
            ends.add(match.end() if match else None)
        # The end of the text is news too, unless it comes after all.
        assert len(ends) == 1
        end = ends.pop()
        behind = end if tried.lazy and end is not None else 0


@pytest.mark.parametrize(
    ("written", "text", "place"),
    [
        (r"[\w.]+@\w+(?:\.\w+)+", "to a@b.co", 3),
        (r"[\w.]+@\w+(?:\.\w+)+", "to a@b.co ", 10),
        (r"[\w.]+@\w+(?:\.\w+)+", "two words", 4),
        (r"\d{3}-\d{2}", "is 12", 3),
        (r"\d{3}-\d{2}", "is 1234", 4),
        (r"\d{3}-\d{2}", "is 123-45", 7),
        (r"\d{3}-\d{2}(?!\d)", "is 123-45", 3),
        (r"\d{3}-\d{2}(?!\d)", "is 123-45.", 10),
        (r"\bab", "xa", 2),
        (r"\bab", "x a", 2),
        (r"(?<!\d)12", "11", 2),
        ("^ab", "a", 0),
        ("^ab", "xa", 2),
        ("(?m)^ab", "x\na", 2),
        ("ab$", "xab", 1),
        ("ab$", "xab\n", 1),
        ("ab$", "xab\n\n", 5),
        (r"ab\Z", "xab", 1),
        (r"ab\Z", "xab\n", 4),
        ("(?m)ab$", "xab\n", 4),
        ("é+x", "aéé", 1),
        ("a(?:-|-)", "a-", 2),
        ("ab{0}(?:)", "a", 1),
    ],
)
def test_what_is_open(written: str, text: str, place: int) -> None:
    """Where what is held back begins."""
    assert Pattern(written).open_from(text) == place


def test_open_is_looked_for_from_a_place_on() -> None:
    """What stands before it is a neighbour only."""
    pattern = Pattern(r"\bab+")
    assert pattern.open_from("abb", 0) == 0
    assert pattern.open_from("abb", 1) == 3
    assert pattern.open_from("-abb", 1) == 1
    assert Pattern("b+").open_from("abb", 2) == 2
    assert Pattern("b+").open_from("ébb", 2) == 2
