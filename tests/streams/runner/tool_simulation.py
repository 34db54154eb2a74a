"""Whole tool runners in memory, killed at any boundary."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

from processors.tools import ToolSpec
from streams.runner.loop import Ports
from streams.runner.tools import ToolRunner
from streams.runner.tracer import CallTracer
from streams.runner.worker import RunnerSettings
from streams.tools.answers import ToolAnswer, answered
from streams.tools.ports import ToolJob
from tests.memory.broker import Broker
from tests.memory.ports import MemoryLogs, replay_of
from tests.memory.power import Power
from tests.memory.simtime import wall_clock
from tests.streams.runner.process import KilledRunner
from tests.streams.turns.simulation import NAMES
from topics import codec, names
from topics.content import ToolDefinition
from topics.records import ToolCallRequest, ToolResult

JOURNAL = NAMES.journal("tools")
CALLS, RESULTS = NAMES.topic(names.TOOL_CALLS), NAMES.topic(names.TOOL_RESULTS)


class Workshop:
    """The operator's tools: `echo` answers at once, `hang` never does; counts how often each call was made."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.stopped: list[str] = []
        self.broken: Exception | None = None

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """What there is."""
        return {name: ToolSpec(ToolDefinition(name=name)) for name in ("echo", "hang", "shout")}

    async def run(self, job: ToolJob) -> ToolAnswer:
        """Run a tool."""
        self.calls[job.context.idempotency_key] += 1
        if self.broken is not None:
            raise self.broken
        if job.name == "hang":
            try:
                await asyncio.Event().wait()
            finally:
                self.stopped.append(job.context.call_id)
        return answered(job.arguments * (1000 if job.name == "shout" else 1))


class ToolProcess(KilledRunner):
    """One tool runner process, from its start to its death."""

    requests = names.TOOL_CALLS

    def __init__(
        self,
        broker: Broker,
        workshop: Workshop,
        power: Power,
        unique: str,
        *,
        commits: bool = True,
        tracer: CallTracer[ToolCallRequest] | None = None,
    ) -> None:
        super().__init__(broker, power, commits=commits)
        self.runner = ToolRunner(
            workshop,
            Ports(self.producer, NAMES, "runner", wall_clock, self.die, tracer),
            MemoryLogs(self.producer, JOURNAL),
            RunnerSettings(partitions=1, max_calls=8, keep_s=3600.0),
            replays=lambda: {0: replay_of(broker, JOURNAL, 0)},
            unique=lambda: unique,
        )


def results_of(broker: Broker) -> dict[str, list[ToolResult]]:
    """Return the results on the topic, by turn and call id."""
    found: dict[str, list[ToolResult]] = {}
    for raw in broker.values(RESULTS):
        result = codec.decode(raw, names.TOOL_RESULT)
        found.setdefault(f"{result.turn_id}/{result.tool_call_id}", []).append(result)
    return found


def tool_call(
    turn_id: str, call_id: str, name: str = "echo", arguments: str = "{}", **fields: object
) -> ToolCallRequest:
    """Return a tool call."""
    call = {"id": call_id, "name": name, "arguments": arguments}
    return ToolCallRequest.model_validate(
        {"turn_id": turn_id, "thread_id": "h", "partition": 0, "call": call, **fields}
    )
