"""Scanners: processors that read an answer once, and say at every moment which text can no longer change.

A scanner's words must be those of its processor: all that `feed` and `finish` return is, together, what the processor makes
of the whole text. It may look at each character a bounded number of times. Whoever promises that says so (`linear_time`);
whoever does not is run on prefixes instead, in a process that can be ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias


class Scanner(Protocol):
    """Reads one answer."""

    def feed(self, delta: str) -> str:
        """Take in what the model wrote next; return what is now certain and was not returned before."""

    def finish(self) -> str:
        """Return the rest: nothing follows."""


#: Opens a scanner for one answer.
OpenScanner: TypeAlias = Callable[[], Scanner]


class ScannerChain:
    """Scanners in a row, each reading what the one before it is certain of: a scanner itself.

    `stages` are the scanners, in order.
    """

    def __init__(self, openers: Sequence[OpenScanner]) -> None:
        self.stages = [open_scanner() for open_scanner in openers]
        # Looked up once: they are called for every frame.
        self._feeds = [stage.feed for stage in self.stages]

    def feed(self, delta: str) -> str:
        """Take in what the model wrote next; return what the whole chain is certain of and did not return before."""
        for feed in self._feeds:
            if not delta:
                return ""
            delta = feed(delta)
        return delta

    def finish(self) -> str:
        """Return the rest of all stages, each one's passed through those behind it."""
        rest = ""
        for position, stage in enumerate(self.stages):
            text = stage.finish()
            for feed in self._feeds[position + 1 :]:
                text = feed(text) if text else ""
            rest += text
        return rest
