"""The linear-time engine: expressions that RE2 runs over UTF-8, and the way from its bytes back to code points."""

from __future__ import annotations

import re2

from processors.patterns.cuts import MARK
from processors.patterns.errors import PatternError

_MAX_MEMORY_BYTES = 64 << 20


class Encoded:
    """A text as the engine reads it. Offsets are of bytes, places of code points."""

    __slots__ = ("_marked", "_offset", "_place", "_same", "_text", "data")

    def __init__(self, text: str) -> None:
        # A lone surrogate is no character; whatever stands for it must be one byte as it is one code point.
        self.data = text.encode(errors="replace")
        self._text = text
        self._same = len(self.data) == len(text)
        self._offset = 0
        self._place = 0
        self._marked = b""

    @property
    def marked(self) -> bytes:
        """The text with a mark at its end."""
        self._marked = self._marked or self.data + MARK
        return self._marked

    def place(self, offset: int) -> int:
        """Return the place of an offset. Cheap if asked for rising ones."""
        if self._same:
            return offset
        if offset < self._offset:
            self._offset = self._place = 0
        self._place += len(self.data[self._offset : offset].decode())
        self._offset = offset
        return self._place

    def offset(self, place: int) -> int:
        """Return the offset of a place."""
        return place if self._same else len(self._text[:place].encode(errors="replace"))

    def before(self, offset: int) -> int:
        """Return the offset of the character before `offset`; 0 at the beginning."""
        offset = max(offset - 1, 0)
        while not self._same and self.data[offset] & 0xC0 == 0x80:  # noqa: PLR2004 - what continues a character
            offset -= 1
        return offset

    def after(self, offset: int) -> int:
        """Return the offset behind the character at `offset`."""
        offset += 1
        while not self._same and offset < len(self.data) and self.data[offset] & 0xC0 == 0x80:  # noqa: PLR2004 - same
            offset += 1
        return offset


class Engine:
    """An expression in RE2's syntax. Groups in it are kept only if `groups`."""

    __slots__ = ("_compiled", "_groups")

    def __init__(self, spelling: str, *, groups: int = 0) -> None:
        """Compile `spelling`.

        Raises:
            PatternError: it takes too much memory, or counts further than the engine can.
        """
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _MAX_MEMORY_BYTES
        options.never_capture = not groups
        self._groups = groups
        try:
            self._compiled = re2.compile(spelling, options)
        except re2.error as exc:
            reason = str(exc) if "repetition" in str(exc) else "it is too large"
            raise PatternError(f"the pattern cannot be matched in linear time ({reason}): write it shorter") from None

    def find(self, encoded: Encoded, offset: int = 0) -> tuple[int, int] | None:
        """Return from where to where (offsets) the first match at `offset` or later reaches."""
        match = self._compiled.search(encoded.data, offset)
        if match is None:
            return None
        start, end = match.span()
        return start, end

    def all_in(self, encoded: Encoded) -> list[str]:
        """Return what all matches are, from left to right, none over another."""
        return [found.decode() for found in self._compiled.findall(encoded.data)]

    def find_cut(self, encoded: Encoded, offset: int = 0) -> tuple[int, bool] | None:
        """Return where the first match at `offset` or later begins, and whether it was cut by the end of the text.

        For expressions that take a mark for an end (`processors.patterns.cuts`).
        """
        match = self._compiled.search(encoded.marked, offset)
        return None if match is None else (match.start(), match.end() == len(encoded.marked))

    def find_group(self, encoded: Encoded, offset: int = 0) -> tuple[int, int] | None:
        """Return from where to where the group reaches that took part in that match; all of it if there are no groups."""
        match = self._compiled.search(encoded.data, offset)
        if match is None:
            return None
        for group in range(1, self._groups + 1):
            start, end = match.span(group)
            if start >= 0:
                return start, end
        start, end = match.span()
        return start, end
