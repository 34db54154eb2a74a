"""The runner's loop: started is journaled, then the prompt acknowledged, then the call made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest

from streams.models.adapter import ModelAdapter
from streams.models.delta import Delta
from streams.private_ids import Private
from streams.runner.desk import CallDesk
from streams.runner.loop import Ports
from streams.runner.models import MODEL_CALLS, ModelRunner
from streams.sources import Source
from tests.memory.broker import Broker
from tests.memory.ports import MemoryLogs, MemoryProducer, replay_of
from tests.memory.simtime import jump, settled, simulate, wall_clock
from tests.streams.at_once import at_once
from tests.streams.runner.by_hand import FedByHand, on_a
from tests.streams.runner.simulation import JOURNAL, frames_of, prompt
from tests.streams.turns.simulation import DEAD_LETTERS, FRAMES, NAMES
from topics import names
from topics.ids import TurnKey
from topics.records import CancelCall, PromptRequest

KEEP_S = 1000.0


class Provider:
    """A model that says in the trace that it was called, and answers when it is told to."""

    name = "provider"

    def __init__(self, trace: list[str]) -> None:
        self._trace = trace
        self.gate = asyncio.Event()

    async def stream(self, request: PromptRequest) -> AsyncGenerator[Delta, None]:
        """Answer with one word."""
        self._trace.append(f"call {request.turn_id}")
        await self.gate.wait()
        yield Delta(text="word")
        yield Delta(finish_reason="stop")

    async def close(self) -> None:
        """Do nothing."""


class Bench(FedByHand):
    """A model runner with one partition, fed by hand; `trace` is what it does to the outside world, in order."""

    requests = names.PROMPTS

    def __init__(self, broker: Broker | None = None) -> None:
        super().__init__(broker)
        self.refused: list[str] = []
        self.producer = MemoryProducer(self.broker, self.power, self.trace.append)
        self.provider = Provider(self.trace)
        self.runner = ModelRunner(
            self._adapter_for,
            Ports(self.producer, NAMES, "runner", wall_clock, self.die, refused=self.refused.append),
            MemoryLogs(self.producer, JOURNAL),
            partitions=1,
            max_calls=2,
            keep_s=KEEP_S,
            replays=lambda: {0: replay_of(self.broker, JOURNAL, 0)},
            unique=lambda: str(id(self)),
        )

    def _adapter_for(self, request: PromptRequest) -> ModelAdapter:  # noqa: ARG002 - one model serves all
        return self.provider


def on_a_bench(test: Callable[[Bench], Awaitable[None]]) -> None:
    """Run `test` with a runner that is fed by hand."""
    on_a(Bench, test)


def test_started_is_journaled_then_acknowledged_then_called() -> None:
    """In this order, so that no call is made twice and none is forgotten."""

    async def test(bench: Bench) -> None:
        trace = await bench.deliver(prompt("t", []))
        assert trace == [f"send {JOURNAL}", f"durable {JOURNAL}", "ack 1", "call t"]

    on_a_bench(test)


def test_no_call_is_made_while_started_is_on_its_way() -> None:
    """The journal may be slow."""

    async def test(bench: Bench) -> None:
        bench.producer.holding = True
        assert await bench.deliver(prompt("t", [])) == [f"send {JOURNAL}"]
        bench.producer.holding = False
        bench.producer.deliver(JOURNAL)
        await settled()
        assert bench.trace[-2:] == ["ack 1", "call t"]

    on_a_bench(test)


def test_a_prompt_that_comes_again_is_acknowledged_and_not_called() -> None:
    """Nothing is journaled for it either."""

    async def test(bench: Bench) -> None:
        await bench.deliver(prompt("t", []))
        assert await bench.deliver(prompt("t", [])) == ["ack 2"]

    on_a_bench(test)


def test_finished_is_journaled_when_all_frames_are_durable() -> None:
    """Until then a successor would have to report the call as interrupted."""

    async def test(bench: Bench) -> None:
        await bench.deliver(prompt("t", []))
        before = len(bench.trace)
        bench.provider.gate.set()
        await settled()
        trace = bench.trace[before:]
        last_frame = max(place for place, done in enumerate(trace) if done == f"durable {FRAMES}")
        assert last_frame < trace.index(f"send {JOURNAL}")
        assert sorted(replay_of(bench.broker, JOURNAL, 0).rows["default/h/t/0/0"]) == [0, 1]

    on_a_bench(test)


def test_a_dead_letter_is_durable_before_its_source_is_acknowledged() -> None:
    """And the batch's good records are served."""

    async def test(bench: Bench) -> None:
        trace = await bench.deliver(b"not json", prompt("t", []))
        assert trace.index(f"durable {JOURNAL}") < trace.index(f"send {DEAD_LETTERS}")
        assert trace.index(f"durable {DEAD_LETTERS}") < trace.index("ack 1")
        assert trace[-3:] == ["ack 1", "ack 2", "call t"]
        assert bench.refused == ["MalformedRecordError"]

    on_a_bench(test)


