"""Telephone numbers."""

from __future__ import annotations

import phonenumbers
import pytest

from processors.builtin import phones
from processors.errors import DeclarationError
from tests.processors.builtin.texts import settled

PROCESSOR = phones()


@pytest.mark.parametrize(
    "number",
    [
        "415-555-2671",
        "(415) 555-2671",
        "415.555.2671",
        "415 555 2671",
        "1-800-555-0199",
        "4155552671",
        "+1 415 555 2671",
        "+14155552671",
        "020 7946 0958",
        "(020) 7946 0958",
        "07700 900123",
        "07700900123",
        "+44 (0)20 7946 0958",
        "0044 20 7946 0958",
        "011 44 20 7946 0958",
        "+49 30 1234567",
        "+49/30/1234567",
        "+33 1 42 68 53 00",
        "+91 98765 43210",
        "+81-3-1234-5678",
    ],
)
def test_a_number_is_replaced_whole(number: str) -> None:
    """Of the regions as written there, of all others with their country's code."""
    assert settled(PROCESSOR, f"Ring {number}, please.") == "Ring [PHONE], please."


@pytest.mark.parametrize("region", ["US", "GB", "DE", "FR", "ES", "IT", "IN", "BR", "JP", "AU", "PL", "NL"])
@pytest.mark.parametrize(
    "form", [phonenumbers.PhoneNumberFormat.NATIONAL, phonenumbers.PhoneNumberFormat.INTERNATIONAL]
)
def test_the_library_s_example_of_a_region_is_found(region: str, form: int) -> None:
    """As it is written there, and as from abroad."""
    example = phonenumbers.example_number(region)
    assert example is not None
    number = phonenumbers.format_number(example, form)
    assert settled(phones(regions=[region]), f"Ring {number}!") == "Ring [PHONE]!"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("room 12 415-555-2671", "room 12 [PHONE]"),
        ("415-555-2671 2024", "[PHONE] 2024"),
        ("(see 415-555-2671)", "(see [PHONE])"),
        ("(415-555-2671)", "([PHONE])"),
        ("415-555-2671/415-555-2672", "[PHONE]/[PHONE]"),
    ],
)
def test_what_stands_beside_a_number_stays(text: str, expected: str) -> None:
    """Other numbers too."""
    assert settled(PROCESSOR, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "20.12.2024 14:30",
        "2024-03-14 10:30:15",
        "01/02/2024 03/04/2024",
        "order 1234567890",
        "4111 1111 1111 1111",
        "3.4155552671",
        "ABC4155552671",
        "550e8400-e29b-41d4-a716-415555267112",
        "192.168.100.200",
        "978-3-16-148410-0",
        "10 000 000 000",
        "415 555 26712",
        "12345",
    ],
)
def test_what_is_no_number_stays(text: str) -> None:
    """Dates, orders, cards, decimals, identifiers."""
    assert settled(PROCESSOR, text) == text


def test_numbers_without_any_prefix_can_be_left_alone() -> None:
    """Where orders have ten digits."""
    assert settled(phones(bare=False), "4155552671 or 415-555-2671") == "4155552671 or [PHONE]"


def test_other_regions_are_unknown_unless_asked_for() -> None:
    """A national number is one of a region only."""
    assert settled(PROCESSOR, "030 1234567") == "030 1234567"
    assert settled(phones(regions=["DE"]), "030 1234567") == "[PHONE]"


def test_a_region_that_is_none_is_refused() -> None:
    """By name."""
    with pytest.raises(DeclarationError, match="'Germany' is no region"):
        phones(regions=["Germany"])
