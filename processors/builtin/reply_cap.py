"""A limit on how long a reply may be, by channel, cut where it reads best."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Unpack

from processors.builtin.placed import Placed, Placing
from processors.checks import is_count
from processors.contracts import Reply
from processors.errors import DeclarationError
from processors.verdicts import ModifiedResponse
from topics.graphemes import safe_length

#: A cut between sentences, or words, leaves this much of the room filled at least: otherwise it is made further on.
_FILLED = 0.5
_SENTENCE = re.compile(
    r"""[.!?\u2026\u06d4\u0964]["'\u2019\u201d\u00bb)\]*_~]*(?=\s)|[\u3002\uff01\uff1f]["'\u2019\u201d\u300d\u300f\uff09]*|\n(?=\n)"""
)
_GAP = re.compile(r"\s+")
_FENCE = re.compile(r"^```", re.MULTILINE)
_CLOSING = "\n```"


class ReplyCap(Placed):
    """A post-processor that cuts long replies short."""

    kind = "post"

    def __init__(self, limits: Mapping[str | None, int], ellipsis: str, placing: Placing) -> None:
        super().__init__("reply-cap", placing, limits, ellipsis, priority=850)
        self._limits = limits
        self._ellipsis = ellipsis

    def process(self, reply: Reply) -> ModifiedResponse:
        """Return the reply, or of a longer one its beginning."""
        limit = self._limits.get(reply.channel, self._limits.get(None))
        return ModifiedResponse(reply.text if limit is None else cut(reply.text, limit, self._ellipsis))


def reply_cap(
    limit: int | Mapping[str, int],
    *,
    default: int | None = None,
    ellipsis: str = " \u2026",
    **placing: Unpack[Placing],
) -> ReplyCap:
    """Return a post-processor that lets at most `limit` code points of a reply out, the `ellipsis` included.

    It is cut after a sentence if one ends in the second half of the room, else between words, else between grapheme
    clusters. A code fence that is cut is closed. What comes after it, such as a `footer`, needs room of its own.

    Args:
        limit: one for all channels, or limits by channel: `{"sms": 459, "whatsapp": 4_096}`.
        default: the limit in channels that are not named; None is none.
        ellipsis: what a reply that was cut ends with.
        placing: `name`, `priority` (850), `on_failure`, `agents`, `timeout_s`, `version`.

    Raises:
        DeclarationError: a limit is no number of code points, or has no room for the ellipsis.
    """
    if default is not None and not isinstance(limit, Mapping):
        raise DeclarationError("reply_cap: default is for limits by channel; one limit alone is for all")
    limits: dict[str | None, int] = dict(limit.items()) if isinstance(limit, Mapping) else {None: limit}
    if default is not None:
        limits[None] = default
    least = len(ellipsis) + len(_CLOSING)
    if not limits or not all(is_count(one) and one > least for one in limits.values()):
        raise DeclarationError(f"reply_cap: a limit must be an int of code points, above {least} with this ellipsis")
    return ReplyCap(limits, ellipsis, placing)


def cut(text: str, limit: int, ellipsis: str) -> str:
    """Return `text`, or the beginning of a longer one and the ellipsis, in at most `limit` code points."""
    if len(text) <= limit:
        return text
    kept = text[: _place(text, limit - len(ellipsis))].rstrip()
    if not _is_fenced(kept):
        return f"{kept}{ellipsis}"
    kept = text[: _place(text, limit - len(ellipsis) - len(_CLOSING))].rstrip()
    return f"{kept}{ellipsis}{_CLOSING}" if _is_fenced(kept) else f"{kept}{ellipsis}"


def _place(text: str, room: int) -> int:
    """Return where to cut a text of which `room` code points have room."""
    sentences = [found.end() for found in _SENTENCE.finditer(text, 0, room + 1) if found.end() <= room]
    for end in reversed(sentences):
        if end < room * _FILLED:
            break
        if safe_length(text, end) == end:
            return end
    gaps = [found.start() for found in _GAP.finditer(text, 0, room + 1)]
    if gaps and gaps[-1] >= room * _FILLED:
        return gaps[-1]
    return safe_length(text, room)


def _is_fenced(text: str) -> bool:
    return len(_FENCE.findall(text)) % 2 == 1
