"""Answers as results on the wire: bounded, whatever characters they are made of."""

from __future__ import annotations

import pytest

from streams.tools.answers import MAX_RESULT_BYTES, answered, bounded, result_of
from topics import codec
from topics.records import CallRecord

CALL = CallRecord(tenant="acme", thread_id="h", turn_id="t", step=2, attempt=1)


def test_a_result_carries_the_ids_of_its_call() -> None:
    """The turn worker knows it by them."""
    result = result_of(CALL, "c", answered("words"))
    assert (result.turn, result.step, result.attempt) == (CALL.turn, 2, 1)
    assert (result.tool_call_id, result.content, result.error) == ("c", "words", None)


@pytest.mark.parametrize("character", ["x", "\0", "\N{GRINNING FACE}", '"'])
def test_a_result_is_bounded_as_it_is_on_the_wire(character: str) -> None:
    """Some characters are longer there than they look."""
    limit = 10_000
    for count in range(limit // 12, limit + 1, limit // 12):
        answer, result = bounded(CALL, "c", answered(character * count), limit)
        size = len(codec.encode(result))
        assert size <= limit
        whole = len(codec.encode(result_of(CALL, "c", answered(character * count))))
        assert (answer.outcome == "answered") == (whole <= limit)
        assert (result.error is None) == (whole <= limit)


def test_the_largest_result_is_far_below_what_brokers_take() -> None:
    """A record that no broker takes would end the runner."""
    _, result = bounded(CALL, "c", answered("\0" * MAX_RESULT_BYTES), MAX_RESULT_BYTES)
    assert len(codec.encode(result)) < 1000
    assert str(6 * MAX_RESULT_BYTES)[:3] in str(result.error)
