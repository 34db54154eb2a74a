"""Payment card numbers."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from processors.builtin.walking import Grouped, digits_of
from processors.patterns.redactor import Redactor, Rule

_FEWEST, _MOST = 12, 19


class _Issuer(NamedTuple):
    """Numbers that begin with the digits `first` to `last` (of equal length), and how long they are."""

    first: str
    last: str
    lengths: tuple[int, ...]


#: After ISO/IEC 7812 and the issuers' published ranges.
_ISSUERS = (
    _Issuer("4", "4", (13, 16, 19)),  # Visa
    _Issuer("51", "55", (16,)),  # Mastercard
    _Issuer("2221", "2720", (16,)),  # Mastercard
    _Issuer("34", "34", (15,)),  # American Express
    _Issuer("37", "37", (15,)),  # American Express
    _Issuer("300", "305", (14,)),  # Diners Club
    _Issuer("3095", "3095", (14,)),  # Diners Club
    _Issuer("36", "36", (14,)),  # Diners Club
    _Issuer("38", "39", (14,)),  # Diners Club
    _Issuer("6011", "6011", (16, 17, 18, 19)),  # Discover
    _Issuer("644", "649", (16, 17, 18, 19)),  # Discover
    _Issuer("65", "65", (16, 17, 18, 19)),  # Discover, RuPay, Troy, Elo
    _Issuer("3528", "3589", (16, 17, 18, 19)),  # JCB
    _Issuer("62", "62", (16, 17, 18, 19)),  # UnionPay
    _Issuer("81", "82", (16, 17, 18, 19)),  # UnionPay, RuPay
    _Issuer("60", "60", (16,)),  # RuPay
    _Issuer("508", "508", (16,)),  # RuPay
    _Issuer("2200", "2204", (16, 17, 18, 19)),  # Mir
    _Issuer("9792", "9792", (16,)),  # Troy
    _Issuer("5019", "5019", (16,)),  # Dankort
    _Issuer("636", "639", (16, 17, 18, 19)),  # InterPayment, InstaPayment, Maestro
    _Issuer("5018", "5018", tuple(range(12, 20))),  # Maestro
    _Issuer("5020", "5020", tuple(range(12, 20))),  # Maestro
    _Issuer("5038", "5038", tuple(range(12, 20))),  # Maestro
    _Issuer("5612", "5612", tuple(range(12, 20))),  # Maestro
    _Issuer("5893", "5893", tuple(range(12, 20))),  # Maestro
    _Issuer("6304", "6304", tuple(range(12, 20))),  # Maestro
    _Issuer("6759", "6763", tuple(range(12, 20))),  # Maestro
)
#: How many of its first digits tell how long a number may be.
_TELLING = max(len(issuer.first) for issuer in _ISSUERS)
_LEAST_FIRST_GROUP = 4
_LEAST_GROUP = 3


def cards(
    name: str = "redact-cards", *, label: str = "CARD", placeholder: str = "[{label}]", numbered: bool = False
) -> Redactor:
    """Return a processor that replaces payment card numbers of 12 to 19 digits.

    A card number begins as one of the known issuers' does, has one of its lengths, and passes the Luhn check. It stands in
    one piece, in groups (four digits or more, then groups of three or more), or digit by digit, with spaces, dots or
    dashes between. One in ten other numbers that look the same passes the check, and is replaced too.
    """
    finder = Grouped(
        characters="[0-9]",
        separators=r"[ .\-]",
        gap=3,
        # Not in the middle of digits, and not the decimals of a number.
        before=("[0-9]", "[0-9][.,]"),
        lengths=_lengths,
        check=_is_card,
        fewest=_FEWEST,
        most=_MOST,
    )
    return Redactor(name, [Rule(label, finder, same=digits_of)], placeholder=placeholder, numbered=numbered)


def _lengths(digits: str) -> frozenset[int]:
    return _lengths_of(digits[:_TELLING])


@cache
def _lengths_of(first: str) -> frozenset[int]:
    found: set[int] = set()
    for issuer in _ISSUERS:
        known = first[: len(issuer.first)]
        if issuer.first[: len(known)] <= known <= issuer.last[: len(known)]:
            found.update(issuer.lengths)
    return frozenset(found)


def _is_card(digits: str, groups: tuple[int, ...]) -> bool:
    return _are_groups(groups) and _luhn(digits)


def _are_groups(sizes: tuple[int, ...]) -> bool:
    if len(sizes) == 1 or set(sizes) == {1}:
        return True
    return sizes[0] >= _LEAST_FIRST_GROUP and all(size >= _LEAST_GROUP for size in sizes[1:-1])


def _luhn(digits: str) -> bool:
    total = 0
    for index, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + index % 2)
        total += value - 9 if value > 9 else value  # noqa: PLR2004 - a digit's greatest value
    return total % 10 == 0 and digits.strip("0") != ""
