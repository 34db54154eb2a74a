"""International bank account numbers."""

from __future__ import annotations

import pytest

from processors.builtin import ibans
from tests.processors.builtin.texts import fed, settled

PROCESSOR = ibans()
#: Examples out of the SWIFT registry.
NUMBERS = [
    "GB29NWBK60161331926819",
    "DE89370400440532013000",
    "FR1420041010050500013M02606",
    "NL91ABNA0417164300",
    "ES9121000418450200051332",
    "IT60X0542811101000000123456",
    "CH9300762011623852957",
    "NO9386011117947",
    "MT84MALT011000012345MTLCAST001S",
    "SA0380000000608010167519",
]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("separator", ["", " ", "-"])
def test_a_number_is_replaced_in_one_piece_and_in_groups(number: str, separator: str) -> None:
    """In capitals or not."""
    written = separator.join(number[place : place + 4] for place in range(0, len(number), 4))
    assert settled(PROCESSOR, f"Pay {written}, please") == "Pay [IBAN], please"
    assert settled(PROCESSOR, f"Pay {written.lower()} please") == "Pay [IBAN] please"


@pytest.mark.parametrize(
    "text",
    [
        "GB29NWBK60161331926818",
        "XX29NWBK60161331926819",
        "GB29 NWBK is not it",
        "DE89 apples",
        "is 12",
        "IBAN DE00 0000",
    ],
)
def test_what_is_no_iban_stays(text: str) -> None:
    """Wrong check digits, no such country, too short."""
    assert settled(PROCESSOR, text) == text


def test_a_word_is_held_only_while_it_could_begin_one() -> None:
    """`GB` does, `the` does not, and text after the check digits need not wait for what follows the number."""
    assert [read - said for read, said in fed(PROCESSOR, ["the", " GB", "29 N", "1"])] == [0, 2, 6, 0]
    assert list(fed(PROCESSOR, ["GB29NWBK60161331926819"]))[-1] == (22, 6)
