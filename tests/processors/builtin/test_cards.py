"""Payment card numbers."""

from __future__ import annotations

import pytest
from stdnum import luhn

from processors.builtin import cards
from tests.processors.builtin.texts import fed, settled

PROCESSOR = cards()
#: The issuers' and payment providers' published test numbers.
NUMBERS = [
    "4111111111111111",
    "4222222222222",
    "4012888888881881",
    "5555555555554444",
    "2223003122003222",
    "378282246310005",
    "30569309025904",
    "38520000023237",
    "6011111111111117",
    "3530111333300000",
    "6200000000000005",
    "6759649826438453",
    "2200000000000004",
]


def grouped(number: str, separator: str) -> str:
    """Return a number as it is printed on the card."""
    sizes = {15: (4, 6, 5), 14: (4, 6, 4)}.get(len(number), (4,) * 5)
    parts, place = [], 0
    for size in sizes:
        parts.append(number[place : place + size])
        place += size
    return separator.join(part for part in parts if part)


@pytest.mark.parametrize("separator", ["", " ", "-", ".", " - ", "\u00a0"])
@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_is_replaced_in_every_grouping(number: str, separator: str) -> None:
    """One piece, printed groups."""
    assert settled(PROCESSOR, f"Card {grouped(number, separator)}.") == "Card [CARD]."


@pytest.mark.parametrize("length", range(12, 20))
def test_all_lengths_from_12_to_19_are_known(length: int) -> None:
    """Maestro has them all."""
    start = "6759" + "0" * (length - 6) + "1"
    number = start + luhn.calc_check_digit(start)
    assert len(number) == length
    assert settled(PROCESSOR, number) == "[CARD]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12 4111 1111 1111 1111", "12 [CARD]"),
        ("1234 4111 1111 1111 1111", "1234 [CARD]"),
        ("4111 1111 1111 1111 12", "[CARD] 12"),
        ("4111-1111-1111-1111-", "[CARD]-"),
        ("4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "[CARD]"),
        ("visa4111111111111111now", "visa[CARD]now"),
    ],
)
def test_other_numbers_beside_it_hide_none(text: str, expected: str) -> None:
    """Nor letters."""
    assert settled(PROCESSOR, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "4111111111111112",
        "41111111111111111",
        "9111 1111 1111 1111",
        "0.4111111111111111",
        "41 11 11 11 11 11 11 11",
        "411 111 111 111 1111",
        "0000 0000 0000 0000",
        "1700000000000",
    ],
)
def test_what_is_no_card_stays(text: str) -> None:
    """A wrong check digit, another length or issuer, decimals, groups that no card has."""
    assert settled(PROCESSOR, text) == text


def test_a_number_is_the_same_in_all_its_groupings() -> None:
    """It has one placeholder."""
    text = "4111111111111111, 4111 1111 1111 1111, 5555555555554444"
    assert settled(cards(numbered=True), text) == "[CARD_1], [CARD_1], [CARD_2]"


def test_a_complete_number_waits_for_the_character_behind_it() -> None:
    """One digit more, and it is none."""
    outs = [said for _, said in fed(PROCESSOR, ["378282246310005", "12", "."])]
    assert outs == [0, 17, 18]
    assert settled(PROCESSOR, "37828224631000512.") == "37828224631000512."
