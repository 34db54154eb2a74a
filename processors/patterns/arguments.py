"""Redaction of a tool call's arguments: JSON as the model wrote it, where an escape can hide what is looked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

#: Returns a text with everything found in it replaced, and how much that was.
Redact: TypeAlias = Callable[[str], tuple[str, int]]


def redact_arguments(arguments: str, redact: Redact) -> tuple[str, int]:
    """Return `arguments` with what `redact` finds in its strings, keys and numbers replaced, and how much that was.

    It stays as it was written if nothing is found. What is no JSON is read as one text, and so is all that the parser
    does not see, such as the first of two equal keys.
    """
    try:
        parsed = json.loads(arguments)
    except ValueError:
        return redact(arguments)
    walk = _Walk(redact)
    changed = walk.through(parsed)
    if walk.changes:
        return json.dumps(changed, ensure_ascii=False), walk.changes
    return redact(arguments)


class _Walk:
    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self.changes = 0

    def through(self, value: Any) -> Any:
        """Return `value` with all texts in it redacted."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {self._text(key): self.through(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.through(one) for one in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            written = json.dumps(value)
            redacted = self._text(written)
            return value if redacted == written else redacted
        return value

    def _text(self, text: str) -> str:
        redacted, changes = self._redact(text)
        self.changes += changes
        return redacted
