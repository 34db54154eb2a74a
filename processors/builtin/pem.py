"""PEM blocks: keys and certificates."""

from __future__ import annotations

from collections.abc import Iterator

from processors.patterns import Pattern, Span
from processors.patterns.redactor import Redactor, Rule

_DASHES = "-{4,5} ?"
_PRIVATE = "(?:[A-Z0-9 ]{1,30} )?PRIVATE KEY(?: BLOCK)?"
_ANY = "[A-Z0-9][A-Z0-9 ]{2,40}"


class Blocks:
    """Finds PEM blocks; one whose end never comes reaches to the end of the text."""

    def __init__(self, kinds: str) -> None:
        begin = rf"{_DASHES}BEGIN {kinds} ?-{{4,5}}"
        self._begin = Pattern(begin)
        # Shortest first: the block ends at the first line that ends a block, whatever kind it names.
        self._whole = Pattern(rf"{begin}(?s:.)*?{_DASHES}END {_ANY}?-{{4,5}}")

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:
        """Yield what is found at `start` or later, from left to right, none over another."""
        for span in self._whole.spans(text, start, ended=ended):
            yield span
            start = span.end
        cut_off = next(self._begin.spans(text, start, ended=ended), None) if ended else None
        if cut_off is not None:
            yield Span(cut_off.start, len(text))

    def open_from(self, text: str, start: int = 0) -> int:
        """Return the first place at `start` or later from which the rest of `text` could grow into a finding."""
        for span in self._whole.spans(text, start, ended=False):
            start = span.end
        begun = next(self._begin.spans(text, start, ended=False), None)
        return self._begin.open_from(text, start) if begun is None else begun.start


def pem_blocks(
    name: str = "redact-pem",
    *,
    private_only: bool = False,
    label: str = "PEM",
    placeholder: str = "[{label}]",
    numbered: bool = False,
) -> Redactor:
    """Return a processor that replaces PEM blocks: private keys, and unless `private_only` certificates and all others.

    Of a block whose end never comes, everything to the end of the answer is replaced.
    """
    finder = Blocks(_PRIVATE if private_only else _ANY)
    return Redactor(name, [Rule(label, finder, same=str)], placeholder=placeholder, numbered=numbered)
