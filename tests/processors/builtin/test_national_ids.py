"""National identity numbers."""

from __future__ import annotations

import pytest

from processors.builtin import national_ids
from processors.errors import DeclarationError
from tests.processors.builtin.texts import settled

PROCESSOR = national_ids()


@pytest.mark.parametrize(
    ("number", "label"),
    [
        ("536-90-4399", "US_SSN"),
        ("536 90 4399", "US_SSN"),
        ("912-90-3456", "US_ITIN"),
        ("123-456-782", "CA_SIN"),
        ("BOXW310820HNERXN09", "MX_CURP"),
        ("390.533.447-05", "BR_CPF"),
        ("39053344705", "BR_CPF"),
        ("AB 12 34 56 C", "GB_NINO"),
        ("AB123456C", "GB_NINO"),
        ("943 476 5870", "GB_NHS"),
        ("36574261809", "DE_IDNR"),
        ("36 574 261 809", "DE_IDNR"),
        ("2 95 10 99 126 111 93", "FR_NIR"),
        ("295109912611193", "FR_NIR"),
        ("54362315K", "ES_DNI"),
        ("54362315-K", "ES_DNI"),
        ("x-2482300w", "ES_NIE"),
        ("RCCMNL83S18D969H", "IT_CODICE_FISCALE"),
        ("1112.22.333", "NL_BSN"),
        ("85.07.30-033 28", "BE_NATIONAL_NUMBER"),
        ("756.9217.0769.85", "CH_AHV"),
        ("44051401359", "PL_PESEL"),
        ("880320-0016", "SE_PERSONNUMMER"),
        ("19880320-0016", "SE_PERSONNUMMER"),
        ("131052-308T", "FI_HETU"),
        ("2341 2341 2346", "IN_AADHAAR"),
        ("ACUPA7085R", "IN_PAN"),
        ("360426199101010071", "CN_RIC"),
        ("971013-9019902", "KR_RRN"),
    ],
)
def test_a_valid_number_is_replaced_by_its_name(number: str, label: str) -> None:
    """The examples of the library, and of the authorities."""
    assert settled(PROCESSOR, f"It is {number}, I think.") == f"It is [{label}], I think."


@pytest.mark.parametrize(
    "number",
    [
        "000-12-3456",
        "666-12-3456",
        "536-00-4399",
        "078-05-1120",
        "123-456-789",
        "390.533.447-06",
        "BG 12 34 56 C",
        "943 476 5871",
        "36574261808",
        "295109912611194",
        "54362315A",
        "X2482300A",
        "RCCMNL83S18D969A",
        "1112.22.334",
        "85.07.30-033 61",
        "756.9217.0769.84",
        "44051401358",
        "880320-0018",
        "131052-308U",
        "2341 2341 2347",
        "360426199101010072",
        "971013-9019903",
        "2024-12-3456",
        "12536-90-43991",
    ],
)
def test_an_invalid_number_stays(number: str) -> None:
    """Wrong check digits, numbers never given out, other things that look alike."""
    assert settled(PROCESSOR, f"It is {number}, I think.") == f"It is {number}, I think."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SSN: 536904399.", "SSN: [US_SSN]."),
        ("Social Security number is 536904399", "Social Security number is [US_SSN]"),
        ("BSN 111222333", "BSN [NL_BSN]"),
        ("NHS no. 9434765870", "NHS no. [GB_NHS]"),
        ("aadhaar=234123412346", "aadhaar=[IN_AADHAAR]"),
        ("SIN 123 456 782", "SIN [CA_SIN]"),
        ("order 536904399, 111222333, 234123412346", "order 536904399, 111222333, 234123412346"),
    ],
)
def test_numbers_like_any_other_are_known_by_the_name_before_them(text: str, expected: str) -> None:
    """The name stays."""
    assert settled(PROCESSOR, text) == expected


def test_countries_can_be_chosen() -> None:
    """And only theirs are looked for."""
    assert settled(national_ids(countries=["us"]), "536-90-4399 AB123456C") == "[US_SSN] AB123456C"
    with pytest.raises(DeclarationError, match="no numbers of ZZ"):
        national_ids(countries=["US", "ZZ"])
    with pytest.raises(DeclarationError, match="no country at all"):
        national_ids(countries=[])


def test_one_label_for_all() -> None:
    """Numbered, however a number is grouped."""
    text = "AB123456C, AB 12 34 56 C, 536-90-4399"
    assert settled(national_ids(label="ID", numbered=True), text) == "[ID_1], [ID_1], [ID_2]"