def test_a_cancel_that_overtakes_its_prompt_still_cancels_also_if_the_runner_dies_in_between() -> None:
    """Topics have no order among each other. The cancel is durable before it is acknowledged."""

    async def test(bench: Bench) -> None:
        trace = await bench.deliver(CancelCall(turn_id="t", thread_id="h", partition=0), topic=names.CANCELS)
        assert trace == [f"send {JOURNAL}", f"durable {JOURNAL}", "ack 1"]
        await bench.runner.partitions.lose()
        successor = Bench(bench.broker)
        await successor.start()
        await successor.deliver(prompt("t", []), prompt("other", []))
        assert [done for done in successor.trace if done.startswith("call")] == ["call other"]
        assert frames_of(bench.broker) == {}
        await successor.runner.partitions.lose()

    on_a_bench(test)


def test_a_runner_is_full_while_as_many_calls_are_open_as_may_be() -> None:
    """Prompts wait then; cancels do not."""

    async def test(bench: Bench) -> None:
        await bench.deliver(prompt("a", []), prompt("b", []))
        assert bench.runner.full
        bench.provider.gate.set()
        await settled()
        assert not bench.runner.full

    on_a_bench(test)


def test_losing_the_partition_abandons_its_calls_without_a_word() -> None:
    """The journal still says `started`; the next owner reports them."""

    async def test(bench: Bench) -> None:
        await bench.deliver(prompt("t", []))
        before = len(bench.trace)
        await bench.runner.partitions.lose()
        bench.provider.gate.set()
        await settled()
        assert bench.trace[before:] == []
        successor = Bench(bench.broker)
        await successor.start()
        ((frame,),) = frames_of(bench.broker).values()
        assert frame.seq is None
        await successor.runner.partitions.lose()

    on_a_bench(test)


def test_a_journal_that_cannot_be_written_ends_the_process_before_the_call() -> None:
    """Nothing is acknowledged either."""

    async def test(bench: Bench) -> None:
        bench.producer.failure = ConnectionError("gone")
        assert await bench.deliver(prompt("t", [])) == []
        assert [type(exc) for exc in bench.fatal] == [ConnectionError]

    on_a_bench(test)


def test_a_superseded_runner_makes_no_call() -> None:
    """Its `started` came too late to count."""

    async def test(bench: Bench) -> None:
        successor = Bench(bench.broker)
        await successor.start()
        trace = await bench.deliver(prompt("t", []))
        assert [type(exc).__name__ for exc in bench.fatal] == ["SupersededError"]
        assert trace == [f"send {JOURNAL}", f"durable {JOURNAL}"]
        await successor.runner.partitions.lose()

    on_a_bench(test)


def test_ended_calls_leave_the_journal_when_nobody_can_ask_for_them_any_more() -> None:
    """`keep_s` after their end."""

    async def test(bench: Bench) -> None:
        bench.provider.gate.set()
        await bench.deliver(prompt("t", []))
        jump(KEEP_S - 100)
        await asyncio.sleep(61)
        assert replay_of(bench.broker, JOURNAL, 0).rows != {}
        jump(100)
        await asyncio.sleep(61)
        await settled()
        assert replay_of(bench.broker, JOURNAL, 0).rows == {}

    on_a_bench(test)


def test_a_stopped_loop_lets_go_of_whoever_waits_to_deliver() -> None:
    """An agent that is stuck here would never read again."""

    async def test(bench: Bench) -> None:
        bench.producer.holding = True
        loop = bench.runner.partitions.loops[0]
        await bench.deliver(prompt("t", []))

        async def flood() -> None:
            for offset in range(10_002):
                await loop.deliver(Source(names.PROMPTS, 0, offset, b"x", lambda: None))

        flooding = asyncio.create_task(flood())
        await settled()
        assert not flooding.done()
        await bench.runner.partitions.lose()
        await settled()
        assert flooding.done()

    on_a_bench(test)


def test_calls_that_were_interrupted_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Each once, by the runner that finds them."""

    async def main() -> None:
        bench = Bench()
        await bench.start()
        await bench.deliver(prompt("t", []))
        await bench.runner.partitions.lose()
        for _ in range(2):
            successor = Bench(bench.broker)
            await successor.start()
            await successor.runner.partitions.lose()

    simulate(main())
    warnings = [record.getMessage() for record in caplog.records if record.name == "streams.models.call"]
    assert len(warnings) == 1
    whose = Private(TurnKey("default", "h", "t"))
    assert f"turn {whose}, step 0, attempt 0: CallInterruptedError: " in warnings[0]


def test_the_loop_uses_the_desk_it_is_given() -> None:
    """`restore` is where a predecessor's calls become known: they are reported once, and their end is journaled."""

    async def main() -> None:
        bench = Bench()
        await bench.start()
        await bench.deliver(prompt("t", []))
        await bench.runner.partitions.lose()
        for _ in range(2):
            successor = Bench(bench.broker)
            await successor.start()
            await successor.runner.partitions.lose()
        assert sum(len(frames) for frames in frames_of(bench.broker).values()) == 1
        desk = CallDesk(MODEL_CALLS, keep_s=KEEP_S)
        assert at_once(desk.restore(replay_of(bench.broker, JOURNAL, 0).rows)) == []

    simulate(main())
