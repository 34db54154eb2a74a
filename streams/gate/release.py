"""How much text may go out: the arithmetic of windows and boundaries, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from topics.graphemes import safe_length

#: The most bytes that JSON spells one character with; a text takes two more.
MAX_JSON_BYTES_PER_CHAR = 6


def releasable(output: str, released: str, window: int, *, ended: bool = False) -> str | None:
    """Return what a pass whose output is `output` adds to the `released` text, or None if it contradicts it.

    The last `window` code points of the output are held back, and more where the cut would fall inside a grapheme
    cluster; once the answer has `ended` nothing is held.
    """
    length = len(output) if ended else safe_length(output, max(len(output) - window, 0))
    if length <= len(released):
        return "" if output.startswith(released) or (not ended and released.startswith(output[:length])) else None
    return output[len(released) : length] if output.startswith(released) else None


def pieces(text: str, max_bytes: int) -> Iterator[str]:
    """Yield `text` in order, in pieces of at most `max_bytes` as JSON, each ending between grapheme clusters."""
    if len(text) * MAX_JSON_BYTES_PER_CHAR + 2 <= max_bytes or len(orjson.dumps(text)) <= max_bytes or len(text) <= 1:
        yield text
        return
    half = safe_length(text, len(text) // 2) or len(text) // 2
    yield from pieces(text[:half], max_bytes)
    yield from pieces(text[half:], max_bytes)
