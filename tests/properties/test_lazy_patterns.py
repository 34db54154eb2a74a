"""Lazy patterns: a match is out as soon as it is certain, never sooner, however the text is cut."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from processors import Answer
from processors.patterns import Pattern
from processors.patterns.redactor import Redactor, Rule
from tests.processors.patterns.written import AFTER, BEFORE, CLASSES, FLAGS, bodies, examples
from tests.properties.drive import splits

LAZY = ["", "", "?", "*", "??", "*?", "+?", "{1,2}?", "{2,}?"]
TEXTS = st.text(st.sampled_from("ab1-"), max_size=12)
#: All that could follow, as far as it matters to patterns of three parts that each can be met by a character.
NEXT = ["".join(chars) for count in range(1, 4) for chars in itertools.product("ab1-", repeat=count)]


@st.composite
def lazy(draw: st.DrawFn) -> str:
    """Draw a pattern with a lazy repeat between others, something on both sides, and flags."""
    flags, before, after = (draw(st.sampled_from(some)) for some in (FLAGS, BEFORE, AFTER))
    middle = draw(st.sampled_from([".*?", "[^1]+?", r"(?:a|b-)*?", r"\w??", "(?:b+?|a)"]))
    body = f"{draw(bodies(CLASSES, LAZY))}{middle}{draw(st.sampled_from(['', 'b', '1-', 'a+', '(?:b|1)', '-?']))}"
    return f"{flags}{before}(?:{body}){after}"


def redactor(*written: str, folds: bool = False) -> Redactor:
    """Return a redactor by these patterns."""
    return Redactor("redact", [Rule(f"R{i}", Pattern(one)) for i, one in enumerate(written)], folds=folds)


def check_every_split(redact: Redactor, text: str, settled: str, seed: int) -> None:
    """Cut a text in two at every place, in characters, and at random: what comes out begins the settled text."""
    for pieces in splits(text, 3, seed):
        scanner = redact.open_scanner()
        out = ""
        for piece in pieces:
            out += scanner.feed(piece)
            assert settled.startswith(out)
        assert out + scanner.finish() == settled


@examples(500)
@given(lazy(), st.text(st.sampled_from("ab1- \n_é"), max_size=14), st.integers(0, 99))
@example("a.*?b", "xab ab", 0)
@example("(?:a|ab)-??", "ab-", 0)
@example(r"(?<!a)b+?1(?!\d)", "b1 abb1b1", 0)
@example("(?m)^a.*?$", "ab\nab\n\n", 0)
def test_every_split_gives_what_the_whole_text_gives(written: str, text: str, seed: int) -> None:
    """By one pattern."""
    redact = redactor(written)
    check_every_split(redact, text, redact.process(Answer(text=text)).text, seed)


@examples(300)
@given(bodies(CLASSES, LAZY), st.sampled_from(["", ".*?b", "[^1]+?-", "(?:a|b)*?1"]), st.text("ab1- \né", max_size=14))
def test_the_whole_text_gives_what_re_gives(body: str, more: str, text: str) -> None:
    """The first way to match counts, as everybody knows it from Python."""
    assert redactor(body + more).process(Answer(text=text)).text == re.sub(body + more, "[R0]", text)


@examples(200)
@given(st.lists(lazy(), min_size=2, max_size=3), st.data())
def test_several_that_overlap_or_read_through_evasions_leak_nothing(written: list[str], data: st.DataObject) -> None:
    """Among them characters that are read as two, or as none."""
    redact = redactor(*written, folds=True)
    text = data.draw(st.text(st.sampled_from("ab1-\u200b\uff41\uff42\u01c4\ufb06\u2488\u00bd"), max_size=14))
    check_every_split(redact, text, redact.process(Answer(text=text)).text, data.draw(st.integers(0, 99)))


PARTS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "-", ".", r"\w", "[a1]", "[^a]", "(?:a|ab)", "(?:b|a-)"]),
        st.sampled_from(["", "", "?", "*", "+", "??", "*?", "+?", "{1,2}?"]),
    ).map("".join),
    max_size=1,
).map("".join)


@examples(500)
@given(PARTS, st.sampled_from(["a", "-", ".", "a*?b", "[ab]+?"]), PARTS, TEXTS)
@example("", "a", ".*?b-", "aab-")
@example("", "a", "+?", "-a")
@example("", "a", "b??", "a")
def test_nothing_is_held_that_is_certain(before: str, middle: str, after: str, text: str) -> None:
    """What is held is the beginning of something that some text that follows would make a match, or another one."""
    written = f"{before}{middle}{after}1??"
    opened = Pattern(written).open_from(text)
    if opened < len(text):
        whole = re.compile(written)
        grown = (whole.match(text + more, opened) for more in NEXT)
        assert any(match is not None and match.end() > len(text) for match in grown)


@pytest.mark.parametrize(
    ("written", "text", "said"),
    [
        ("<a>.*?</a>", "x<a>y</a> z", ["x", "", "", "", "", "", "", "", "[R0]", " ", "z"]),
        ("<a>.*?</a>", "<a\n<a>y", ["", "", "<a\n", "", "", "", ""]),
        ("<a>.*?</a>", "<b>.", ["", "<b", ">", "."]),
        ("a+?", "aa.", ["[R0]", "[R0]", "."]),
        ("a+?(?!b)", "aab.", ["", "[R0]", "ab", "."]),
        ("ab??c??", "abc", ["[R0]", "b", "c"]),
        ("a.{2,}?b", "axbxb.", ["", "", "", "", "[R0]", "."]),
    ],
)
def test_a_match_is_out_with_its_last_character(written: str, text: str, said: list[str]) -> None:
    """Or with the one behind it, where that matters."""
    scanner = redactor(written).open_scanner()
    assert [scanner.feed(char) for char in text] == said


def test_many_matches_cost_one_reading() -> None:
    """Looking at the rest of the text again behind each of them would take minutes."""
    text = "<a>x</a> and some more text; " * 20_000
    scanner = redactor("(?s)<a>.*?</a>").open_scanner()
    assert (scanner.feed(text) + scanner.finish()).count("[R0]") == 20_000
