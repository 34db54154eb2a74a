"""Finders of what is written with a bounded number of characters, in one piece or in groups, and can be checked.

A finder tries every place where such a thing could begin, on its own: what it finds there depends on the characters from
there on and a few before. So it finds the same however a text is cut, and a number beside another hides neither.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from itertools import pairwise

from processors.patterns import Pattern, Span


def beginning(first: str, before: Collection[str]) -> str:
    """Return the pattern of a character of the class `first` with nothing of `before`, each of a fixed length, before it.

    What stands before is looked at from behind the character. The engine leaps from one such character to the next; put
    first, a look-behind is tried at every place of the text.
    """
    return first + "".join(f"(?<!{one}(?s:.))" for one in before)


class Walker(ABC):
    """Tries every place at which `starts` matches; nothing it finds is longer than `longest` characters.

    Its findings begin with what the pattern `head` matches; until that has matched, they are open where it is.
    """

    def __init__(self, starts: str, head: str, longest: int) -> None:
        self.watched = Pattern(head).parsed
        self._starts = re.compile(starts)
        self._longest = longest

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:
        """Yield what is found at `start` or later, from left to right, none over another; up to what is still open."""
        while (match := self._starts.search(text, start)) is not None:
            place = match.start()
            if not ended and self._is_open(text, place):
                return
            end = self._end(text, place)
            if end is None:
                start = place + 1
            else:
                yield Span(place, end)
                start = end

    def open_from(self, text: str, start: int = 0) -> int:
        """Return the first place at `start` or later from which the rest of `text` could grow into a finding."""
        start = max(start, len(text) - self._longest)
        while (match := self._starts.search(text, start)) is not None:
            if self._is_open(text, match.start()):
                return match.start()
            start = match.start() + 1
        return len(text)

    @abstractmethod
    def _end(self, text: str, start: int) -> int | None:
        """Return where the longest finding that begins at `start` ends."""

    @abstractmethod
    def _is_open(self, text: str, start: int) -> bool:
        """Return whether all of `text` from `start` on could grow into a finding, or a longer one."""


class Grouped(Walker):
    """Finds numbers of a few known lengths, with or without separators between their characters.

    Args:
        characters: the class of the characters that count.
        separators: the class of those that may stand between, at most `gap` in a row.
        before: what may not stand before a number, each of a fixed length.
        lengths: given the first characters (as many as there are), how many a number that begins so can have.
        check: given all characters, and the sizes of their groups, whether this is such a number.
        fewest, most: the least and the greatest of all lengths.
        alone: a number is none if one of its characters follows it directly.
        first: the class of the first character, if it is not that of all.
        head: what numbers begin with, if more can be said than that it is one of the characters.
    """

    def __init__(
        self,
        *,
        characters: str,
        separators: str,
        gap: int,
        before: Collection[str],
        lengths: Callable[[str], Collection[int]],
        check: Callable[[str, tuple[int, ...]], bool],
        fewest: int,
        most: int,
        alone: bool = True,
        first: str | None = None,
        head: str | None = None,
    ) -> None:
        between = f"{separators}{{0,{gap}}}"
        another = f"(?:{between}{characters})"
        # Not where too few follow: most numbers in a text are short. They may still come where the text ends.
        enough = rf"(?={another}{{{fewest - 1}}}|{another}{{0,{fewest - 2}}}{between}\Z)"
        super().__init__(beginning(first or characters, before) + enough, head or characters, most * (gap + 1))
        self._shape = re.compile(f"(?:{characters}{between}){{1,{most}}}")
        self._character = re.compile(characters)
        self._lengths = lengths
        self._check = check
        self._alone = alone

    def _end(self, text: str, start: int) -> int | None:
        read, ends = self._read(self._raw(text, start), start)
        for length in sorted(self._lengths(read), reverse=True):
            if length > len(read):
                continue
            end = ends[length - 1]
            if self._alone and self._character.match(text, end):
                continue
            if self._check(read[:length], _group_sizes(ends[:length])):
                return end
        return None

    def _is_open(self, text: str, start: int) -> bool:
        raw = self._raw(text, start)
        if start + len(raw) < len(text):
            return False
        read, ends = self._read(raw, start)
        # A number that is as long as it can be is open for as long as the next character is not there.
        least = len(read) + (0 if self._alone and ends[-1] == len(text) else 1)
        return any(length >= least for length in self._lengths(read))

    def _raw(self, text: str, start: int) -> str:
        """Return characters that count from `start` on, and what stands between them."""
        match = self._shape.match(text, start)
        return match.group() if match else ""

    def _read(self, raw: str, start: int) -> tuple[str, list[int]]:
        """Return the characters that count in `raw`, which stands at `start`, and the place behind each."""
        counted = [(char, start + index + 1) for index, char in enumerate(raw) if self._character.match(char)]
        return "".join(char for char, _ in counted), [end for _, end in counted]


def _group_sizes(ends: list[int]) -> tuple[int, ...]:
    """Return how many characters stand together in each group, given the places behind the characters."""
    sizes = [1]
    for one, following in pairwise(ends):
        if following - one == 1:
            sizes[-1] += 1
        else:
            sizes.append(1)
    return tuple(sizes)


def digits_of(text: str) -> str:
    """Return the digits of `text`: what makes a number the same in all its groupings."""
    return "".join(char for char in text if char.isdigit())


def alphanumerics_of(text: str) -> str:
    """Return the letters, in capitals, and digits of `text`."""
    return "".join(char for char in text if char.isalnum()).upper()
