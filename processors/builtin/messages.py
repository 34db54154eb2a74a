"""Built-in redactors on what users say: their findings are masked, the message is refused, or it is noted."""

from __future__ import annotations

from typing import Unpack

from processors.builtin.placed import Placed, Placing
from processors.contracts import IncomingMessage, Part, TextPart, text_of
from processors.errors import DeclarationError
from processors.patterns.redactor import Redactor
from processors.verdicts import Block, Proceed


class MaskedMessages(Placed):
    """A pre-processor that replaces what a redactor finds."""

    kind = "pre"

    def __init__(self, redactor: Redactor, placing: Placing) -> None:
        super().__init__("redact-messages", placing, redactor.version, priority=20)
        self._redactor = redactor

    def process(self, incoming: IncomingMessage) -> Proceed:
        """Return the message with everything found in its texts replaced."""
        read = self._redactor.reader()
        parts: list[Part] = []
        found = 0
        for part in incoming.message:
            if isinstance(part, TextPart):
                text, changes = read(part.text)
                found += changes
                parts.append(TextPart(text=text) if changes else part)
            else:
                parts.append(part)
        return Proceed(parts) if found else Proceed()


class RefusedMessages(Placed):
    """A pre-processor that answers messages in which a redactor finds something."""

    kind = "pre"

    def __init__(self, redactor: Redactor, reply: str, placing: Placing) -> None:
        super().__init__("refuse-messages", placing, redactor.version, reply, priority=20)
        self._redactor = redactor
        self._reply = reply

    def process(self, incoming: IncomingMessage) -> Proceed | Block:
        """Let the message pass if nothing is found in it."""
        return Block(self._reply, reason="refused message") if finds(self._redactor, incoming) else Proceed()


def finds(redactor: Redactor, incoming: IncomingMessage) -> bool:
    """Tell whether anything is found in a message; a finding may reach from one of its texts into the next."""
    _, changes = redactor.reader()(text_of(incoming.message))
    return changes > 0


def redact_messages(redactor: Redactor, **placing: Unpack[Placing]) -> MaskedMessages:
    """Return a pre-processor that replaces what `redactor` finds in a user's message: `redact_messages(profanity())`.

    The thread remembers the message as it is then. The texts of a message are searched, images and files are not. Several
    redactors go into one with `redact([...])`. `placing` is `name`, `priority` (20), `on_failure`, `agents`, `timeout_s`,
    `version`.

    What must never reach a model is better masked by `redact_prompts`: a pre-processor that fails is skipped.

    Raises:
        DeclarationError: `redactor` is none, or an argument cannot be.
    """
    return MaskedMessages(checked(redactor, "redact_messages"), placing)


def refuse_messages(redactor: Redactor, reply: str, **placing: Unpack[Placing]) -> RefusedMessages:
    """Return a pre-processor that blocks a message in which `redactor` finds something, with `reply`.

    An empty `reply` is the channel's default text. `placing` as of `redact_messages`.

    Raises:
        DeclarationError: `redactor` is none, or an argument cannot be.
    """
    return RefusedMessages(checked(redactor, "refuse_messages"), reply, placing)


def checked(redactor: object, what: str) -> Redactor:
    """Return `redactor`, if it is one.

    Raises:
        DeclarationError: it is none.
    """
    if not isinstance(redactor, Redactor):
        raise DeclarationError(
            f"{what}: give a redactor, such as emails(); several go into one: redact([emails(), cards()])"
        )
    return redactor
