"""A limit on how long an answer may be, the same whether it is seen whole or growing."""

from __future__ import annotations

from processors.contracts import Answer
from processors.declare import Incremental
from processors.errors import DeclarationError
from processors.verdicts import Replace
from topics.graphemes import safe_length

#: A grapheme cluster that begins further than this before the cut is cut in two: somebody piles up marks.
_REACH = 32
#: How far before that the text is looked at: what comes earlier says nothing about the cut, but in a row of flags.
_CONTEXT = 64
#: Joins whatever stands before it but a carriage return.
_MARK = "\u0301"


class CappingScanner:
    """Reads one answer; `changes` is 1 once it was cut short.

    What it holds back is a last grapheme cluster that may reach over the cut, and what stands there in place of an
    ellipsis until the end.
    """

    def __init__(self, limit: int, ellipsis: str) -> None:
        room = limit - len(ellipsis)
        self._ellipsis = ellipsis
        self._far = max(room - _REACH - _CONTEXT, 0)
        self._passed = 0
        # From here on places are counted from the end of what is far from the cut.
        self._limit = limit - self._far
        self._room = room - self._far
        self._near = ""
        self._out = 0
        self._cut: int | None = None
        self.changes = 0

    def feed(self, delta: str) -> str:
        """Take in what follows; return what is certain to be within the limit."""
        if self.changes:
            return ""
        far = delta[: self._far - self._passed]
        self._passed += len(far)
        # One character more than the limit tells all that there is to know.
        self._near += delta[len(far) :][: self._limit + 1 - len(self._near)]
        if len(self._near) > self._limit:
            self.changes = 1
            return far + self._up_to(self._place_of_cut()) + self._ellipsis
        return far + self._up_to(self._certain())

    def finish(self) -> str:
        """Return the rest."""
        return "" if self.changes else self._up_to(len(self._near))

    def _up_to(self, place: int) -> str:
        text, self._out = self._near[self._out : place], max(place, self._out)
        return text

    def _certain(self) -> int:
        """Return how much stays, however the answer goes on."""
        if len(self._near) > self._room:
            return self._place_of_cut()
        early = min(len(self._near), max(self._room - _REACH, 0))
        joining = "\n" if self._near.endswith("\r") else _MARK
        return max(early, safe_length(self._near + joining, len(self._near)))

    def _place_of_cut(self) -> int:
        """Return where the answer is cut if it is; only to be asked once there is text beyond that place."""
        if self._cut is None:
            safe = safe_length(self._near, self._room)
            self._cut = safe if self._room - safe <= _REACH else self._room
        return self._cut


class LengthCap:
    """An output processor that cuts answers short, and scans."""

    kind = "output"
    incremental = Incremental(lookback_chars=0)
    linear_time = True

    def __init__(self, limit: int, ellipsis: str, *, name: str, version: str) -> None:
        self.name = name
        self.version = version
        self._limit = limit
        self._ellipsis = ellipsis

    def process(self, answer: Answer) -> Replace:
        """Return the answer, or of a longer one its beginning and the ellipsis."""
        scanner = self.open_scanner()
        text = scanner.feed(answer.text)
        if answer.complete:
            text += scanner.finish()
        return Replace(text, changes=scanner.changes)

    def open_scanner(self) -> CappingScanner:
        """Return a scanner for one answer."""
        return CappingScanner(self._limit, self._ellipsis)


def length_cap(limit: int, ellipsis: str = "…", *, name: str = "length-cap", version: str = "1") -> LengthCap:
    """Return an output processor that lets at most `limit` code points of an answer out, the `ellipsis` included.

    An answer of exactly `limit` stays as it is. A longer one is cut where no grapheme cluster is parted, so it may come
    out a little shorter. Tool calls are no text and stay as they are.

    Raises:
        DeclarationError: there is no room for the ellipsis within the limit.
    """
    if type(limit) is not int or limit < max(1, len(ellipsis)):
        raise DeclarationError("length_cap: limit must be an int of code points, 1 or more, with room for the ellipsis")
    return LengthCap(limit, ellipsis, name=name, version=version)
