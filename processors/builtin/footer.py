"""The operator's own words under every reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from processors.builtin.placed import Placed, Placing, by_channel
from processors.contracts import Reply
from processors.errors import DeclarationError
from processors.verdicts import ModifiedResponse


class Footer(Placed):
    """A post-processor that adds a text."""

    kind = "post"

    def __init__(self, texts: Mapping[str | None, str], separator: str, placing: Placing) -> None:
        super().__init__("footer", placing, texts, separator, priority=900)
        self._texts = texts
        self._separator = separator

    def process(self, reply: Reply) -> ModifiedResponse:
        """Return the reply with the channel's text under it: an empty one, or one that ends with it, as it is."""
        text = self._texts.get(reply.channel, self._texts.get(None))
        said = reply.text.rstrip()
        if text is None or not said or said.endswith(text.strip()):
            return ModifiedResponse(reply.text)
        return ModifiedResponse(f"{said}{self._separator}{text}")


def footer(
    text: str | Mapping[str, str], *, default: str | None = None, separator: str = "\n\n", **placing: Unpack[Placing]
) -> Footer:
    """Return a post-processor that puts `text` under every reply, after a blank line.

    Args:
        text: one for all channels, or texts by channel: `{"whatsapp": "_Written by a machine._"}`. It is written as the
            channel wants it: it comes after `whatsapp` and `plain_text`.
        default: the text in channels that are not named; None is none.
        separator: what stands between.
        placing: `name`, `priority` (900), `on_failure`, `agents`, `timeout_s`, `version`.

    Raises:
        DeclarationError: there is no text.
    """
    texts = dict(by_channel(text, "footer"))
    if default is not None:
        if not isinstance(text, Mapping):
            raise DeclarationError("footer: default is for texts by channel; one text alone is for all")
        texts |= by_channel(default, "footer")
    return Footer(texts, separator, placing)
