"""A table of formats as one finder: looked for together, so that a long table costs little more than a short one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from processors.patterns import Pattern, PatternError, Span


def any_case(text: str) -> str:
    """Return the pattern of `text` in capitals, small letters, or both."""
    return "".join(f"[{char.lower()}{char.upper()}]" if char.isalpha() else re.escape(char) for char in text)


def _anything(_: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Format:
    """What a thing called `label` looks like.

    `pattern` is one of our own, known to need no more than a reading. A group in it is the part that is secret. What
    `check` refuses is none: give one to patterns with a longest match only. `source` says where the format is written
    down.
    """

    label: str
    pattern: str
    source: str
    check: Callable[[str], bool] = _anything


class AnyOf:
    """Finds what has one of `formats`, with none of the characters of class `before` before and `after` behind it."""

    def __init__(self, formats: Sequence[Format], *, before: str = "", after: str = "") -> None:
        ahead = f"(?<!{before})" if before else ""
        behind = f"(?!{after})" if after else ""
        together = f"{ahead}(?:{'|'.join(f'(?:{one.pattern})' for one in formats)}){behind}"
        self._formats = [(one, re.compile(one.pattern + behind)) for one in formats]
        self._starts = re.compile(together)
        self._open = Pattern(together)
        if self._open.lazy:
            raise PatternError("formats are read as long as they can be: write them without lazy repeats")
        self.watched = self._open.parsed

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:  # noqa: ARG002 - part of the protocol
        """Yield what is found at `start` or later, from left to right, none over another."""
        while (match := self._starts.search(text, start)) is not None:
            place = match.start()
            _, found = self._longest(text, place)
            if found is None:
                start = place + 1
            else:
                yield Span(place, found.end())
                start = found.end()

    def open_from(self, text: str, start: int = 0) -> int:
        """Return the first place at `start` or later from which the rest of `text` could grow into a finding."""
        return self._open.open_from(text, start)

    def label(self, found: str) -> str:
        """Return what a finding is called."""
        one, _ = self._longest(found, 0)
        return one.label if one is not None else ""

    def part(self, found: str) -> tuple[int, int]:
        """Return from where to where a finding is secret."""
        _, match = self._longest(found, 0)
        if match is None or not match.re.groups or match.start(1) < 0:
            return 0, len(found)
        return match.span(1)

    def _longest(self, text: str, place: int) -> tuple[Format | None, re.Match[str] | None]:
        """Return the longest of what begins at `place`, the first of several in the table's order."""
        best: tuple[Format | None, re.Match[str] | None] = None, None
        for one, regex in self._formats:
            match = regex.match(text, place)
            if match and (best[1] is None or match.end() > best[1].end()) and one.check(match.group()):
                best = one, match
        return best
