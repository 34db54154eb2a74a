"""One pattern: where it matches, and from where on text could still become, or add to, a match."""

from __future__ import annotations

import contextlib
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
        self.parsed = parsed
        #: Whether no code but turngate's own runs in it.
        self.linear_time = is_ours(type(self)) and (check is None or is_ours(check))
        self.spelt: Spelt = spelt(parsed)
        groups = self.spelt.groups
        self._match = Engine(self.spelt.matches, groups=groups)
        self._open = Engine(rf"(?:{self.spelt.opened})\z")
        if self.spelt.neighbour:
            self._first_match = Engine(self.spelt.first_matches, groups=groups + self.spelt.first_groups)
            self._first_open = Engine(rf"\A(?:{self.spelt.first_opened})\z")
        #: Finds what is certain, where that is not all that cannot be part of a longer text that matches.
        self._cut: tuple[Engine, Engine] | None = None
        if self.spelt.cut:
            # One that gets too large so is held back for longer, and finds the same.
            with contextlib.suppress(PatternError):
                cut = Engine(self.spelt.cut)
                self._cut = cut, Engine(self.spelt.first_cut) if self.spelt.first_cut else cut

    @property
    def lazy(self) -> bool:
        """Whether a match can be certain though the text could go on to a longer one."""
        return self._cut is not None

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:
        """Yield the matches in `text` that begin at `start` or later, from left to right, none over another.

        What stands before `start` counts as a neighbour. Unless the text has `ended`, those from `open_from` on are not
        the last word; of a `lazy` pattern, they are left out.
        """
        encoded = Encoded(text)
        offset = encoded.offset(start)
        while (found := self._next(encoded, offset)) is not None:
            if not ended and self._cut is not None and self._next_cut(self._cut, encoded, offset) is not None:
                return
            begin, offset = found
            span = Span(encoded.place(begin), encoded.place(offset))
            holds = self._check is None or self._check(text[span.start : span.end])
            yield span if holds else span._replace(holds=False)

    def open_from(self, text: str, start: int = 0) -> int:
        """Return the first place at `start` or later from which all the rest of `text` could become, or add to, a match.

        That is the length of `text` if no continuation makes a match that begins in it. Of a `lazy` pattern, the place is
        behind the matches that are certain.
        """
        encoded = Encoded(text)
        offset = encoded.offset(start)
        if self._cut is not None:
            return self._certain_to(self._cut, encoded, offset)
        if not self.spelt.neighbour:
            found = self._open.find(encoded, offset)
            return len(text) if found is None else encoded.place(found[0])
        if not offset and self._first_open.find(encoded) is not None:
            return 0
        found = self._open.find(encoded, encoded.before(offset))
        return len(text) if found is None else encoded.place(encoded.after(found[0]))

    def _certain_to(self, engines: tuple[Engine, Engine], encoded: Encoded, offset: int) -> int:
        """Return the place behind the matches that are certain, and behind all text in which none could begin."""
        while (opened := self._next_cut(engines, encoded, offset)) is None:
            found = self._next(encoded, offset)
            if found is None:
                return encoded.place(len(encoded.data))
            offset = found[1]
        return encoded.place(opened)

    def _next_cut(self, engines: tuple[Engine, Engine], encoded: Encoded, offset: int) -> int | None:
        """Return where what is open begins, unless there is a certain match before; None as well if nothing is open."""
        neighbour = self.spelt.neighbour
        engine = engines[0] if offset else engines[1]
        found = engine.find_cut(encoded, encoded.before(offset) if neighbour else offset)
        if found is None or not found[1]:
            return None
        begin, _ = found
        if not neighbour or (not offset and not begin and self._first_open.find(encoded) is not None):
            return begin
        return encoded.after(begin)

    def _next(self, encoded: Encoded, offset: int) -> tuple[int, int] | None:
        if not self.spelt.neighbour:
            return self._match.find_group(encoded, offset)
        if not offset:
            return self._first_match.find_group(encoded)
        return self._match.find_group(encoded, encoded.before(offset))
