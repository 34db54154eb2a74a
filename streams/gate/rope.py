"""Text that grows at its end, cheap to extend and immutable to its holders."""

from __future__ import annotations

_new = object.__new__


class Rope:
    """An immutable text kept as the pieces it arrived in, so that appending costs the piece and not the whole.

    Versions of a growing text share one list of pieces; each sees the first `_count` of them. The newest version
    extends the shared list, an older one too if by the same piece; by another it copies. Lengths are in code points;
    `length` is that of the text.
    """

    __slots__ = ("_count", "_pieces", "length")

    def __init__(self, text: str = "") -> None:
        self._pieces = [text] if text else []
        self._count = len(self._pieces)
        self.length = len(text)

    def __len__(self) -> int:
        return self.length

    def __str__(self) -> str:
        if self._count > 1:
            joined = "".join(self._pieces[: self._count])
            if self._count == len(self._pieces):
                # Nobody holds a longer version: let later reads find one piece.
                self._pieces = [joined]
                self._count = 1
            return joined
        return self._pieces[0] if self._count else ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rope) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"<Rope of {self.length} characters>"

    def append(self, piece: str) -> Rope:
        """Return this text followed by `piece`."""
        if not piece:
            return self
        count, pieces = self._count, self._pieces
        if count == len(pieces):
            pieces.append(piece)
        elif pieces[count] != piece:
            pieces = [*pieces[:count], piece]
        # Not by `__init__`: this is done for every frame, more than once.
        grown = _new(Rope)
        grown._pieces = pieces  # noqa: SLF001 - a Rope
        grown._count = count + 1  # noqa: SLF001 - as above
        grown.length = self.length + len(piece)
        return grown

    def tail(self, start: int) -> str:
        """Return the text from code point `start` on, at the cost of what is returned."""
        wanted = self.length - start
        if wanted <= 0:
            return ""
        index = self._count - 1
        found = [self._pieces[index]]
        have = len(found[0])
        if have >= wanted:
            return found[0][have - wanted :]
        while have < wanted:
            index -= 1
            found.append(self._pieces[index])
            have += len(self._pieces[index])
        return "".join(reversed(found))[have - wanted :]
