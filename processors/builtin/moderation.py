"""Moderation by a model: answers are shown to a server that speaks as OpenAI's does, whole or some sentences at a time.

With `every_sentences` a prefix pass shows what the server has not seen yet of the whole groups of sentences that are
there, and answers with the text up to the end of the last group: nothing else can go out. Each piece is shown with what
comes right before it, so that a meaning that reaches over a cut is seen. What was found harmless is remembered for the
turn; only digests are kept.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from processors.builtin.extras import library
from processors.builtin.judges import ChatJudge, ModerationError, ModerationsJudge, Server, TextJudge
from processors.builtin.sentences import judged_end
from processors.contracts import Answer
from processors.declare import Incremental
from processors.errors import DeclarationError
from processors.verdicts import Pass, Reject, Replace

_MAX_TURNS = 1_024
_MAX_PLACES = 16
#: What of the text before a piece is shown with it, and the longest piece, in code points.
_CONTEXT = 500
_MAX_PIECE = 8_000
#: So that the error that says what went wrong comes before the one that says it took too long.
_GRACE_S = 5.0


@dataclass(slots=True)
class _Turn:
    """What is known of an answer: the ends of prefixes that may pass, each with a digest, and whether asking failed."""

    places: deque[tuple[int, bytes]] = field(default_factory=lambda: deque(maxlen=_MAX_PLACES))
    failed: bool = False


class Moderation:
    """An output processor that asks a server. Without a verdict it fails, and with it the turn."""

    kind = "output"

    def __init__(
        self, name: str, judge: TextJudge, *, every_sentences: int | None, timeout_s: float, version: str
    ) -> None:
        self.name = name
        self.version = version
        self.timeout_s = timeout_s + _GRACE_S
        self.incremental = None if every_sentences is None else Incremental(lookback_chars=0)
        self._judge = judge
        self._every = every_sentences
        self._limit_s = timeout_s
        self._turns: OrderedDict[str, _Turn] = OrderedDict()

    async def process(self, answer: Answer) -> Pass | Replace | Reject:
        """Return `Reject` for what is not permitted, and of a prefix what was judged of it.

        Raises:
            ModerationError: there is no verdict.
        """
        try:
            async with asyncio.timeout(self._limit_s):
                return await (self._whole(answer) if answer.complete else self._prefix(answer))
        except TimeoutError:
            raise ModerationError(f"moderation took longer than {self._limit_s:g} s") from None

    async def _whole(self, answer: Answer) -> Pass | Reject:
        turn = self._turn(answer)
        found = await self._look(answer.text, _known(turn, answer.text), len(answer.text), turn)
        for call in answer.tool_calls:
            shown = f"{call.name}\n{call.arguments}"
            found = found or await self._look(shown, 0, len(shown), None)
        return _rejected(found) if found else Pass()

    async def _prefix(self, answer: Answer) -> Replace | Reject:
        turn = self._turn(answer)
        known = _known(turn, answer.text)
        end = judged_end(answer.text, known, self._every or 1)
        # A server that failed is not asked again with every frame: the whole answer will show.
        if end > known and not turn.failed:
            turn.failed = True
            found = await self._look(answer.text, known, end, turn)
            turn.failed = False
            if found:
                return _rejected(found)
            known = end
        return Replace(answer.text[:known], changes=0)

    async def _look(self, text: str, start: int, end: int, turn: _Turn | None) -> frozenset[str]:
        """Show the server a part of a text, piece by piece, until it finds something."""
        while start < end:
            stop = min(end, start + _MAX_PIECE)
            piece = text[max(0, start - _CONTEXT) : stop]
            found = await self._judge.judge(piece) if piece.strip() else frozenset[str]()
            if found:
                return found
            start = stop
            if turn is not None:
                turn.places.append((start, _digest(text[:start])))
        return frozenset()

    def _turn(self, answer: Answer) -> _Turn:
        key = answer.context.idempotency_key
        turn = self._turns.setdefault(key, _Turn())
        self._turns.move_to_end(key)
        while len(self._turns) > _MAX_TURNS:
            self._turns.popitem(last=False)
        return turn


def moderation(
    *,
    base_url: str,
    model: str,
    api: Literal["moderations", "chat"] = "moderations",
    categories: Iterable[str] | Mapping[str, float | None] | None = None,
    every_sentences: int | None = None,
    timeout_s: float = 20.0,
    api_key: str | None = None,
    name: str = "moderation",
    version: str = "1",
) -> Moderation:
    """Return an async output processor that has answers judged by a model, and rejects what falls under a category.

    The answer's text is judged, and every tool call. A rejection's reason names the categories.

    Args:
        base_url: of the server, with its version: `https://api.openai.com/v1`.
        model: which model judges.
        api: what to ask: the `moderations` endpoint, or a `chat` model for a verdict in JSON.
        categories: those that are not permitted; for `moderations` with the least score that counts, where the server's
            own verdict is not to decide. None is all that the server has; a chat model must be given some.
        every_sentences: judge this many sentences at a time and release them while the model still writes. None judges
            the whole answer at once.
        timeout_s: the longest that one pass may take, in seconds.
        api_key: sent to the server as a bearer token.

    Raises:
        DeclarationError: an argument cannot be, or the extra `builtin` is not installed.
    """
    if not base_url.startswith(("http://", "https://")):
        raise DeclarationError("moderation: base_url must be an http(s) address with its version, e.g. https://host/v1")
    if every_sentences is not None and (type(every_sentences) is not int or every_sentences < 1):
        raise DeclarationError("moderation: every_sentences must be an int, 1 or more, or None for whole answers")
    limits = _limits(categories)
    library("aiohttp", "moderation")
    server = Server(base_url, model, timeout_s, api_key)
    judge: TextJudge
    if api == "moderations":
        judge = ModerationsJudge(server, limits)
    elif api == "chat":
        if not limits or any(limit is not None for limit in limits.values()):
            raise DeclarationError("moderation: a chat model must be given the names of categories, without scores")
        judge = ChatJudge(server, tuple(limits))
    else:
        raise DeclarationError('moderation: api must be "moderations" or "chat"')
    return Moderation(name, judge, every_sentences=every_sentences, timeout_s=timeout_s, version=version)


def _limits(categories: Iterable[str] | Mapping[str, float | None] | None) -> dict[str, float | None] | None:
    if categories is None:
        return None
    if isinstance(categories, str):
        raise DeclarationError("moderation: categories must be a list of names, or names with scores from 0 to 1")
    given: Mapping[str, float | None] = categories if isinstance(categories, Mapping) else dict.fromkeys(categories)
    if not given or not all(limit is None or 0 <= limit <= 1 for limit in given.values()):
        raise DeclarationError("moderation: categories must be a list of names, or names with scores from 0 to 1")
    return dict(given)


def _known(turn: _Turn, text: str) -> int:
    """Return how much of a text is known to be harmless."""
    places = [(end, digest) for end, digest in turn.places if end <= len(text)]
    return max((end for end, digest in places if _digest(text[:end]) == digest), default=0)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def _rejected(categories: frozenset[str]) -> Reject:
    return Reject(f"moderation: {', '.join(sorted(categories))}")
