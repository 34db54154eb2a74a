"""Chunks of a streamed chat completion as deltas.

The SDK does not check what a server sends, and compatible servers differ: a finish reason may be "" while there is
none, usage may come with every chunk, after the finish, or never; tool calls may come without an index, or several with
the same one. What can be read is read; what would lose part of an answer is a `MalformedStreamError`.
"""

from __future__ import annotations

from typing import Any

from streams.models.delta import Delta
from streams.models.errors import MalformedStreamError, UnfinishedStreamError
from topics.content import Usage
from topics.records import ToolCallDelta

#: The longest identifier taken from a server, in characters: names and ids are not cut into frames.
MAX_ID_CHARS = 1_000


class ChunkReader:
    """Reads the chunks of one answer. The finish is held back until the end, when the usage is known."""

    def __init__(self) -> None:
        self._calls = _CallIndex()
        self.finish_reason: str | None = None
        self.usage: Usage | None = None

    def feed(self, chunk: object) -> list[Delta]:
        """Return what `chunk` adds to the answer, in order; nothing for a chunk of roles, usage or finish.

        Raises:
            MalformedStreamError: the chunk holds part of an answer in a form that is not the protocol's.
        """
        self.usage = _usage(getattr(chunk, "usage", None)) or self.usage
        deltas: list[Delta] = []
        for choice in _list(chunk, "choices"):
            if getattr(choice, "index", 0) in (0, None):
                deltas += self._choice(choice)
        return deltas

    def end(self) -> Delta:
        """Return the answer's last delta: its finish with the usage, or an error if it was cut off before that."""
        if self.finish_reason is None:
            error = UnfinishedStreamError("the model server's stream ended without a finish reason")
            return Delta.failed(error, usage=self.usage)
        return Delta(finish_reason=self.finish_reason, usage=self.usage)

    def _choice(self, choice: object) -> list[Delta]:
        self.finish_reason = _text(choice, "finish_reason", limit=MAX_ID_CHARS) or self.finish_reason
        delta = getattr(choice, "delta", None)
        said = Delta(
            text=_text(delta, "content"),
            reasoning=_text(delta, "reasoning_content") or _text(delta, "reasoning"),
            refusal=_text(delta, "refusal"),
        )
        calls = [self._calls.delta(call) for call in _list(delta, "tool_calls")]
        return ([] if said == Delta() else [said]) + [Delta(tool_call_delta=call) for call in calls]


class _CallIndex:
    """Tells the tool calls of one answer apart, where the server's own numbers do not."""

    def __init__(self) -> None:
        self._ids: list[str | None] = []
        self._index_of: dict[int, int] = {}

    def delta(self, call: object) -> ToolCallDelta:
        """Return one piece of a tool call under the index of the call it belongs to."""
        function = getattr(call, "function", None)
        call_id = _text(call, "id", limit=MAX_ID_CHARS)
        name = _text(function, "name", limit=MAX_ID_CHARS)
        index = self._index(getattr(call, "index", None), call_id, begins=name is not None)
        return ToolCallDelta(index=index, id=call_id, name=name, arguments=_text(function, "arguments"))

    def _index(self, theirs: object, call_id: str | None, *, begins: bool) -> int:
        if not isinstance(theirs, int) or theirs < 0:
            # No number: a name under a new id, or under none, begins a call; anything else goes on with the latest.
            goes_on = self._ids and (not begins or (call_id is not None and call_id == self._ids[-1]))
            return len(self._ids) - 1 if goes_on else self._begin(call_id)
        known = self._index_of.get(theirs)
        if known is None or (begins and call_id is not None and self._ids[known] not in (None, call_id)):
            known = self._index_of[theirs] = self._begin(call_id)
        return known

    def _begin(self, call_id: str | None) -> int:
        self._ids.append(call_id)
        return len(self._ids) - 1


def _text(holder: object, name: str, *, limit: int | None = None) -> str | None:
    """Return the text in a field, None for a field that is empty or not there."""
    value: Any = getattr(holder, name, None)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or (limit is not None and len(value) > limit):
        raise MalformedStreamError(f"the model server sent a chunk whose {name} is no text of an acceptable length")
    return value


def _list(holder: object, name: str) -> list[object]:
    value: Any = getattr(holder, name, None)
    if value is None:
        return []
    if not isinstance(value, list):
        raise MalformedStreamError(f"the model server sent a chunk whose {name} is no list")
    return value


def _usage(value: object) -> Usage | None:
    prompt = _count(value, "prompt_tokens")
    completion = _count(value, "completion_tokens")
    total = _count(value, "total_tokens") or prompt + completion
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total) if total else None


def _count(holder: object, name: str) -> int:
    value = getattr(holder, name, None)
    return value if isinstance(value, int) and value >= 0 else 0
