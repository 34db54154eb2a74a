"""What built-in finders say to watch for: with it, text is read at less cost, and comes out the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.builtin import api_keys, cards, emails, ibans, jwts, national_ids, phones, redact
from processors.patterns.redactor import Redactor
from tests.processors.patterns.written import examples

REDACTORS = {
    "api_keys": api_keys(),
    "cards": cards(),
    "emails": emails(),
    "ibans": ibans(),
    "jwts": jwts(),
    "national_ids": national_ids(),
    "phones": phones(),
    "all": redact([emails(), cards(), ibans(), phones(), jwts(), api_keys()]),
}
#: What findings are made of, and what is nearly so.
PIECES = [
    *(
        "d",
        "DE",
        "D E",
        "de8",
        "DE89 3704 0044 0532 0130 00",
        "GB-",
        "  ",
        "   ",
        ". ",
        "1",
        "12",
        "+1 ",
        "(",
        "212 555 0123",
    ),
    *(
        "4111 1111 1111 1111",
        "4111-1111",
        "bob",
        "@",
        "ex.com",
        "eyJ",
        "a.b",
        "sk-",
        "ghp_",
        "AKIA",
        "AKIAIOSFODNN7EXAMPL",
    ),
    *("x", "_", "078-05-1120", "\n", "é", "ß", "\u200b", "word ", "words, and more"),
]


@pytest.mark.parametrize("name", REDACTORS)
def test_each_says_it(name: str) -> None:
    """None of them is too long, or silent."""
    assert REDACTORS[name]._ready.automaton is not None


@pytest.mark.parametrize("name", REDACTORS)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.integers(1, 5))
@examples(60)
def test_every_piece_lets_out_the_same_as_without(name: str, text: str, size: int) -> None:
    """Not a character sooner or later."""
    assert fed(REDACTORS[name], text, size) == fed(UNAIDED[name], text, size)


def fed(redactor: Redactor, text: str, size: int) -> list[str]:
    """Return what a scanner lets out of a text in pieces of `size`, and then at its end."""
    scanner = redactor.open_scanner()
    return [*(scanner.feed(text[place : place + size]) for place in range(0, len(text), size)), scanner.finish()]


def unaided(redactor: Redactor) -> Redactor:
    """Return the same redactor, but without an automaton."""
    twin = Redactor(redactor.name, redactor.rules)
    twin._ready.__dict__["automaton"] = None
    return twin


UNAIDED = {name: unaided(redactor) for name, redactor in REDACTORS.items()}
