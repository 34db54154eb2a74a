"""Following an answer with a scanner: what of it can go out now, while the answer is read once.

The scanner lives beside the turn's state, not in it: it can be made again from the buffer at any time. What it lets out is
measured against the journaled released text, so a scanner that is made again, or another one after a change of the chain,
adds to what is out or stays silent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from streams.gate.state import Answer
from topics.graphemes import safe_length
from topics.text import well_formed


class Scanner(Protocol):
    """Reads one answer (`processors.scanner.ScannerChain` is one)."""

    def feed(self, delta: str) -> str:
        """Take in what follows; return what is now certain and was not returned before."""


class AnswerScan:
    """Scans one turn's answers, attempt by attempt."""

    def __init__(self, open_scanner: Callable[[], Scanner]) -> None:
        self._open = open_scanner
        self._scanner: Scanner | None = None
        self._read: int | None = None
        #: What is certain, but for its first `_gone` code points.
        self._certain = ""
        self._gone = 0
        self._silent = False
        self._out = ""

    def release(self, answer: Answer, text: str) -> str:
        """Return what goes out of `answer` now that `text` follows what it holds.

        A scanner that breaks is silent from then on: whether its processor is broken is for the whole answer to show.
        """
        out = answer.released.length
        read = answer.text.length
        if self._read != read or out < self._gone:
            self._begin(answer)
        self._read = read + len(text)
        self._feed(text)
        if self._silent or (self._out and not self._agrees()):
            return ""
        waiting = self._certain
        if out != self._gone:
            waiting = self._certain = waiting[out - self._gone :]
            self._gone = out
        return waiting[: safe_length(waiting, len(waiting))] if waiting else ""

    def _begin(self, answer: Answer) -> None:
        self._scanner = None
        self._certain = ""
        self._gone = 0
        self._silent = False
        self._out = str(answer.released)
        self._feed(str(answer.text))

    def _agrees(self) -> bool:
        """Return whether what was out when the scanner was made is confirmed by it; silent for good if it is denied."""
        if self._certain.startswith(self._out):
            self._out = ""
        else:
            self._silent = not self._out.startswith(self._certain)
        return not self._out

    def _feed(self, text: str) -> None:
        if self._silent:
            return
        try:
            if self._scanner is None:
                self._scanner = self._open()
            certain = self._scanner.feed(text) if text else ""
        except (Exception, SystemExit):  # noqa: BLE001 - an operator's code may raise anything
            self._silent = True
            return
        if isinstance(certain, str):
            self._certain += certain if certain.isascii() else str(well_formed(certain))
        else:
            self._silent = True
