"""What model calls cost, as far as it is known."""

from __future__ import annotations

import json

from streams.gate.state import Turn
from topics.content import Usage

#: A provider that was cut off tells no usage; by the common rule of thumb a token is about four characters of text.
CHARS_PER_TOKEN = 4


def estimated(turn: Turn, new_chars: int = 0) -> Usage:
    """Return what the current attempt of `turn` is thought to have cost, with `new_chars` more than its answer holds."""
    asked = (turn.prompt or turn.base_prompt()).model_dump(mode="json", exclude_none=True)
    prompt = _tokens(len(json.dumps(asked, ensure_ascii=False)))
    answer = turn.answer
    completion = _tokens(len(answer.text) - len(turn.carried) + len(answer.refusal) + new_chars)
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)


def added(one: Usage | None, other: Usage | None) -> Usage | None:
    """Return the sum of two usages, None if neither is known."""
    if one is None or other is None:
        return one or other
    return Usage(
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        completion_tokens=one.completion_tokens + other.completion_tokens,
        total_tokens=one.total_tokens + other.total_tokens,
    )


def _tokens(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)
