"""Whole model runners in memory, killed at any boundary; alone, or beside a turn worker."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from streams.models.adapter import ModelAdapter
from streams.models.script import ScriptAdapter
from streams.runner.kind import CallKey
from streams.runner.loop import Ports
from streams.runner.models import ModelRunner
from streams.runner.tracer import CallTracer
from tests.memory.broker import Broker
from tests.memory.ports import Feed, MemoryLogs, MemoryProducer, replay_of
from tests.memory.power import Power, PowerCut
from tests.memory.simtime import settled, wall_clock
from tests.streams.turns.simulation import CANCELS, ERASURES, FRAMES, NAMES, PROMPTS
from topics import codec, names
from topics.records import ModelFrame, PromptRequest

JOURNAL = NAMES.journal("models")


class Provider:
    """The model: plays the script in each request, and counts how often each attempt was called for."""

    def __init__(self) -> None:
        self.calls: Counter[CallKey] = Counter()

    def adapter_for(self, request: PromptRequest) -> ModelAdapter:
        """Return what answers `request`."""
        self.calls[CallKey.of(request)] += 1
        return ScriptAdapter()


class RunnerProcess:
    """One model runner process, from its start to its death."""

    def __init__(
        self,
        broker: Broker,
        provider: Provider,
        power: Power,
        unique: str,
        *,
        commits: bool = True,
        tracer: CallTracer[PromptRequest] | None = None,
    ) -> None:
        self.broker = broker
        self.power = power
        self.fatal: list[BaseException] = []
        self.producer = MemoryProducer(broker, power)
        self._commits = commits
        self._feed: Feed | None = None
        self._starting: asyncio.Task[None] | None = None
        self.runner = ModelRunner(
            provider.adapter_for,
            Ports(self.producer, NAMES, "runner", wall_clock, self._on_fatal, tracer),
            MemoryLogs(self.producer, JOURNAL),
            partitions=1,
            max_calls=8,
            keep_s=3600.0,
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
        topics = {PROMPTS: names.PROMPTS, CANCELS: names.CANCELS, ERASURES: names.ERASURES}
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


def frames_of(broker: Broker) -> dict[CallKey, list[ModelFrame]]:
    """Return the frames on the topic, by call."""
    found: dict[CallKey, list[ModelFrame]] = {}
    for raw in broker.values(FRAMES):
        frame = codec.decode(raw, names.MODEL_FRAME)
        found.setdefault(CallKey.of(frame), []).append(frame)
    return found


def prompt(turn_id: str, script: Sequence[object], attempt: int = 0) -> PromptRequest:
    """Return the prompt of one attempt whose answer is `script`."""
    return PromptRequest.model_validate(
        {
            "turn_id": turn_id,
            "thread_id": "h",
            "attempt": attempt,
            "partition": 0,
            "prompt": {"messages": []},
            "params": {"script": list(script)},
        }
    )
