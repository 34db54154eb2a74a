"""What passes between the model and its tools in the demo's turns, in order: readers of a real pipeline see none of it.

Nothing is said about the order of records in different topics, so what comes too early waits here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.cli.work.demo_show import Show
from streams.cli.work.demo_turns import CALLS
from topics import codec
from topics.connection import Connection
from topics.errors import WireError
from topics.ids import TurnKey
from topics.names import FRAMES, TOOL_CALLS, TOOL_RESULTS, Names
from topics.records import ModelFrame, ToolCallRequest, ToolResult

Heard: TypeAlias = ModelFrame | ToolCallRequest | ToolResult

#: In the order of a step. The demo's answers ask for one tool call at most.
_TOPICS: Final = (FRAMES, TOOL_CALLS, TOOL_RESULTS)


@asynccontextmanager
async def overheard(connection: Connection, names: Names, partitions: int) -> AsyncIterator[AIOKafkaConsumer]:
    """Yield a reader of what models write and tools are asked and say."""
    async with connection.consumer() as consumer:
        consumer.assign([TopicPartition(names.topic(one), number) for one in _TOPICS for number in range(partitions)])
        yield consumer


async def listen(heard: AIOKafkaConsumer, turn: TurnKey, show: Show) -> None:
    """Show what the model writes in `turn`, and what passes between it and its tools, until it has finished."""
    order = InOrder()
    while True:
        try:
            raw = await heard.getone()
            stage = next(place for place, topic in enumerate(_TOPICS) if raw.topic.endswith(f".{topic.name}"))
            record: Heard = codec.decode(raw.value, _TOPICS[stage].shape)
        except (KafkaError, WireError):
            continue
        if record.turn != turn:
            continue
        for one in order.after(record, stage):
            _show(one, show)
            if isinstance(one, ModelFrame) and _ends(one) and one.finish_reason != CALLS:
                return


class InOrder:
    """Lets records out in the order of a turn: a step's frames, the call they end in, its result, the next step's frames."""

    def __init__(self) -> None:
        self._step = 0
        self._stage = 0
        self._early: list[tuple[int, int, Heard]] = []

    def after(self, record: Heard, stage: int) -> list[Heard]:
        """Return what is in turn now that `record`, of the topic at place `stage`, is there."""
        self._early.append((record.step, stage, record))
        out: list[Heard] = []
        while (found := self._next()) is not None:
            out.append(found)
        return out

    def _next(self) -> Heard | None:
        for place, (step, stage, record) in enumerate(self._early):
            if (step, stage) == (self._step, self._stage):
                del self._early[place]
                if not isinstance(record, ModelFrame) or _ends(record):
                    self._stage = (self._stage + 1) % len(_TOPICS)
                    self._step += self._stage == 0
                return record
        return None


def _ends(frame: ModelFrame) -> bool:
    return frame.finish_reason is not None or frame.error is not None


def _show(record: Heard, show: Show) -> None:
    match record:
        case ToolCallRequest():
            show.noted(f"asks {record.call.name} {record.call.arguments}")
        case ToolResult():
            show.noted(f"is told: {record.content or record.error}")
        case ModelFrame() if record.text:
            show.wrote(record.text)
        case _:
            pass
