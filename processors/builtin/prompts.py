"""Built-in redactors on what goes to a model."""

from __future__ import annotations

from collections.abc import Callable

from processors.builtin.messages import checked
from processors.contracts import Message, Part, Prompt, TextPart
from processors.patterns.arguments import redact_arguments
from processors.patterns.redactor import Redactor

Read = Callable[[str], tuple[str, int]]


class MaskedPrompts:
    """An input processor that replaces what a redactor finds, in everything that leaves."""

    kind = "input"

    def __init__(self, redactor: Redactor, name: str) -> None:
        self.name = name
        self.version = redactor.version
        self.timeout_s = redactor.timeout_s
        self._redactor = redactor

    def process(self, prompt: Prompt) -> Prompt:
        """Return the prompt with everything found replaced: system text, messages, tool calls and tool results."""
        read = self._redactor.reader()
        system = None if prompt.system is None else read(prompt.system)[0]
        return Prompt(system=system, messages=tuple(_masked(message, read) for message in prompt.messages))


def redact_prompts(redactor: Redactor, name: str = "redact-prompts") -> MaskedPrompts:
    """Return an input processor that replaces what `redactor` finds in a prompt before it leaves.

    It reads the system text, all messages, the arguments of tool calls and what tools returned. With `numbered` redactors
    equal findings have equal numbers throughout a prompt. Several redactors go into one with `redact([...])`. The thread
    remembers everything as it was said.

    Raises:
        DeclarationError: `redactor` is none.
    """
    return MaskedPrompts(checked(redactor, "redact_prompts"), name)


def _masked(message: Message, read: Read) -> Message:
    content: str | tuple[Part, ...] | None
    if isinstance(message.content, str):
        # What a tool returned may be JSON, whose escapes hide what is looked for.
        redact_text = redact_arguments if message.role == "tool" else _text
        content = redact_text(message.content, read)[0]
    elif message.content is not None:
        content = tuple(TextPart(text=read(p.text)[0]) if isinstance(p, TextPart) else p for p in message.content)
    else:
        content = None
    calls = tuple(
        call.model_copy(update={"arguments": redact_arguments(call.arguments, read)[0]}) for call in message.tool_calls
    )
    return message.model_copy(update={"content": content, "tool_calls": calls})


def _text(text: str, read: Read) -> tuple[str, int]:
    return read(text)
