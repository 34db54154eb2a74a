"""Models made of values that are valid already."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from streams.gate.entries import Llm
from topics import codec
from topics.content import ToolCall
from topics.records import TextFrame
from topics.trusted import like

TEXT = TextFrame(thread_id="a", turn_id="b", text="c")


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (TEXT, {"text": "d", "offset": 7}),
        (TEXT, {}),
        (ToolCall(id="1", name="x"), {"arguments": "{}"}),
        (Llm(seq=2, text="a"), {"release": "b", "step": 3}),
    ],
)
def test_a_copy_is_what_the_checked_model_would_be(model: BaseModel, changes: dict[str, object]) -> None:
    """Equal, with the same fields set and the same JSON."""
    checked = type(model).model_validate({**dict(model), **changes})
    copy = like(model, **changes)
    assert copy == checked
    assert hash(copy) == hash(checked)
    assert copy.model_dump_json() == checked.model_dump_json()
    assert copy.model_fields_set == model.model_fields_set | changes.keys()


def test_the_model_that_is_copied_stays_as_it_is() -> None:
    """Its fields, and what is known of them."""
    before = TEXT.model_copy()
    like(TEXT, text="d", offset=1)
    assert before == TEXT
    assert TEXT.model_fields_set == {"thread_id", "turn_id", "text"}


def test_a_copy_is_written_like_any_other() -> None:
    """Byte for byte."""
    assert codec.encode(like(TEXT, text="d")) == codec.encode(TextFrame(thread_id="a", turn_id="b", text="d"))
