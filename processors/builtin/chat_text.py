"""Replies in the form that a channel shows: models write Markdown, and few channels read it."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Unpack

from processors.builtin.extras import library
from processors.builtin.markdown.style import PLAIN, WHATSAPP, Style
from processors.builtin.placed import Placed, Placing, channels_of
from processors.contracts import Reply
from processors.verdicts import ModifiedResponse

if TYPE_CHECKING:
    from collections.abc import Callable

_RENDER = "processors.builtin.markdown.render"


class ChatText(Placed):
    """A post-processor that writes a reply anew for some channels."""

    kind = "post"

    def __init__(self, name: str, style: Style, channels: Iterable[str], placing: Placing) -> None:
        self._channels = channels_of(channels, name)
        super().__init__(name, placing, style, self._channels, priority=800)
        library("markdown_it", name)
        self._render: Callable[[str, Style], str] = importlib.import_module(_RENDER).render
        self._style = style

    def process(self, reply: Reply) -> ModifiedResponse:
        """Return the reply, in these channels written anew."""
        if reply.channel not in self._channels:
            return ModifiedResponse(reply.text)
        return ModifiedResponse(self._render(reply.text, self._style))


def whatsapp(channels: Iterable[str] = ("whatsapp",), **placing: Unpack[Placing]) -> ChatText:
    """Return a post-processor that turns a reply's Markdown into what WhatsApp shows, in the `channels` named.

    Bold, italic, struck through, code and quotes get WhatsApp's own marks; a heading is bold, a link is followed by its
    address, each row of a table is a line. No word is lost but a code fence's language.

    Args:
        channels: the names that requests give such channels.
        placing: `name`, `priority` (800), `on_failure`, `agents`, `timeout_s`, `version`.

    Raises:
        DeclarationError: an argument cannot be, or the extra `builtin` is not installed.
    """
    return ChatText("whatsapp", WHATSAPP, channels, placing)


def plain_text(channels: Iterable[str] = ("sms", "voice", "phone"), **placing: Unpack[Placing]) -> ChatText:
    """Return a post-processor that takes the Markdown out of a reply, in the `channels` named; arguments as of `whatsapp`.

    Lists and tables are lines, and nothing is set off.
    """
    return ChatText("plain-text", PLAIN, channels, placing)
