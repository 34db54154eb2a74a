"""A whole pipeline in memory whose turns are traced: a turn worker, a model runner and a tool runner."""

from __future__ import annotations

from typing import Any

from processors import Deps
from streams.tracing.calls import ModelCallTracing, ToolCallTracing
from streams.tracing.spans import Spans
from streams.tracing.turns import TurnTracing
from tests.memory.power import Power
from tests.memory.simtime import settled, wall_clock
from tests.streams.runner.simulation import Provider, RunnerProcess
from tests.streams.runner.tool_simulation import ToolProcess, Workshop
from tests.streams.turns.simulation import FRAMES, REQUESTS, Process, Scenario, World
from tests.streams.turns.simulation import turn as request
from topics import codec
from topics.trace_context import Headers

STEPPED_SCRIPT: tuple[Any, ...] = (
    {"step": 0, "text": "Let me see, 555-0123."},
    {"step": 0, "tool_call_delta": {"index": 0, "id": "call-of-bob", "name": "echo", "arguments": '{"x": "secret"}'}},
    {"step": 0, "finish_reason": "tool_calls", "usage": {"prompt_tokens": 5, "completion_tokens": 3}},
    {"step": 1, "text": "It is 555-0123."},
    {"step": 1, "finish_reason": "stop", "usage": {"prompt_tokens": 7, "completion_tokens": 4}},
)


class Traced:
    """One process of each role, all of which tell `spans`; None of them traces anything where that is None."""

    def __init__(self, deps: Deps, spans: Spans | None) -> None:
        self.spans = spans
        self.world = World(Scenario("traced", (), {}, deps))
        self.broker = self.world.broker

    def asks(self, script: Any, headers: Headers = (), **fields: Any) -> None:
        """Have a caller ask for a turn."""
        record = request(params={"script": list(script)}, **fields)
        self.broker.append(REQUESTS, 0, None, codec.encode(record), headers)

    async def run(self) -> None:
        """Work until nothing more happens."""
        spans = self.spans
        turns = Process(self.world, Power(), tracer=TurnTracing(spans) if spans is not None else None)
        asked = ModelCallTracing(spans, wall_clock, lambda _: ("acme", "acme-1")) if spans is not None else None
        models = RunnerProcess(self.broker, Provider(), Power(), "m", tracer=asked)
        workshop = Workshop()
        called = ToolCallTracing(spans, wall_clock, workshop.tools) if spans is not None else None
        tools = ToolProcess(self.broker, workshop, Power(), "t", tracer=called)
        assert await turns.start()
        assert await models.start()
        assert await tools.start()
        while await turns.read_on() or await models.take_in() or await tools.take_in():
            await settled()
        for process in (turns, models, tools):
            await process.end()


def headers_on(traced: Traced, topic: str) -> list[Headers]:
    """Return the headers of the records on a topic, in their order."""
    return [one.headers for one in traced.broker.read(topic)]


__all__ = ["FRAMES", "STEPPED_SCRIPT", "Traced", "headers_on"]
