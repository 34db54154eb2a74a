"""Whole model runners in memory, killed at any boundary; alone, or beside a turn worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from streams.models.adapter import ModelAdapter
from streams.models.script import ScriptAdapter
from streams.runner.kind import CallKey
from streams.runner.loop import Ports
from streams.runner.models import ModelRunner
from streams.runner.tracer import CallTracer
from tests.memory.broker import Broker
from tests.memory.ports import MemoryLogs, replay_of
from tests.memory.power import Power
from tests.memory.simtime import wall_clock
from tests.streams.runner.process import KilledRunner
from tests.streams.turns.simulation import FRAMES, NAMES
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


class RunnerProcess(KilledRunner):
    """One model runner process, from its start to its death."""

    requests = names.PROMPTS

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
        super().__init__(broker, power, commits=commits)
        self.runner = ModelRunner(
            provider.adapter_for,
            Ports(self.producer, NAMES, "runner", wall_clock, self.die, tracer),
            MemoryLogs(self.producer, JOURNAL),
            partitions=1,
            max_calls=8,
            keep_s=3600.0,
            replays=lambda: {0: replay_of(broker, JOURNAL, 0)},
            unique=lambda: unique,
        )


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
