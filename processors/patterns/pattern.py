"""One pattern: where it matches, and from where on text could still become, or add to, a match."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import re2

from processors.patterns.errors import PatternError
from processors.patterns.prefixes import open_texts
from processors.patterns.tree import Choice, Edge, Node, Parsed, Repeat, nullable, parse, spell

#: Says whether a text that the pattern matches is what is looked for (a checksum, say).
Check = Callable[[str], bool]

_WORD = re.compile(r"\w")


class Span(NamedTuple):
    """A match: code points [`start`, `end`) of the text it was looked for in."""

    start: int
    end: int


class Pattern:
    """A regular expression on a linear-time engine.

    Written as for `re`, without back-references and with look-arounds only at its edges and of one class. Of the places
    where it matches, the leftmost counts, and there the match that Python's `re` would take. A match whose neighbours do
    not fit an edge, or that `check` refuses, is none; the search goes on behind it.
    """

    def __init__(self, pattern: str, flags: int = 0, *, check: Check | None = None) -> None:
        """Compile `pattern`.

        Raises:
            PatternError: it is no pattern, matches the empty text, or cannot be matched in linear time.
        """
        parsed = parse(pattern, flags)
        if nullable(parsed.body):
            raise PatternError(
                "the pattern matches the empty text, and so everywhere: have it match at least a character"
            )
        self._check = check
        self._before = [_neighbour(edge) for edge in parsed.before]
        self._after = [_neighbour(edge) for edge in parsed.after]
        self._match = _compile(parsed.body, parsed, "")
        # An edge behind the match is known only with the next character, so until then a whole match is open too.
        held = Choice((parsed.body, open_texts(parsed.body))) if parsed.after else open_texts(parsed.body)
        self._open = _compile(Repeat(held, 0, 1) if not nullable(held) else held, parsed, r"\z")

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:
        """Yield the matches in `text` that begin at `start` or later, from left to right, none over another.

        What stands before `start` counts as a neighbour. `ended` says that nothing follows `text`.
        """
        while (match := self._match.search(text, start)) is not None:
            span = Span(*match.span())
            start = span.end
            if self._fits(text, span, ended=ended) and (
                self._check is None or self._check(text[span.start : span.end])
            ):
                yield span

    def open_from(self, text: str, start: int = 0) -> int:
        """Return the first place at `start` or later from which all the rest of `text` could become, or add to, a match.

        That is the length of `text` if no continuation makes a match that begins in it.
        """
        while True:
            match = self._open.search(text, start)
            place = len(text) if match is None else int(match.start())
            if place >= len(text) or all(fits(text, place, place - 1) for fits in self._before):
                return place
            start = place + 1

    def _fits(self, text: str, span: Span, *, ended: bool) -> bool:
        if not all(fits(text, span.start, span.start - 1) for fits in self._before):
            return False
        if span.end == len(text) and not ended and self._after:
            return False
        return all(fits(text, span.end - 1, span.end) for fits in self._after)


def _neighbour(edge: Edge) -> Callable[[str, int, int], bool]:
    """Return what checks an edge, given a text, the place of the match's own character there, and of its neighbour."""
    if edge.end_only:
        return lambda text, _, beside: not 0 <= beside < len(text)
    if edge.boundary:
        return lambda text, own, beside: _is_word(text, own) != _is_word(text, beside)
    allowed = re.compile(edge.allowed or "")
    return lambda text, _, beside: not 0 <= beside < len(text) or allowed.match(text[beside]) is not None


def _is_word(text: str, place: int) -> bool:
    return 0 <= place < len(text) and _WORD.match(text[place]) is not None


def _compile(body: Node, parsed: Parsed, end: str) -> re2._Regexp:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not parsed.ignore_case
    options.max_mem = 64 << 20
    try:
        return re2.compile(f"(?:{spell(body)}){end}", options)
    except re2.error as exc:
        raise PatternError(f"the pattern cannot be matched in linear time ({exc}): write it shorter") from None
