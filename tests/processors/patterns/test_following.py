"""Moves: a piece that was read from the same place before comes to what it came to then, at the cost of one look."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.patterns import Pattern, Span
from processors.patterns import following as module
from processors.patterns.folding import folds_to_itself
from processors.patterns.following import CONTEXT
from processors.patterns.redactor import RedactingScanner, Redactor, Rule
from processors.patterns.tree import parse
from tests.processors.patterns.written import examples, patterns

EMAIL = Pattern(r"[\w.+-]+@[a-z]+(?:\.[a-z]+)+")
NUMBER = Pattern(r"\b\d{3}-\d{2}\b")
TOKEN = Pattern(r"ey[a-z]{4,}\.[a-z]+")
PIECES = [
    "the ",
    "they",
    " 12",
    "3-4",
    "5 ",
    "bob",
    "@",
    "exam",
    "ple.",
    "co",
    "m, ",
    "a",
    "-",
    "e",
    "y",
    " ",
    "é",
    "\u200b",
]


def redactor(*finders: Pattern, folds: bool = True) -> Redactor:
    """Return a redactor by patterns."""
    return Redactor("r", [Rule(f"R{number}", one) for number, one in enumerate(finders)], folds=folds)


def check_read(redact: Redactor, pieces: list[str]) -> None:
    """Read pieces twice with moves, which the second time finds; check each against what is said without them."""
    plain = redact.open_scanner()
    expected = [plain._feed(piece) for piece in pieces]
    for _ in range(2):
        scanner = redact.open_scanner()
        assert [scanner.feed(piece) for piece in pieces] == expected
        assert scanner._length == plain._length
        assert scanner._before()[-CONTEXT:] == plain._before()[-CONTEXT:]


@examples(400)
@given(st.lists(st.sampled_from(PIECES), max_size=30), st.booleans())
def test_a_move_is_what_reading_the_piece_is(pieces: list[str], folds: bool) -> None:
    """Whatever came before: what goes out, what is held, and what stands before it."""
    check_read(redactor(EMAIL, NUMBER, TOKEN, folds=folds), pieces)


@examples(300)
@given(
    st.lists(patterns(), min_size=1, max_size=3), st.lists(st.text("ab1- \n_é", min_size=0, max_size=3), max_size=20)
)
def test_of_any_patterns(written: list[str], pieces: list[str]) -> None:
    """Those that nobody thought of too."""
    check_read(redactor(*map(Pattern, written), folds=False), pieces)


@examples(100)
@given(st.lists(st.sampled_from(["bobs", ".", "@", "exam", "ple.co", " ", "x y"]), min_size=5, max_size=80))
def test_what_is_long_is_held_in_pieces_and_read_alike(pieces: list[str]) -> None:
    """With small bounds, so that they are met."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MOST_JOINED", 12)
        check_read(redactor(EMAIL), pieces)


def test_the_first_of_two_open_places_may_close() -> None:
    """How much goes out then is not for the piece alone to say."""
    redact = redactor(Pattern("ab1"), Pattern("b2c"))
    check_read(redact, ["ab", "2", "x"])
    scanner = redact.open_scanner()
    assert [scanner.feed(piece) for piece in ("ab", "2", "x")] == ["", "a", "b2x"]


def test_a_long_match_is_not_copied_with_every_piece() -> None:
    """It is kept in the pieces it comes in, from some length on."""
    redact = redactor(EMAIL)
    for _ in range(2):
        scanner = redact.open_scanner()
        assert {scanner.feed("abcd") for _ in range(5_000)} == {""}
        assert len(scanner._held) < 2_000
        assert scanner.feed("@ab.cd") == ""
        assert scanner.feed(" ") == "[R0] "


def test_prose_that_was_read_before_is_read_by_moves_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The long way is not asked."""
    redact = redactor(EMAIL, NUMBER, TOKEN)
    pieces = ["some", " pro", "se, ", "12-3", "4 an", "d th", "ey a", "t na", "mes@", " ho"]
    first = redact.open_scanner()
    expected = [first.feed(piece) for piece in pieces]
    scanner = redact.open_scanner()
    scanner.feed(pieces[0])
    monkeypatch.setattr(RedactingScanner, "_feed", None)
    assert [scanner.feed(piece) for piece in pieces[1:]] == expected[1:]


def test_what_folds_leave_as_it_is_is_read_without_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quotation marks of print and many scripts; a look-alike or a mark on a letter is another matter."""
    scanner = redactor(EMAIL, NUMBER).open_scanner()
    monkeypatch.setattr(RedactingScanner, "_read", None)
    text = "\u201cIt\u2019s so\u201d, 我在 said 12-3. "
    assert "".join(scanner.feed(text[place : place + 3]) for place in range(0, len(text), 3)) == text
    for other in ("é", "\u0430", "\u2014", "\u200b", "\uff10"):
        assert not folds_to_itself(f"a{other}")


class Behind:
    """Finds fours that stand at most `CONTEXT` characters behind an x, and says that it looks for fours."""

    watched = parse("4 ")

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:  # noqa: ARG002 - the protocol's
        """Yield them."""
        yield from (
            Span(place, place + 2)
            for place in range(start, len(text))
            if text.startswith("4 ", place) and "x" in text[max(place - CONTEXT, 0) : place]
        )

    def open_from(self, text: str, start: int = 0) -> int:
        """Return where a four at the end is."""
        return max(start, len(text) - 1) if text.endswith("4") else len(text)


@pytest.mark.parametrize("distance", [CONTEXT - 1, CONTEXT, CONTEXT + 1])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 40])
def test_moves_keep_the_context_that_finders_look_back_to(distance: int, size: int) -> None:
    """However small the pieces were that went out."""
    redact = Redactor("r", [Rule("F", Behind())])
    text = f"abcdefghijklmnopqrstuvw{'x'}{'.' * (distance - 1)}4 "
    for _ in range(2):
        scanner = redact.open_scanner()
        out = "".join([scanner.feed(text[place : place + size]) for place in range(0, len(text), size)])
        assert out.endswith("[F]") == (distance <= CONTEXT)
