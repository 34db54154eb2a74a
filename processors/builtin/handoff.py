"""The wish to speak with a person, noticed before a model is asked."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Unpack

from processors.builtin.messages import finds
from processors.builtin.office_hours import OPEN, OPENS_AT, said
from processors.builtin.own_patterns import patterns
from processors.builtin.placed import Placed, Placing
from processors.builtin.redaction import redact
from processors.builtin.words import words
from processors.contracts import IncomingMessage
from processors.errors import DeclarationError
from processors.patterns.redactor import Redactor
from processors.verdicts import Block, Proceed

PHRASES = (
    "real person",
    "human agent",
    "live agent",
    "speak to a human",
    "speak to someone",
    "speak with a human",
    "talk to a human",
    "talk to a person",
    "talk to someone",
    "talk with a human",
    "representative",
)


class Handoff(Placed):
    """A pre-processor that flags messages which ask for a person."""

    kind = "pre"

    def __init__(self, redactor: Redactor, flag: str, replies: tuple[str | None, str | None], placing: Placing) -> None:
        super().__init__("handoff", placing, redactor.version, flag, replies, priority=60)
        self._redactor = redactor
        self._flag = flag
        self._reply, self._closed_reply = replies

    def process(self, incoming: IncomingMessage) -> Proceed | Block:
        """Set the flag, and answer the message that sets it if there is a reply."""
        if not finds(self._redactor, incoming):
            return Proceed()
        metadata = {self._flag: True}
        reply = self._reply
        if self._closed_reply is not None and incoming.metadata.get(OPEN) is False:
            reply = said(self._closed_reply, _time(incoming.metadata.get(OPENS_AT)))
        if reply is None:
            return Proceed(metadata=metadata)
        return Block(reply, reason="asks for a person", metadata=metadata)


def handoff(
    phrases: Iterable[str] = PHRASES,
    *,
    pattern: str | None = None,
    flag: str = "handoff",
    reply: str | None = None,
    closed_reply: str | None = None,
    **placing: Unpack[Placing],
) -> Handoff:
    """Return a pre-processor that sets `flag` to True in the metadata of messages which ask for a person.

    Args:
        phrases: words and phrases, found as `words` finds them.
        pattern: what else asks for a person, as a regular expression that can be matched in linear time; capitals or not.
        flag: what the metadata calls it: post-processors and `decisions` have it.
        reply: ends the turn; None lets it go on. "" is the channel's default text.
        closed_reply: said instead while `office_hours` says that nobody is there; `{opens}` as there.
        placing: `name`, `priority` (60: after `office_hours`), `on_failure`, `agents`, `timeout_s`, `version`.

    Raises:
        DeclarationError: there is nothing to look for.
        PatternError: the pattern cannot be read, or not be matched in linear time.
    """
    kinds: list[Redactor] = []
    listed = [phrases] if isinstance(phrases, str) else list(phrases)
    if listed:
        kinds.append(words(listed))
    if pattern is not None:
        kinds.append(patterns({"HANDOFF": f"(?i:{pattern})"}))
    if not kinds:
        raise DeclarationError("handoff: give phrases, or a pattern")
    return Handoff(redact(kinds), flag, (reply, closed_reply), placing)


def _time(value: object) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else None
