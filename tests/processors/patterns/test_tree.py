"""Patterns as they are written for Python, spelt for another engine: the same characters, or a refusal that says why."""

from __future__ import annotations

import re
import unicodedata

import pytest
import re2

from processors.patterns import Pattern, PatternError
from processors.patterns.tree import Char, Choice, Repeat, Sequence, nullable, parse, spell

#: All characters of the scripts that come first in Unicode, and every so many of the rest, as far as Python knows them.
KNOWN = "".join(
    char
    for char in map(chr, [*range(0x3100), *range(0x3100, 0x110000, 41)])
    if unicodedata.category(char) not in ("Cn", "Cs")
)


def taken(pattern: str, flags: int = 0) -> set[str]:
    """Return the characters that a pattern of one class takes, as RE2 reads its spelling."""
    return set(re2.compile(spell(parse(pattern, flags).body)).findall(KNOWN))


@pytest.mark.parametrize(
    "written",
    [
        *[r"\w", r"\d", r"\s", r"\W", r"\D", r"\S", r"[\w-]", r"[^\w]", r"[^\s@]", r"[^\W_]", r"[\W\d]", r"[\s\S]"],
        *[
            r"[^\D5]",
            ".",
            "(?s).",
            "(?s:.)",
            "a",
            "[a-f]",
            "[^a]",
            r"\n",
            r"[\]^-]",
            "é",
            "[ж-я]",
            r"\\",
            "[.]",
            "(?x) a # b",
        ],
        *["(?i)a", "(?i)k", "(?i)i", "(?i)[h-j]", "(?i)[^h-j]", "(?i)ß", "(?i)s", "(?i:x)", "(?i)[^i]", "(?i)\u0130"],
        *[r"(?a)\w", r"(?a)\W", r"(?a)\s", r"(?a)\S", r"(?a)\d", r"(?a)[^\w]", r"(?a)[\W5]", "(?ai)k", "(?ai)[a-z]"],
        *[r"(?a:\w)", r"(?i:[ж-я])", r"(?-i:a)", r"(?i)(?-i:a)", r"(?i)[^\W_]", "(?ai)[^k]"],
    ],
)
def test_a_class_takes_the_characters_that_it_takes_in_python(written: str) -> None:
    """All of them, and no other."""
    assert taken(written) == set(re.findall(written, KNOWN))


@pytest.mark.parametrize("flags", [re.IGNORECASE, re.ASCII, re.DOTALL, re.VERBOSE, re.IGNORECASE | re.ASCII])
@pytest.mark.parametrize("written", [r"\w", "k", ".", "[a-z ]"])
def test_flags_beside_a_pattern_hold(written: str, flags: int) -> None:
    """As for `re.compile`."""
    assert taken(written, flags) == set(re.findall(written, KNOWN, flags))


@pytest.mark.parametrize(
    ("written", "what"),
    [
        (r"(a)\1", "a back-reference"),
        (r"(a)?(?(1)b|c)", "a conditional"),
        ("a(?=b)c", "look-around"),
        ("a(?!b)c", "look-around"),
        ("(?<!ab)c", "look-around"),
        ("(?!a)b", "look-around"),
        ("c(?!ab)", "look-around"),
        ("a(?=b)", "positive look-around"),
        ("(?<=b)a", "positive look-around"),
        (r"a\bb", "an anchor"),
        (r"a(?:$|b)", "an anchor"),
        (r"\Ba", "an anchor"),
        ("(?>a+)b", "an atomic group"),
        ("a++b", "a possessive repeat"),
        ("(", "no regular expression"),
        ("[b-a]", "no regular expression"),
        ("(?:a{1,1000}){1,1000}", "linear time"),
        (r"[^\s\S]", "no character"),
    ],
)
def test_what_cannot_be_matched_in_linear_time_is_refused_by_name(written: str, what: str) -> None:
    """The error says which construct it is."""
    with pytest.raises(PatternError, match=re.escape(what)):
        Pattern(written)


@pytest.mark.parametrize("written", ["", "a*", "(?:a|b?)", r"\b", "^$", "(?:a?){3}", "()"])
def test_a_pattern_of_nothing_is_refused(written: str) -> None:
    """It would match everywhere."""
    with pytest.raises(PatternError, match="empty text"):
        Pattern(written)


def test_an_error_does_not_quote_the_pattern() -> None:
    """A pattern may be as secret as what it looks for."""
    for written in ("hunter2(", r"(hunter2)\1", "(?:hunter2{1,999}){1,999}"):
        with pytest.raises(PatternError) as caught:
            Pattern(written)
        assert "hunter2" not in str(caught.value)


A, B = Char("a", "[a]", "a"), Char("b", "[b]", "b")


@pytest.mark.parametrize(
    ("node", "spelt", "empty"),
    [
        (Sequence(), "", True),
        (Sequence((A, B)), "ab", False),
        (Choice((A, Sequence())), "a|", True),
        (Sequence((Choice((A, B)), A)), "(?:a|b)a", False),
        (Repeat(A, 0, None), "a*", True),
        (Repeat(A, 1, None), "a+", False),
        (Repeat(A, 0, 1), "a?", True),
        (Repeat(A, 2, None), "a{2,}", False),
        (Repeat(A, 2, 2), "a{2}", False),
        (Repeat(A, 2, 5), "a{2,5}", False),
        (Repeat(A, 0, None, lazy=True), "a*?", True),
        (Repeat(Sequence((A, B)), 1, None), "(?:ab)+", False),
        (Repeat(Repeat(A, 0, 1), 1, 2), "(?:a?){1,2}", True),
    ],
)
def test_a_tree_is_spelt_and_says_whether_it_matches_nothing(node: Sequence, spelt: str, empty: bool) -> None:
    """Node by node."""
    assert (spell(node), nullable(node)) == (spelt, empty)
