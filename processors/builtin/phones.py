"""Telephone numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from processors.builtin.extras import library
from processors.builtin.walking import Walker, beginning, digits_of
from processors.errors import DeclarationError
from processors.patterns.redactor import Redactor, Rule

#: With the international prefix 00.
_MOST_DIGITS = 17
_LEAST_DIGITS = 7
_SHAPE = re.compile(rf"(?:\+ ?)?\(?(?:[0-9][ .\-/()]{{0,3}}){{0,{_MOST_DIGITS}}}")
_LONGEST = 4 * (_MOST_DIGITS + 1)
#: Not in the middle of a word or number, nor the decimals of one.
_BEFORE = (r"[\w+]", "[0-9][.,]")
_HEAD = "[+(0-9]"
#: A bracket is where a number begins only before a digit, or at the end.
_BRACKET = r"(?:(?<!\()|(?=[0-9]|\Z))"
_DATE = re.compile(r"(?<!\d)(?:\d{1,2}([./-])\d{1,2}\1(?:19|20)\d\d|(?:19|20)\d\d([./-])\d{1,2}\2\d{1,2})(?!\d)")
_GROUP = re.compile("[0-9]+")
_ABROAD = re.compile(r"00|011")
#: How numbers of the North American plan are grouped.
_NORTH_AMERICAN = {(10,), (11,), (3, 3, 4), (1, 3, 3, 4), (3, 7), (1, 10)}
_NORTH_AMERICAN_CODE = 1
#: The ends of the 32-bit integers: in programs far more often than on telephones in Dallas.
_LIMITS = frozenset({"2147483647", "2147483648"})
#: Mobile numbers that Ofcom keeps for fiction: not valid, and in every example.
_DRAMA = re.compile(r"(?:\+44|0)7700900[0-9]{3}")


class _Phones(Walker):
    def __init__(self, regions: Sequence[str], *, bare: bool) -> None:
        super().__init__(beginning(_HEAD, _BEFORE) + _BRACKET, _HEAD, _LONGEST)
        self._library = library("phonenumbers", "phones()")
        self._regions = regions
        self._bare = bare
        self._trunk_prefixes: dict[str, str] = {}
        self._codes: dict[str, int] = {}
        for region in regions:
            code = self._library.country_code_for_region(region)
            if not code:
                raise DeclarationError(f"phones: {region!r} is no region: write ISO 3166 codes, such as 'GB'")
            self._codes[region] = code
            self._trunk_prefixes[region] = self._trunk_prefix(region)

    def _end(self, text: str, start: int) -> int | None:
        match = _SHAPE.match(text, start)
        if match is None:
            return None
        raw = match.group()
        ends = [group.end() for group in _GROUP.finditer(raw)]
        for end in reversed(ends):
            after = text[start + end : start + end + 1]
            if not (after.isalnum() or after == "_") and self._is_phone(raw[:end], text[:start][-1:]):
                return start + end
        return None

    def _is_open(self, text: str, start: int) -> bool:
        match = _SHAPE.match(text, start)
        if match is None or match.end() < len(text):
            return False
        return len(digits_of(match.group())) < _MOST_DIGITS or text[-1].isdigit()

    def _is_phone(self, written: str, before: str) -> bool:
        digits = digits_of(written)
        if len(digits) < _LEAST_DIGITS or written.count("(") != written.count(")") or _DATE.search(written):
            return False
        if written.startswith("+"):
            return self._is_valid("+" + digits, None)
        abroad = _ABROAD.match(digits)
        if abroad and self._is_valid("+" + digits[abroad.end() :], None):
            return True
        if written == digits and (not self._bare or before == "-" or digits in _LIMITS):
            return False
        return any(self._is_national(written, digits, region) for region in self._regions)

    def _is_national(self, written: str, digits: str, region: str) -> bool:
        """Return whether a number is one of `region`, written as at home there.

        A trunk prefix must be there where it is usually written: without, numbers look like any other.
        """
        if self._codes[region] == _NORTH_AMERICAN_CODE:
            if tuple(len(group) for group in _GROUP.findall(written)) not in _NORTH_AMERICAN:
                return False
        elif not digits.startswith(self._trunk_prefixes[region]):
            return False
        return self._is_valid(digits, region)

    def _trunk_prefix(self, region: str) -> str:
        """Return the prefix that numbers of `region` are written with there."""
        prefix = self._library.ndd_prefix_for_region(region, True) or ""
        example = self._library.example_number(region)
        written = self._library.format_number(example, self._library.PhoneNumberFormat.NATIONAL) if example else ""
        return prefix if digits_of(written).startswith(prefix) else ""

    def _is_valid(self, number: str, region: str | None) -> bool:
        if _DRAMA.fullmatch(number) and region in (None, "GB"):
            return True
        try:
            return bool(self._library.is_valid_number(self._library.parse(number, region)))
        except self._library.NumberParseException:
            return False


def phones(
    name: str = "redact-phones",
    *,
    regions: Iterable[str] = ("US", "GB"),
    bare: bool = True,
    label: str = "PHONE",
    placeholder: str = "[{label}]",
    numbered: bool = False,
) -> Redactor:
    """Return a processor that replaces telephone numbers.

    Numbers with an international prefix (`+`, `00`, `011`) are those of all countries, others those of `regions` (ISO 3166
    codes), as they are written there; grouped with spaces, dots, dashes, slashes and parentheses. `bare` takes in those
    in one piece without any prefix, which an order number of ten digits can look like. Needs the extra `builtin`.

    Raises:
        DeclarationError: the library is not installed, or a region is none.
    """
    finder = _Phones(tuple(regions), bare=bare)
    return Redactor(name, [Rule(label, finder, same=digits_of)], placeholder=placeholder, numbered=numbered)
