"""Which messages of a thread ride along in a prompt: windows over its history.

A window is a pure function from all messages, oldest first, to the newest of them that fit. It takes an unbroken run up
to the newest, which never begins with a tool's result and never holds a tool's result without the assistant's message
that called for it, or such a message without the results that came after it: model providers refuse either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from processors.errors import DeclarationError
from topics.content import Message, TextPart

#: What an estimate of tokens assumes: so many characters to a token, so many tokens around each message, and for each
#: image or file. Real counts depend on model and language; leave room.
CHARS_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 4
TOKENS_PER_ATTACHMENT = 1_000


@dataclass(frozen=True)
class LastMessages:
    """At most the `n` newest messages, tool calls and tool results counted as messages. 0 is no history at all."""

    n: int

    def __post_init__(self) -> None:
        _check("LastMessages: n", self.n)

    def __call__(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Return the messages that ride along."""
        return _newest(messages, self.n, lambda _: 1)


@dataclass(frozen=True)
class TokenLimit:
    """The newest messages that together have at most about `tokens` tokens, as `estimated_tokens` counts them.

    When not even the newest exchange fits there is no history at all.
    """

    tokens: int

    def __post_init__(self) -> None:
        _check("TokenLimit: tokens", self.tokens)

    def __call__(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Return the messages that ride along."""
        return _newest(messages, self.tokens, estimated_tokens)


HistoryWindow: TypeAlias = LastMessages | TokenLimit


def estimated_tokens(message: Message) -> int:
    """Return about how many tokens a message has: one for 4 characters of text, 4 around it, 1,000 for an attachment."""
    attachments = 0
    if isinstance(message.content, tuple):
        texts = [part.text for part in message.content if isinstance(part, TextPart)]
        attachments = len(message.content) - len(texts)
    else:
        texts = [message.content or ""]
    chars = sum(map(len, texts)) + sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
    return -(-chars // CHARS_PER_TOKEN) + TOKENS_PER_MESSAGE + attachments * TOKENS_PER_ATTACHMENT


def _newest(messages: Sequence[Message], limit: int, weight: Callable[[Message], int]) -> tuple[Message, ...]:
    """Return the longest run up to the newest message that weighs at most `limit` and may stand by itself."""
    whole = _beginnings(messages)
    start, weighed = len(messages), 0
    for position in range(len(messages) - 1, -1, -1):
        weighed += weight(messages[position])
        if weighed > limit:
            break
        if whole[position]:
            start = position
    return tuple(messages[start:])


def _beginnings(messages: Sequence[Message]) -> list[bool]:
    """Tell of each message whether a history may begin with it: no call is on one side and its result on the other."""
    may = [message.role != "tool" for message in messages]
    caller: dict[str, int] = {}
    for position, message in enumerate(messages):
        for call in message.tool_calls:
            caller[call.id] = position
        if message.role == "tool":
            called_at = caller.get(message.tool_call_id or "")
            if called_at is not None:
                may[called_at + 1 : position + 1] = [False] * (position - called_at)
    return may


def _check(what: str, value: object) -> None:
    """Refuse what is no whole number, 0 or more."""
    if type(value) is not int or value < 0:
        raise DeclarationError(f"{what} must be an int, 0 or more")
