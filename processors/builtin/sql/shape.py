"""What the first words of a possible statement say about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """A statement that may begin here.

    `writes` tells that it is no query. `capitals` and `signs` speak for SQL, `article` against. `vague` is what sentences
    and other languages have too: only capitals or signs make SQL of it, wherever it stands. If it is a query, it reaches
    to `reach` in the text at least.
    """

    writes: bool
    capitals: bool = False
    signs: bool = False
    article: bool = False
    vague: bool = False
    reach: int = 0

    def in_prose(self) -> bool:
        """Tell whether this is SQL in the middle of sentences."""
        return not self.article and (self.capitals or self.signs)

    def as_a_whole(self, first: str) -> bool:
        """Tell whether this is SQL where it is all that stands there; `first` is its first word as written."""
        if self.article or self.vague:
            return self.in_prose()
        return self.writes or self.capitals or self.signs or not first.istitle()
