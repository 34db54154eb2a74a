"""The promise of scanners: whatever the pieces, what a scanner says is what its processor says, and never taken back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from processors.checker.judge import Judge, Meter
from processors.checker.window import Reading
from processors.scanner import OpenScanner, Scanner

#: How the text came in: in two pieces, or one character at a time, or in pieces of other lengths.
Pieces: TypeAlias = Literal["two", "single", "random"]


class NoTextError(TypeError):
    """A scanner returned something that is no text."""


@dataclass(frozen=True, slots=True)
class ScanBreak:
    """A scanner contradicts its processor when a text comes in this way: lengths of what came first, and of all."""

    head: int
    whole: int
    pieces: Pieces


@dataclass(frozen=True, slots=True)
class ScanThrew:
    """A scanner threw `error` (a class name) after so many code points."""

    length: int
    error: str


@dataclass(frozen=True, slots=True)
class ScanReading:
    """What scanning one text came to. `held` is the longest text held back, `held_at` after how many code points."""

    broke: ScanBreak | None = None
    threw: ScanThrew | None = None
    held: int = 0
    held_at: int = 0


class Scanning:
    """Opens and feeds scanners of one kind, call by call counted."""

    def __init__(self, open_scanner: OpenScanner, meter: Meter) -> None:
        self._open = open_scanner
        self._meter = meter

    def run(self, pieces: Iterable[str]) -> list[str]:
        """Return what a new scanner says of each piece, and at the end.

        Raises:
            Exception: whatever the scanner raises.
            NoTextError: it says something that is no text.
        """
        scanner = self._open()
        return [self._feed(scanner, piece) for piece in pieces] + [self._finish(scanner)]

    def pace(self, pieces: Iterable[str]) -> None:
        """Scan a text for the time it takes; what is thrown ends it."""
        with contextlib.suppress(Exception):
            self.run(pieces)

    def held(self, head: str) -> int:
        """Return how many characters are held back after `head`; 0 where the scanner throws."""
        try:
            return len(self.run((head,))[1])
        except Exception:  # noqa: BLE001 - an operator's code may raise anything
            return 0

    def breaks(self, judge: Judge, head: str, whole: str) -> bool:
        """Tell whether the scanner contradicts the processor when `whole` comes in two pieces."""
        return self._contradicts(judge, whole, [head, whole[len(head) :]])

    def breaks_singly(self, judge: Judge, whole: str) -> bool:
        """Tell whether the scanner contradicts the processor when `whole` comes character by character."""
        return self._contradicts(judge, whole, list(whole))

    def read(self, reading: Reading, cuts: Sequence[Sequence[int]]) -> ScanReading:
        """Scan a text in all two pieces, character by character, and cut at each of `cuts`; stop where it breaks."""
        text = reading.text.text
        held = held_at = 0
        for head in range(len(text) + 1):
            try:
                first, rest = self.run((text[:head],))
                if len(rest) > held:
                    held, held_at = len(rest), head
                if not _agrees(reading, head, [first, rest]):
                    return ScanReading(ScanBreak(head, head, "two"))
                said = self.run((text[:head], text[head:]))
            except Exception as error:  # noqa: BLE001 - an operator's code may raise anything
                return ScanReading(threw=ScanThrew(head, type(error).__name__))
            if not _agrees(reading, len(text), said, [head, len(text)]):
                return ScanReading(ScanBreak(head, len(text), "two"))
        ways: list[tuple[Pieces, Sequence[int]]] = [("single", range(1, len(text) + 1)), *(("random", c) for c in cuts)]
        for pieces, ends in ways:
            try:
                said = self.run(text[start:end] for start, end in pairwise((0, *ends)))
            except Exception as error:  # noqa: BLE001 - the same
                return ScanReading(threw=ScanThrew(len(text), type(error).__name__))
            if not _agrees(reading, len(text), said, ends):
                return ScanReading(ScanBreak(ends[0] if ends else 0, len(text), pieces))
        return ScanReading(held=held, held_at=held_at)

    def _contradicts(self, judge: Judge, whole: str, pieces: Sequence[str]) -> bool:
        settled = judge.settled(whole)
        if settled is None:
            return False
        try:
            return "".join(self.run(pieces)) != settled
        except Exception:  # noqa: BLE001 - that it throws is another finding
            return False

    def _feed(self, scanner: Scanner, piece: str) -> str:
        self._meter.call(len(piece))
        return _text(scanner.feed(piece))

    def _finish(self, scanner: Scanner) -> str:
        return _text(scanner.finish())


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise NoTextError
    return value


def _agrees(reading: Reading, length: int, said: Sequence[str], ends: Sequence[int] = ()) -> bool:
    """Tell whether what a scanner said agrees with the processor: of all wholes that begin so, and of this one.

    `said` has an entry for each piece, which end at `ends`, and one for the end of the text at `length`.
    """
    out = 0
    total = "".join(said)
    for end, piece in zip(ends, said, strict=False):
        out += len(piece)
        common = reading.common[end]
        if piece and common >= 0 and (out > common or not reading.base.startswith(total[:out])):
            return False
    if length in reading.refused or length in reading.whole_broken:
        return True
    return hash(("approved", total)) == reading.wholes[length]
