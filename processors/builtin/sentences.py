"""Where sentences end, told the same way of a text and of every longer one.

A sentence ends behind a full stop and the like, the quotes and brackets that close with it, and the white space that must
follow unless the script has none. What comes next must be there already, or the end might still move. One that does not
end is cut at a white space before `MAX_CHARS`, or there.
"""

from __future__ import annotations

import re

#: The longest sentence, in code points.
MAX_CHARS = 1_000

_END = re.compile(
    r"""[.!?\u2026\u06d4\u0964]+["'\u2019\u201d\u00bb)\]*_]*\s+(?=\S)"""
    r"""|[\u3002\uff01\uff1f\uff61]+["'\u2019\u201d\u300d\u300f\uff09)\]]*\s*(?=[^\s"'\u2019\u201d\u300d\u300f\uff09)\]\u3002\uff01\uff1f\uff61])"""
    r"""|\n\s*(?=\S)"""
)
_GAP = re.compile(r"\s+")


def sentence_end(text: str, start: int) -> int | None:
    """Return where the sentence that begins at `start` ends, in code points; None if that is not known yet."""
    limit = start + MAX_CHARS
    match = _END.search(text, start, limit + 1)
    if match is not None and match.end() <= limit:
        return match.end()
    if len(text) <= limit:
        return None
    gaps = [gap.end() for gap in _GAP.finditer(text, start + 1, limit) if gap.end() < limit]
    return gaps[-1] if gaps else limit


def judged_end(text: str, start: int, every: int) -> int:
    """Return the end of the last whole group of `every` sentences from `start` on; `start` if there is none."""
    end = group = start
    count = 0
    while (following := sentence_end(text, end)) is not None:
        end = following
        count += 1
        if count % every == 0:
            group = end
    return group
