"""What the demo shows of a model and its tools stands in order, whatever order it comes in."""

from __future__ import annotations

import itertools
from typing import Any

from streams.cli.work.demo_overheard import Heard, InOrder
from topics.content import ToolCall
from topics.records import ModelFrame, ToolCallRequest, ToolResult

IDS: dict[str, Any] = {"thread_id": "h", "turn_id": "t"}
FIRST = [
    ModelFrame(**IDS, step=0, seq=0, text="Let me see."),
    ModelFrame(**IDS, step=0, seq=1, finish_reason="tool_calls"),
]
CALL = ToolCallRequest(**IDS, step=0, partition=0, call=ToolCall(id="1", name="look"))
RESULT = ToolResult(**IDS, step=0, tool_call_id="1", content="It is there.")
SECOND = [ModelFrame(**IDS, step=1, seq=0, text="There."), ModelFrame(**IDS, step=1, seq=1, finish_reason="stop")]
WHOLE: list[Heard] = [*FIRST, CALL, RESULT, *SECOND]


def test_topics_may_be_ahead_of_each_other() -> None:
    """Within one the order holds."""
    topics: list[list[Heard]] = [[*FIRST, *SECOND], [CALL], [RESULT]]
    stages = [0] * 4 + [1, 2]
    orders = set(itertools.permutations(stages))
    assert len(orders) == 30
    for order in orders:
        left = [iter(topic) for topic in topics]
        in_order = InOrder()
        shown = [one for stage in order for one in in_order.after(next(left[stage]), stage)]
        assert shown == WHOLE
