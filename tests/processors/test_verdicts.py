"""What processors answer, and what they cannot."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors import Block, MalformedVerdictError, ModifiedResponse, Proceed, Reject, Replace, TextPart, ToolCall
from processors.plain import plain_mapping

CALL = ToolCall(id="1", name="search", arguments="{}")


class Markup(str):
    """A text that is more than a text."""

    __slots__ = ()

    def __str__(self) -> str:
        return "not what it holds"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Replace(None),  # type: ignore[arg-type]
        lambda: Replace(b"bytes"),  # type: ignore[arg-type]
        lambda: Replace("x", tool_calls=[{"id": "1"}]),  # type: ignore[list-item]
        lambda: Replace("x", tool_calls="call"),  # type: ignore[arg-type]
        lambda: Replace("x", tool_calls=[CALL.model_copy(update={"arguments": {"q": 1}})]),
        lambda: Replace("x", changes=-1),
        lambda: Replace("x", changes=True),
        lambda: Reject(None),  # type: ignore[arg-type]
        lambda: Proceed(1),  # type: ignore[arg-type]
        lambda: Proceed([]),
        lambda: Proceed(["text"]),  # type: ignore[list-item]
        lambda: Proceed([TextPart(text="x").model_copy(update={"text": None})]),
        lambda: Proceed(metadata=None),  # type: ignore[arg-type]
        lambda: Proceed(metadata={1: 2}),  # type: ignore[dict-item]
        lambda: Proceed(metadata={"at": dt.date(2020, 1, 1)}),
        lambda: Proceed(metadata={"n": 2**64}),
        lambda: Proceed(metadata={"n": float("nan")}),
        lambda: Block(1),  # type: ignore[arg-type]
        lambda: Block(reason=1),  # type: ignore[arg-type]
        lambda: ModifiedResponse(None),  # type: ignore[arg-type]
    ],
)
def test_a_malformed_verdict_cannot_be_made(make: Callable[[], object]) -> None:
    """The error is a TypeError, says what is wrong, and never what was given."""
    with pytest.raises(MalformedVerdictError, match=r"must|holds") as caught:
        make()
    assert isinstance(caught.value, TypeError)
    assert "bytes'" not in str(caught.value)


def test_a_block_without_a_response_may_say_so() -> None:
    """None is the natural way to write it; it is the same verdict as one with no text."""
    assert Block(response=None) == Block("") == Block()
    assert Block(None).response == ""


def test_a_text_is_made_an_exact_one() -> None:
    """A subclass could not be unpickled where it is unknown, and may not say what it holds."""
    verdict = Replace(Markup("<b>"))
    assert type(verdict.text) is str
    assert verdict.text == "<b>"


def test_half_a_surrogate_pair_is_no_text() -> None:
    """It could not be written as UTF-8, neither in a text nor in metadata nor in a tool call."""
    assert Replace("a\ud800").text == "a\ufffd"
    assert Block("\udc00", metadata={"k": "\ud800"}).metadata == {"k": "\ufffd"}
    call = CALL.model_copy(update={"name": "\ud800"})
    assert Replace("x", tool_calls=[call]).tool_calls == (ToolCall(id="1", name="\ufffd", arguments="{}"),)


def test_a_message_may_be_given_as_a_text() -> None:
    """It is held as parts."""
    assert Proceed("hello") == Proceed([TextPart(text="hello")])


def test_metadata_is_a_copy() -> None:
    """What a processor does with its own dict later changes nothing."""
    inner: list[object] = [1]
    verdict = Proceed(metadata={"inner": inner})
    inner.append(2)
    assert verdict.metadata == {"inner": [1]}


def test_metadata_that_contains_itself_is_refused() -> None:
    """Nesting has a bound."""
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    with pytest.raises(MalformedVerdictError, match="nested"):
        Proceed(metadata=loop)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(st.characters(codec=None)), JSON))
def test_metadata_that_is_taken_can_be_written(metadata: dict[str, Any]) -> None:
    """Whatever a processor says, the journal can hold it, and it reads back the same."""
    try:
        taken = plain_mapping(metadata, "metadata")
    except MalformedVerdictError:
        return
    assert orjson.loads(orjson.dumps(taken)) == taken
