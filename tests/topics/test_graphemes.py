"""Where a text may be cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topics.graphemes import safe_length

FAMILY = "\U0001f469\u200d\U0001f4bb"
FLAG = "\U0001f1e9\U0001f1ea"

#: Texts of one cluster each; no cut inside any of them is safe.
CLUSTERS = {
    "crlf": "\r\n",
    "combining": "e\u0301",
    "two marks": "a\u0323\u0302",
    "enclosing": "1\ufe0f\u20e3",
    "zwj": FAMILY,
    "skin tone": "\U0001f44d\U0001f3fd",
    "flag": FLAG,
    "tags": "\U0001f3f4\U000e0067\U000e0062\U000e007f",
    "spacing mark": "\u0915\u0940",
    "jamo": "\u1112\u1161\u11ab",
    "open syllable": "\uac00\u11a8",
    "leading before a syllable": "\u1100\uac00",
    "closed syllable": "\uac01\u11a8",
    "non-joiner": "a\u200c",
    "voicing mark": "\uff76\uff9e",
}


@pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS.keys())
def test_a_cluster_is_not_cut(cluster: str) -> None:
    """A cut inside it moves to its beginning; one behind it stays."""
    text = f"a{cluster}b"
    for inside in range(1, len(cluster) + 1):
        assert safe_length(text, inside) == 1
    assert safe_length(text, 1 + len(cluster)) == 1 + len(cluster)


@pytest.mark.parametrize("text", ["ab", "a\n", "\n\r", "\r\r", "\uac00\uac00", "\u00e9\u00e8", "\U0001f600\U0001f601"])
def test_separate_characters_may_be_parted(text: str) -> None:
    """Held back is only what belongs together."""
    assert safe_length(f"{text}.", 1) == 1


@pytest.mark.parametrize(
    ("text", "safe"), [("ab\r", 2), ("ab\u200d", 1), ("ab\U0001f1e9", 2), (f"ab{FLAG}\U0001f1e9", 4)]
)
def test_an_end_that_may_go_on_is_held(text: str, safe: int) -> None:
    """A carriage return, half a flag, and a joiner with what it joins wait for what follows."""
    assert safe_length(text, len(text)) == safe


@pytest.mark.parametrize("end", ["\n", "x", "\u0301", FLAG, FAMILY])
def test_an_end_that_is_whole_is_not_held(end: str) -> None:
    """A combining mark that comes later simply follows."""
    text = f"a{end}"
    assert safe_length(text, len(text)) == len(text)


@pytest.mark.parametrize("end", ["\r", "\u200d", "\U0001f1e9"])
def test_nothing_is_held_at_the_end_of_an_ended_text(end: str) -> None:
    """Nothing follows, so that the end is a boundary whatever stands there."""
    text = f"a{end}"
    assert safe_length(text, len(text), ended=True) == len(text)


def test_an_ended_text_is_still_not_cut_inside_a_cluster() -> None:
    """Being ended concerns its end alone."""
    assert safe_length("a\r\nb", 2, ended=True) == 1


def test_flags_are_counted_in_pairs() -> None:
    """Regional indicators pair up from the first one on."""
    text = f"x{FLAG}{FLAG}"
    assert [safe_length(text, cut) for cut in range(6)] == [0, 1, 1, 3, 3, 5]


def test_a_cut_past_the_end_is_at_the_end() -> None:
    """The length asked for is a limit."""
    assert safe_length("abc", 99) == 3
    assert safe_length("", 5) == 0


@given(st.text(st.sampled_from([*"ab\r\n", "\u0301", "\u200d", "\U0001f1e9", "\uac00", "\u11a8", "\u1100"])))
def test_cuts_are_in_order_and_settled(text: str) -> None:
    """A greater limit never gives a smaller cut, a cut is never beyond its limit, and cutting there again stays."""
    cuts = [safe_length(text, limit) for limit in range(len(text) + 1)]
    assert cuts == sorted(cuts)
    assert all(cut <= limit for limit, cut in enumerate(cuts))
    assert all(safe_length(text, cut) == cut for cut in cuts)


@given(st.text(st.sampled_from([*"ab\r\n", "\u200d", "\U0001f1e9", "\uac00"])), st.text(max_size=3))
def test_a_boundary_stays_one_whatever_follows(text: str, more: str) -> None:
    """What was let out up to a boundary inside the text was not half of something."""
    for limit in range(len(text)):
        cut = safe_length(text, limit)
        assert safe_length(text + more, cut) == cut


def test_a_cluster_without_end_is_cut_all_the_same() -> None:
    """Nobody reads it as one character, and it must not hold text, or the worker, for ever."""
    text = "a" + "\u200d" * 500
    assert safe_length(text, len(text)) == len(text)
    flags = "\U0001f1e9" * 501
    assert safe_length(flags, len(flags)) in (500, 501)
    short = "\U0001f469" + "\u200d" * 5
    assert safe_length(short, len(short)) == 0
