"""A growing text: what it costs is not visible here, what it says is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streams.gate.rope import Rope

PIECES = st.lists(st.text(max_size=4), max_size=12)


def roped(pieces: list[str]) -> Rope:
    """Return the pieces, appended one by one."""
    rope = Rope()
    for piece in pieces:
        rope = rope.append(piece)
    return rope


def test_an_empty_rope_is_the_empty_text() -> None:
    """Nothing appended, or nothing but nothing, is no text."""
    for empty in (Rope(), Rope(""), Rope().append("")):
        assert (str(empty), len(empty), empty.tail(0)) == ("", 0, "")


def test_appending_leaves_the_shorter_text_alone() -> None:
    """Whoever holds a version keeps it, however it is extended."""
    short = Rope("one ")
    long = short.append("two ").append("three")
    assert str(short) == "one "
    assert str(long) == "one two three"
    assert (len(short), len(long)) == (4, 13)


def test_two_continuations_of_one_text_do_not_mix() -> None:
    """The second one copies what the two have in common."""
    start = Rope("a").append("b")
    left, right = start.append("L"), start.append("R")
    left, right = left.append("1"), right.append("2")
    assert [str(start), str(left), str(right)] == ["ab", "abL1", "abR2"]


def test_a_repeated_continuation_is_shared() -> None:
    """A plan that is made and then carried out appends the same piece twice, to one list."""
    start = Rope("a").append("b")
    planned, done = start.append("c"), start.append("c")
    assert planned._pieces is done._pieces
    assert str(planned) == str(done) == "abc"


def test_reading_a_text_does_not_disturb_those_that_share_it() -> None:
    """Joining the pieces is for the reader alone, whichever version is read first."""
    start = Rope("a").append("b")
    longer = start.append("c")
    assert str(start) == "ab"
    assert str(longer) == "abc"
    again = longer.append("d")
    other = start.append("x")
    assert [str(start), str(longer), str(again), str(other)] == ["ab", "abc", "abcd", "abx"]


def test_a_read_text_is_one_piece_from_then_on() -> None:
    """A buffer that is read at every pass is not joined from the beginning each time."""
    rope = roped(["a", "b", "c"])
    assert str(rope) == "abc"
    assert rope._pieces == ["abc"]


def test_tails_begin_anywhere() -> None:
    """Inside a piece, between two, at the end and past it."""
    rope = roped(["one", "two", "three"])
    assert [rope.tail(at) for at in (0, 2, 3, 4, 10, 11, 99)] == [
        "onetwothree",
        "etwothree",
        "twothree",
        "wothree",
        "e",
        "",
        "",
    ]


def test_a_tail_ends_where_its_version_does() -> None:
    """A longer version on the same pieces does not show through."""
    short = Rope("ab").append("cd")
    short.append("ef")
    assert short.tail(1) == "bcd"


def test_lengths_count_code_points() -> None:
    """An emoji beyond the basic plane is one."""
    assert len(Rope("a\U0001f600").append("\u0301")) == 3


def test_equal_texts_are_equal_however_they_were_cut() -> None:
    """So that two states of a turn can be compared."""
    assert roped(["ab", "c"]) == roped(["a", "bc"])
    assert hash(roped(["ab", "c"])) == hash(roped(["a", "bc"]))
    assert roped(["ab"]) != roped(["abc"])
    assert Rope("a") != "a"


def test_its_representation_shows_no_content() -> None:
    """It may end up in a log."""
    assert "secret" not in repr(Rope("secret"))


@given(st.lists(st.tuples(st.integers(0, 30), st.text(max_size=4), st.booleans()), max_size=20), st.integers(0, 40))
def test_any_history_of_appends_reads_like_plain_text(steps: list[tuple[int, str, bool]], start: int) -> None:
    """Versions branch off one another in any order, some read in between: each says what a str would."""
    ropes, texts = [Rope()], [""]
    for parent, piece, read in steps:
        at = parent % len(ropes)
        ropes.append(ropes[at].append(piece))
        texts.append(texts[at] + piece)
        if read:
            assert str(ropes[at]) == texts[at]
    for rope, text in zip(ropes, texts, strict=True):
        assert rope.tail(start) == text[start:]
        assert (str(rope), len(rope)) == (text, len(text))


@given(PIECES)
def test_tails_of_a_rope_are_those_of_its_text(pieces: list[str]) -> None:
    """From every place, read or not."""
    rope, text = roped(pieces), "".join(pieces)
    for start in range(len(text) + 2):
        assert rope.tail(start) == text[start:]
