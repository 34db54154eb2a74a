"""Where sentences end, and that more text moves no end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.builtin.sentences import MAX_CHARS, judged_end, sentence_end


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text that are known to have ended."""
    start = 0
    while (end := sentence_end(text, start)) is not None:
        yield text[start:end]
        start = end


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One. ", "Two! "]),
        ("One.", []),
        ("One. ", []),
        ("One. T", ["One. "]),
        ('He said "yes." Then (no!) She', ['He said "yes." ', "Then (no!) "]),
        ("It is 3.5 now... Or", ["It is 3.5 now... "]),
        ("- a\n- b\n\nc", ["- a\n", "- b\n\n"]),
        ("你好。再见。」那", ["你好。", "再见。」"]),
        ("क्या है। हाँ", ["क्या है। "]),
    ],
)
def test_sentences_end_where_they_do(text: str, expected: list[str]) -> None:
    """Behind the stop, what closes with it, and the white space; what comes next must be there."""
    assert list(sentences(text)) == expected


def test_a_sentence_without_an_end_is_cut() -> None:
    """Between words if it has any."""
    (words,) = sentences("word " * 250)
    assert words == "word " * (MAX_CHARS // 5 - 1)
    assert [len(one) for one in sentences("x" * 2_500)] == [MAX_CHARS, MAX_CHARS]


@given(
    st.lists(st.sampled_from(["a", ".", " ", "\n", "。", "」", '"', "a" * 600, "b " * 300]), max_size=12).map("".join)
)
def test_no_end_moves_when_more_comes(text: str) -> None:
    """What was judged as a sentence stays one."""
    whole = list(sentences(text))
    for place in range(0, len(text), 1 + len(text) // 40):
        known = list(sentences(text[:place]))
        assert known == whole[: len(known)]


def test_only_whole_groups_are_judged() -> None:
    """From where the last one ended."""
    text = "A. B. C. D. E. F"
    assert [judged_end(text, 0, every) for every in (1, 2, 3, 6)] == [15, 12, 9, 0]
    assert judged_end(text, 3, 2) == 15
    assert judged_end(text, 12, 2) == 12
