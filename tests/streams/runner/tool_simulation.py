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
from tests.memory.ports import Feed, MemoryLogs, MemoryProducer, replay_of
from tests.memory.power import Power, PowerCut
from tests.memory.simtime import settled, wall_clock
from tests.streams.turns.simulation import CANCELS, NAMES
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


class ToolProcess:
    """One tool runner process, from its start to its death."""

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
        self.broker = broker
        self.power = power
        self.fatal: list[BaseException] = []
        self.producer = MemoryProducer(broker, power)
        self._commits = commits
        self._feed: Feed | None = None
        self._starting: asyncio.Task[None] | None = None
        self.runner = ToolRunner(
            workshop,
            Ports(self.producer, NAMES, "runner", wall_clock, self._on_fatal, tracer),
            MemoryLogs(self.producer, JOURNAL),
            RunnerSettings(partitions=1, max_calls=8, keep_s=3600.0),
            replays=lambda: {0: replay_of(broker, JOURNAL, 0)},
            unique=lambda: unique,
        )

    def _on_fatal(self, exc: BaseException) -> None:
        self.fatal.append(exc)
        self.power.cut()

    async def start(self) -> bool:
        """Claim, replay, restore; return whether the process came through."""
        self._starting = asyncio.create_task(self._take_over())
        await settled()
        if not self._starting.done() or isinstance(self._starting.exception(), PowerCut):
            return False
        self._starting.result()
        topics = {CALLS: names.TOOL_CALLS, CANCELS: names.CANCELS}
        self._feed = Feed(self.broker, self.power, topics, commits=self._commits)
        return not self.power.off

    async def _take_over(self) -> None:
        await self.runner.partitions.claim({0})
        await self.runner.partitions.restore()

    async def take_in(self) -> bool:
        """Take in the next record; return whether there was one."""
        if self._feed is None or self.power.off:
            return False
        source = self._feed.take()
        if source is not None:
            await self.runner.deliver(source)
        await settled()
        return source is not None

    async def end(self) -> None:
        """Clear away what is left of the process."""
        self.power.cut()
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await self.runner.partitions.lose()
        for exc in self.fatal:
            if not isinstance(exc, PowerCut):
                raise exc


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
