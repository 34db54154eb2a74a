"""Framing between a runner and its children."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from processors import Answer
from processors.chain import OutputRun
from processors.outcomes import Approved, Report
from streams.chains.wire import At, Done, FromChild, Ping, Start, ToChild, Unpacker, pack

MESSAGES: list[ToChild | FromChild] = [
    Start(1, OutputRun(Answer("text"))),
    Ping(),
    At(1, OutputRun(Answer("té\ud800xt"), (Report("a", "1", "pass"),))),
    Done(1, Approved("text")),
    Done(2, None),
]


@given(st.lists(st.integers(min_value=1, max_value=200)))
def test_messages_arrive_whole_and_in_order_however_their_bytes_are_split(sizes: list[int]) -> None:
    """Each message is given once its last byte is there, and none before."""
    data = b"".join(pack(message) for message in MESSAGES)
    unpacker = Unpacker()
    seen: list[ToChild | FromChild] = []
    for size in [*sizes, len(data)]:
        unpacker.feed(data[:size])
        data = data[size:]
        while (message := unpacker.next()) is not None:
            seen.append(message)
    assert seen == MESSAGES


def test_half_a_message_is_none_yet() -> None:
    """Neither half of the length nor half of the body is taken for a message."""
    data = pack(Ping())
    unpacker = Unpacker()
    for byte in data[:-1]:
        unpacker.feed(bytes([byte]))
        assert unpacker.next() is None
    unpacker.feed(data[-1:])
    assert unpacker.next() == Ping()
