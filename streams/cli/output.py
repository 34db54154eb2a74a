"""How commands speak: results to stdout, as text for people or one JSON object a line; everything else to stderr."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def prepare() -> None:
    """Let text that the terminal's encoding cannot show be replaced, and not end the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def json_line(value: Mapping[str, Any]) -> None:
    """Print one JSON object on one line of stdout, at once; in ASCII, so that any encoding carries it."""
    sys.stdout.write(json.dumps(value, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def text(piece: str) -> None:
    """Print a piece of text on stdout as it is, at once; a terminal is spared its control characters."""
    sys.stdout.write(shown(piece) if sys.stdout.isatty() else piece)
    sys.stdout.flush()


def line(words: str = "") -> None:
    """Print a line on stdout."""
    text(words + "\n")


def note(words: str) -> None:
    """Print a line on stderr: progress, hints, what is not a result."""
    sys.stderr.write(words + "\n")
    sys.stderr.flush()


def shown(piece: str) -> str:
    """Return text fit for a terminal: what a model wrote must not move the cursor, or worse."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", piece)


def count(number: int, noun: str) -> str:
    """Return a number with its noun, which takes an s for any other number than one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table: drawn on a terminal, elsewhere in plain columns that are never cut."""
    cells = [[shown(str(cell)) for cell in row] for row in rows]
    if sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 - only where it is used
        from rich.table import Table  # noqa: PLC0415 - the same
        from rich.text import Text  # noqa: PLC0415 - the same

        drawn = Table(*heads, header_style="bold")
        for row in cells:
            drawn.add_row(*(Text(cell) for cell in row))
        Console().print(drawn)
        return
    widths = [max(len(row[column]) for row in [list(heads), *cells]) for column in range(len(heads))]
    for row in [list(heads), *cells]:
        line("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
