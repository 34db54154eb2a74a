"""`strip_thinking`: what is between the tags reaches nobody, and all else does."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors import Answer, DeclarationError, Deps
from processors.builtin import strip_thinking
from processors.testing import run_gate
from tests.cases.case import case
from tests.processors.builtin.leaks import assert_same_however_cut

#: Texts and what is left of them.
TEXTS = {
    "plain": ("a < b and b > c", "a < b and b > c"),
    "a block": ("x<think>hidden</think>y", "xy"),
    "at the beginning": ("<think>\nhidden\n</think>\n\nAnswer", "\n\nAnswer"),
    "two": ("<think>a</think>b<reasoning>c</reasoning>d", "bd"),
    "only a block": ("<think>hidden</think>", ""),
    "empty": ("a<think></think>b", "ab"),
    "unfinished block": ("Answer <think>hidden and <b>", "Answer "),
    "unfinished closing tag": ("Answer <think>hidden</thin", "Answer "),
    "unfinished tag": ("stays <thi", "stays <thi"),
    "unfinished tag with attributes": ('stays <think a="b', 'stays <think a="b'),
    "another tag": ("<this> <thinker>x</thinker> <thin>", "<this> <thinker>x</thinker> <thin>"),
    "no tag": ("< think>x</ think>", "< think>x</ think>"),
    "a tag within one that was none": ("<thi<think>hidden</think>nk>", "<think>"),
    "case": ("a<THINK>hidden</Think>b", "ab"),
    "attributes": ('a<think effort="low" x>hidden</think >b', "ab"),
    "attributes over lines": ("a<think\n effort=high\n>hidden</think\n>b", "ab"),
    "a sign in an attribute": ('a<think a="1<2">hidden</think>b', "ab"),
    "nested": ("a<think>b<think>c</think>hidden</think>d", "ad"),
    "nested, unfinished": ("a<think>b<think>c</think>hidden", "a"),
    "other names inside": ("a<think>b<thinking>c</think>d", "ad"),
    "signs inside": ("a<think>1 < 2, <b>, <<, </b> </think>d", "ad"),
    "closing itself": ("a<think/>b<think />c<think x/>d", "abcd"),
    "closing itself inside": ("a<think>b<think/>c</think>d", "ad"),
    "closes nothing": ("a</think>b", "a</think>b"),
    "longer name first": ("a<thinking>b</think>hidden</thinking>c", "ac"),
    "marks": ("e<think>x</think>\u0301\r<think>x</think>\n", "e\u0301\r\n"),
}


def stripped(text: str) -> str:
    """Return what the processor makes of a whole text."""
    return strip_thinking().process(Answer(text)).text


@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS.keys())
def test_what_is_thought_goes_and_the_rest_stays(text: str, expected: str) -> None:
    """However it is cut."""
    assert_same_however_cut(strip_thinking(), text, expected)


def test_the_case_comes_out_as_it_says() -> None:
    """`think-tags`: its very text, and no more is out at any moment than may be."""
    given = case("think-tags")
    run = run_gate([strip_thinking()], given.frames)
    assert run.releases == ["Result: a < b", " and ", "<this> stays, as does ", "<thi"]
    assert run.text == given.expected["final"]
    assert_same_however_cut(strip_thinking(), "".join(given.frames), given.expected["final"])


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("a", ""),
        ("a <", "<"),
        ("a <t", "<t"),
        ("a <ta", ""),
        ("a </", ""),
        ("a <think", "<think"),
        ("a <think x", "<think x"),
    ],
)
def test_nothing_is_held_but_what_may_become_a_tag(text: str, held: str) -> None:
    """Exactly that."""
    assert strip_thinking().open_scanner().feed(text) == text.removesuffix(held)


def test_what_is_thought_is_not_kept() -> None:
    """However long it is: a reading of any number of characters takes no more room."""
    scanner = strip_thinking().open_scanner()
    scanner.feed("<think>")
    for _ in range(100):
        assert scanner.feed("a thought < another " * 50) == ""
    assert sum(map(len, scanner._tag)) <= len("</think")
    assert scanner.feed("</think>Answer") == "Answer"


def test_an_answer_may_begin_within_a_block() -> None:
    """Where the prompt has opened it."""
    processor = strip_thinking(["thought", "think"], starts_inside=True)
    assert_same_however_cut(processor, "hidden</think></thought>Answer <think>x</think>.", "Answer .")
    assert processor.process(Answer("never closed")).text == ""


def test_tags_are_the_operators() -> None:
    """These and no others."""
    processor = strip_thinking(["scratch-pad"])
    assert processor.process(Answer("<SCRATCH-PAD>x</scratch-pad>a<think>b</think>")).text == "a<think>b</think>"


def test_changes_count_blocks() -> None:
    """For the record of decisions."""
    assert strip_thinking().process(Answer("<think>a<think>b</think></think>c<think/>")).changes == 2
    assert strip_thinking().process(Answer("a < b")).changes == 0


PIECES = [
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking>",
    "<",
    ">",
    "think",
    "/",
    " ",
    "a",
    "<th",
    "</th",
    "<THINK x>",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.integers(1, 5))
def test_a_scanner_says_what_its_processor_says(text: str, size: int) -> None:
    """And takes nothing back."""
    settled = stripped(text)
    scanner = strip_thinking().open_scanner()
    out = ""
    for place in range(0, len(text), size):
        out += scanner.feed(text[place : place + size])
        assert settled.startswith(out)
    assert out + scanner.finish() == settled


FLAT = re.compile(r"<(think|thinking)(?:[\s/][^>]*)?(?<!/)>[\s\S]*?(?:</\1(?:[\s/][^>]*)?>|\Z)")


@given(st.lists(st.sampled_from([*PIECES, "b"]), max_size=10).map("".join).map(str.lower))
def test_without_nesting_it_is_a_pattern(text: str) -> None:
    """Which is how one would have written it."""
    tags = strip_thinking(["think", "thinking"])
    nested = any(re.search(rf"<{match[1]}[\s/>]", match[0][1:]) for match in FLAT.finditer(text))
    if not nested and not re.search(r"/\s*>", text):
        assert tags.process(Answer(text)).text == FLAT.sub("", text)


def test_it_scans() -> None:
    """So that text flows while the model writes."""
    assert Deps(output_processors=[strip_thinking()]).manifest.release_mode == "scan"


@pytest.mark.parametrize("tags", ["think", [], ["<think>"], [""], ["1a"], ["a b"], [None]])
def test_tags_that_cannot_be_are_refused(tags: list[str]) -> None:
    """When they are declared, not when an answer comes."""
    with pytest.raises(DeclarationError, match="list of names"):
        strip_thinking(tags)
