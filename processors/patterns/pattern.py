"""One pattern: where it matches, and from where on text could still become, or add to, a match."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from processors.patterns.engine import Encoded, Engine
from processors.patterns.errors import PatternError
from processors.patterns.ours import is_ours
from processors.patterns.spelling import Spelt, spelt
from processors.patterns.tree import nullable, parse

#: Says whether a text that the pattern matches is what is looked for (a checksum, say).
Check = Callable[[str], bool]


class Span(NamedTuple):
    """A match: code points [`start`, `end`) of the text it was looked for in.

    One that does not `hold` was looked at and refused: nothing is found in it, and the search goes on behind it.
    """

    start: int
    end: int
    holds: bool = True


class Pattern:
    """A regular expression on a linear-time engine.

    Written as for `re`, without back-references, and with look-arounds only at its edges and of one class. It matches
    where Python's `re` would, and what it would. A match that `check` refuses is none; the search goes on behind it.
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
        #: Whether no code but turngate's own runs in it.
        self.linear_time = is_ours(type(self)) and (check is None or is_ours(check))
        self.spelt: Spelt = spelt(parsed)
        groups = self.spelt.groups
        self._match = Engine(self.spelt.matches, groups=groups)
        self._open = Engine(rf"(?:{self.spelt.opened})\z")
        if self.spelt.neighbour:
            self._first_match = Engine(self.spelt.first_matches, groups=groups + self.spelt.first_groups)
            self._first_open = Engine(rf"\A(?:{self.spelt.first_opened})\z")

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:  # noqa: ARG002 - part of the protocol
        """Yield the matches in `text` that begin at `start` or later, from left to right, none over another.

        What stands before `start` counts as a neighbour. Unless the text has `ended`, those from `open_from` on are not
        the last word.
        """
        encoded = Encoded(text)
        offset = encoded.offset(start)
        while (found := self._next(encoded, offset)) is not None:
            begin, offset = found
            span = Span(encoded.place(begin), encoded.place(offset))
            holds = self._check is None or self._check(text[span.start : span.end])
            yield span if holds else span._replace(holds=False)

    def open_from(self, text: str, start: int = 0) -> int:
        """Return the first place at `start` or later from which all the rest of `text` could become, or add to, a match.

        That is the length of `text` if no continuation makes a match that begins in it.
        """
        encoded = Encoded(text)
        offset = encoded.offset(start)
        if not self.spelt.neighbour:
            found = self._open.find(encoded, offset)
            return len(text) if found is None else encoded.place(found[0])
        if not offset and self._first_open.find(encoded) is not None:
            return 0
        found = self._open.find(encoded, encoded.before(offset))
        return len(text) if found is None else encoded.place(encoded.after(found[0]))

    def _next(self, encoded: Encoded, offset: int) -> tuple[int, int] | None:
        if not self.spelt.neighbour:
            return self._match.find_group(encoded, offset)
        if not offset:
            return self._first_match.find_group(encoded)
        return self._match.find_group(encoded, encoded.before(offset))
