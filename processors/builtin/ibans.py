"""International bank account numbers."""

from __future__ import annotations

import re
from collections.abc import Collection

from processors.builtin.extras import library
from processors.builtin.walking import Grouped, alphanumerics_of
from processors.patterns.redactor import Redactor, Rule

_MOST = 34
_HEAD = 4
_COUNTRY = 2
_SEPARATORS = r"[ .\-]"
_GAP = 2
_BEFORE = "[A-Za-z0-9]"
_PART = re.compile(r"(\d+)!([nac])")
_CLASSES = {"n": str.isdigit, "a": str.isalpha, "c": str.isalnum}


class _Countries:
    """The layout of each country's numbers, as `stdnum` knows it from the SWIFT registry."""

    def __init__(self) -> None:
        iban = library("stdnum.iban", "ibans()")
        numdb = library("stdnum.numdb", "ibans()").get("iban")
        self._is_valid = iban.is_valid
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        self._layouts: dict[str, str] = {}
        for country in (one + other for one in letters for other in letters):
            layout = dict(numdb.info(country)[0][1]).get("bban") if numdb.info(country) else None
            if layout:
                self._layouts[country] = "".join(kind * int(count) for count, kind in _PART.findall(layout))
        self._first_letters = {country[0] for country in self._layouts}
        self.fewest = _HEAD + min(map(len, self._layouts.values()))

    def head(self) -> str:
        """Return the pattern of two letters of a country and two digits, with what may stand between."""
        gap = f"{_SEPARATORS}{{0,{_GAP}}}"
        others: dict[str, str] = {}
        for country in self._layouts:
            others[country[0]] = others.get(country[0], "") + country[1]
        letters = (f"[{first}{first.lower()}]{gap}[{some}{some.lower()}]" for first, some in others.items())
        return f"(?<!{_BEFORE})(?:{'|'.join(letters)}){gap}[0-9]{gap}[0-9]"

    def lengths(self, begun: str) -> Collection[int]:
        """Return how long a number that begins with `begun` is; nothing if none begins so."""
        begun = begun.upper()
        if len(begun) < _COUNTRY:
            return (_MOST,) if begun in self._first_letters else ()
        layout = self._layouts.get(begun[:_COUNTRY])
        if layout is None or not all(char.isdigit() for char in begun[_COUNTRY:_HEAD]):
            return ()
        fits = all(_CLASSES[kind](char) for char, kind in zip(begun[_HEAD:], layout, strict=False))
        return (_HEAD + len(layout),) if fits else ()

    def is_iban(self, written: str, _: tuple[int, ...]) -> bool:
        """Return whether the check digits are right."""
        return bool(self._is_valid(written, check_country=False))


def ibans(
    name: str = "redact-ibans", *, label: str = "IBAN", placeholder: str = "[{label}]", numbered: bool = False
) -> Redactor:
    """Return a processor that replaces IBANs of all countries, in one piece or in groups, in capitals or not.

    An IBAN has its country's layout and right check digits. Needs the extra `builtin`.

    Raises:
        DeclarationError: the library is not installed.
    """
    countries = _Countries()
    finder = Grouped(
        characters="[A-Za-z0-9]",
        separators=_SEPARATORS,
        gap=_GAP,
        before=(_BEFORE,),
        lengths=countries.lengths,
        check=countries.is_iban,
        fewest=countries.fewest,
        most=_MOST,
        # Layout and check digits leave nothing to doubt, whatever follows.
        alone=False,
        first="[A-Za-z]",
        head=countries.head(),
    )
    return Redactor(name, [Rule(label, finder, same=alphanumerics_of)], placeholder=placeholder, numbered=numbered)
