"""Reading the chunks of servers that number their tool calls in their own ways."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from streams.models.delta import Delta
from streams.models.errors import MalformedStreamError
from streams.models.openai_chunks import MAX_ID_CHARS, ChunkReader
from topics.content import Usage


def piece(index: int | None = None, call_id: str | None = None, name: str | None = None, arguments: Any = None) -> Any:
    """Return a piece of a tool call as the SDK gives it."""
    return SimpleNamespace(index=index, id=call_id, function=SimpleNamespace(name=name, arguments=arguments))


def chunk(*pieces: Any, finish: str | None = None, usage: Any = None, **fields: Any) -> Any:
    """Return a chunk as the SDK gives it."""
    delta = SimpleNamespace(tool_calls=list(pieces), **fields)
    return SimpleNamespace(choices=[SimpleNamespace(index=0, delta=delta, finish_reason=finish)], usage=usage)


def calls(*chunks: Any) -> list[tuple[str, str]]:
    """Return name and arguments of each call in these chunks, put together by index."""
    reader = ChunkReader()
    found: dict[int, tuple[str, str]] = {}
    for each in chunks:
        for delta in reader.feed(each):
            assert delta.tool_call_delta is not None
            call = delta.tool_call_delta
            name, arguments = found.get(call.index, ("", ""))
            found[call.index] = (name or call.name or "", arguments + (call.arguments or ""))
    return [found[index] for index in sorted(found)]


@pytest.mark.parametrize(
    "chunks",
    [
        [
            chunk(piece(0, "a", "add", "{"), piece(1, "b", "sub")),
            chunk(piece(1, arguments="[")),
            chunk(piece(0, arguments="}")),
            chunk(piece(1, arguments="]")),
        ],
        [chunk(piece(0, "a", "add", "{")), chunk(piece(0, "a", "add", "}")), chunk(piece(1, "b", "sub", "[]"))],
        [chunk(piece(0, "a", "add", "{}")), chunk(piece(0, "b", "sub", "[]"))],
        [chunk(piece(0, "a", "add", "{}"), piece(0, "b", "sub", "[")), chunk(piece(0, "b", arguments="]"))],
        [chunk(piece(None, "a", "add", "{")), chunk(piece(arguments="}")), chunk(piece(None, "b", "sub", "[]"))],
        [chunk(piece(None, "a", "add", "{")), chunk(piece(None, "a", "add", "}"), piece(None, "b", "sub", "[]"))],
        [chunk(piece(None, None, "add", "{}")), chunk(piece(None, None, "sub", "[]"))],
    ],
    ids=["numbered", "names-repeated", "all-zero", "all-zero-one-chunk", "unnumbered", "unnumbered-repeated", "bare"],
)
def test_tool_calls_are_told_apart_however_they_are_numbered(chunks: list[Any]) -> None:
    """Pieces of two calls are never mixed into one."""
    assert calls(*chunks) == [("add", "{}"), ("sub", "[]")]


def test_a_finish_reason_of_no_characters_is_none() -> None:
    """Some servers send it with every chunk."""
    reader = ChunkReader()

    assert reader.feed(chunk(content="x", finish="")) == [Delta(text="x")]
    assert reader.end().error is not None


def test_the_latest_usage_counts() -> None:
    """Servers that send usage all along send sums; empty usage is no usage."""
    reader = ChunkReader()
    for count in (1, 2, 3):
        usage = SimpleNamespace(prompt_tokens=5, completion_tokens=count, total_tokens=5 + count)
        reader.feed(chunk(content="x", usage=usage))
    reader.feed(chunk(finish="length", usage=SimpleNamespace()))

    assert reader.end() == Delta(
        finish_reason="length", usage=Usage(prompt_tokens=5, completion_tokens=3, total_tokens=8)
    )


def test_content_that_comes_with_or_after_the_finish_is_kept() -> None:
    """The finish is held back, so nothing that belongs to the answer can come too late."""
    reader = ChunkReader()

    assert reader.feed(chunk(content="a", finish="stop")) == [Delta(text="a")]
    assert reader.feed(chunk(content="b")) == [Delta(text="b")]
    assert reader.end() == Delta(finish_reason="stop")


@pytest.mark.parametrize(
    "bad",
    [
        chunk(content=[{"type": "text", "text": "secret"}]),
        chunk(piece(0, "a", "add", {"secret": 1})),
        chunk(piece(0, "secret" * MAX_ID_CHARS, "add")),
        chunk(finish="secret" * MAX_ID_CHARS),
        SimpleNamespace(choices={"secret": 1}),
    ],
)
def test_part_of_an_answer_that_cannot_be_read_is_an_error_unquoted(bad: Any) -> None:
    """Passing over it would lose part of the answer without a word."""
    with pytest.raises(MalformedStreamError) as caught:
        ChunkReader().feed(bad)

    assert "secret" not in str(caught.value)
