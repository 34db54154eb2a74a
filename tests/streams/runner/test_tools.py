"""The tool runner fed by hand: what is journaled and sent, in which order, and what each call's result is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from streams.private_ids import Private
from streams.runner.desk import MAX_CALL_ID_CHARS, CallDesk
from streams.runner.kind import CallKey
from streams.runner.loop import Ports
from streams.runner.tools import TOOL_CALLS, ToolRunner
from streams.runner.worker import RunnerSettings
from streams.sources import Source
from streams.tools.answers import Outcome
from streams.tools.ports import ToolObserver
from tests.memory.broker import Broker
from tests.memory.ports import MemoryLogs, MemoryProducer, replay_of
from tests.memory.power import Power
from tests.memory.simtime import settled, wall_clock
from tests.streams.runner.by_hand import FedByHand, on_a
from tests.streams.runner.tool_simulation import JOURNAL, RESULTS, Workshop, results_of, tool_call
from tests.streams.turns.simulation import NAMES
from topics import codec, names
from topics.ids import TurnKey
from topics.records import CancelCall
from topics.trace_context import Headers

NOW = 1_800_000_000.0


class Watch(ToolObserver):
    """Keeps what the pool says of its calls."""

    def __init__(self) -> None:
        self.ends: list[tuple[str, Outcome]] = []
        self.counts: list[int] = []

    def ended(self, tool: str, outcome: Outcome, seconds: float) -> None:
        """A call ended."""
        assert seconds >= 0
        self.ends.append((tool, outcome))

    def open_calls(self, count: int) -> None:
        """So many are open."""
        self.counts.append(count)


class Producer(MemoryProducer):
    """Keeps what it gave to those who sent something."""

    def __init__(self, broker: Broker, power: Power, trace: Callable[[str], None]) -> None:
        super().__init__(broker, power, trace)
        self.futures: list[asyncio.Future[int]] = []
        self.refuses_results: Exception | None = None

    async def send(
        self, topic: str, partition: int | None, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> asyncio.Future[int]:
        """Send a record, unless it is a result and those are refused."""
        if topic == RESULTS and self.refuses_results is not None:
            raise self.refuses_results
        self.futures.append(await super().send(topic, partition, key, value, headers))
        return self.futures[-1]


class Bench(FedByHand):
    """A tool runner with one partition; `trace` is what it does to the outside world, in order."""

    requests = names.TOOL_CALLS

    def __init__(self, broker: Broker | None = None) -> None:
        super().__init__(broker)
        self.producer = Producer(self.broker, self.power, self.trace.append)
        self.workshop = Workshop()
        self.watch = Watch()
        self.runner = ToolRunner(
            self.workshop,
            Ports(self.producer, NAMES, "runner", wall_clock, self.die),
            MemoryLogs(self.producer, JOURNAL),
            RunnerSettings(partitions=1, max_calls=2, keep_s=1000.0),
            max_result_bytes=500,
            observer=self.watch,
            replays=lambda: {0: replay_of(self.broker, JOURNAL, 0)},
            unique=lambda: str(id(self)),
        )

    def errors(self) -> dict[str, str]:
        """Return the class names of the errors so far, by call id."""
        found = results_of(self.broker)
        return {name: str(one.error).partition(":")[0] for name, (one,) in found.items() if one.error}


def on_a_bench(test: Callable[[Bench], Awaitable[None]]) -> None:
    """Run `test` with a runner that is fed by hand."""
    on_a(Bench, test)


def test_started_is_journaled_then_acknowledged_then_run_then_finished() -> None:
    """In this order: the result is durable before the journal says that the call is over."""

    async def test(bench: Bench) -> None:
        trace = await bench.deliver(tool_call("t", "1"))
        journaled = [f"send {JOURNAL}", f"durable {JOURNAL}"]
        assert trace == [*journaled, "ack 1", f"send {RESULTS}", f"durable {RESULTS}", *journaled]
        assert bench.workshop.calls == {"default/h/t/0/0/1": 1}

    on_a_bench(test)


def test_no_tool_runs_while_started_is_on_its_way() -> None:
    """The journal may be slow."""

    async def test(bench: Bench) -> None:
        bench.producer.holding = True
        await bench.deliver(tool_call("t", "1"))
        assert not bench.workshop.calls
        bench.producer.holding = False
        bench.producer.deliver(JOURNAL)
        await settled()
        assert bench.workshop.calls == {"default/h/t/0/0/1": 1}

    on_a_bench(test)


def test_calls_of_one_attempt_are_told_apart_by_their_ids() -> None:
    """One that comes again is acknowledged and not run, now or after its end."""

    async def test(bench: Bench) -> None:
        await bench.deliver(tool_call("t", "1"), tool_call("t", "2"), tool_call("t", "1"))
        assert await bench.deliver(tool_call("t", "1")) == ["ack 4"]
        await bench.deliver(tool_call("t", "1", attempt=1), tool_call("t", "1", step=1))
        assert set(bench.workshop.calls.values()) == {1}
        assert len(bench.workshop.calls) == 4

    on_a_bench(test)


def test_a_cancel_stops_the_calls_of_its_attempt_alone() -> None:
    """Each that runs gets a result all the same; one that comes after its cancel is not run, and nobody waits for it."""

    async def test(bench: Bench) -> None:
        await bench.deliver(tool_call("t", "1", "hang"), tool_call("u", "1", "hang"))
        await bench.deliver(CancelCall(turn_id="t", thread_id="h", partition=0), topic=names.CANCELS)
        await bench.deliver(tool_call("t", "2"), tool_call("t", "3", attempt=1))
        assert bench.workshop.stopped == ["1"]
        assert bench.errors() == {"t/1": "ToolCancelledError"}
        assert "default/h/t/0/0/2" not in bench.workshop.calls
        assert [one.content for one in results_of(bench.broker)["t/3"]] == ["{}"]

    on_a_bench(test)


def test_what_is_no_tool_or_says_too_much_becomes_an_error() -> None:
    """Nothing is run for the first."""

    async def test(bench: Bench) -> None:
        await bench.deliver(tool_call("t", "1", "never heard of"), tool_call("t", "2", "shout", "words"))
        assert bench.errors() == {"t/1": "UnknownToolError", "t/2": "ToolResultTooLargeError"}
        assert list(bench.workshop.calls) == ["default/h/t/0/0/2"]
        ((one,), (two,)) = results_of(bench.broker).values()
        assert "500 are allowed" in f"{one.error}{two.error}"

    on_a_bench(test)


def test_calls_are_counted_by_tool_and_outcome() -> None:
    """A name that only a model has written is no label."""

    async def test(bench: Bench) -> None:
        await bench.deliver(tool_call("t", "1"), tool_call("t", "2", "never heard of"))
        assert sorted(bench.watch.ends) == [("", "refused"), ("echo", "answered")]
        assert (max(bench.watch.counts), bench.watch.counts[-1]) == (2, 0)

    on_a_bench(test)


def test_failures_are_logged_without_content(caplog: pytest.LogCaptureFixture) -> None:
    """The class, the tool's name if there is such a tool, and hashes of the ids."""

    async def test(bench: Bench) -> None:
        await bench.deliver(
            tool_call("t", "1", "a private name", "a private word"), tool_call("t", "2", "shout", "word")
        )

    on_a_bench(test)
    said = [record.getMessage() for record in caplog.records if record.name == "streams.tools.pool"]
    whose = Private(TurnKey("default", "h", "t"))
    assert sorted(said) == [
        f"tool call failed: turn {whose}, step 0, attempt 0: shout: ToolResultTooLargeError",
        f"tool call failed: turn {whose}, step 0, attempt 0: unknown tool: UnknownToolError",
    ]


def test_a_runner_is_full_while_as_many_calls_are_open_as_may_be() -> None:
    """Calls beyond that wait in order, should they be there already."""

    async def test(bench: Bench) -> None:
        await bench.deliver(*(tool_call("t", str(number), "hang") for number in range(3)))
        assert bench.runner.full
        assert len(bench.workshop.calls) == 2
        await bench.deliver(CancelCall(turn_id="t", thread_id="h", partition=0), topic=names.CANCELS)
        assert not bench.runner.full
        assert len(results_of(bench.broker)) == 3

    on_a_bench(test)


def test_losing_the_partition_abandons_its_calls_without_a_word() -> None:
    """The journal still says `started`; the next owner reports them."""

    async def test(bench: Bench) -> None:
        await bench.deliver(tool_call("t", "1", "hang"))
        before = len(bench.trace)
        await bench.runner.partitions.lose()
        await settled()
        assert bench.trace[before:] == []
        assert bench.workshop.stopped == ["1"]
        successor = Bench(bench.broker)
        await successor.start()
        assert successor.errors() == {"t/1": "ToolInterruptedError"}
        assert not successor.workshop.calls
        await successor.runner.partitions.lose()

    on_a_bench(test)


@pytest.mark.parametrize("what", ["the broker", "the host"])
def test_a_result_that_cannot_be_had_or_sent_ends_the_process(what: str) -> None:
    """A restart reports the call; going on would leave it without a result."""

    async def test(bench: Bench) -> None:
        await bench.deliver(tool_call("t", "1", "hang"))
        failure = ConnectionError("gone")
        if what == "the host":
            bench.workshop.broken = failure
            await bench.deliver(tool_call("t", "2"))
        else:
            bench.producer.refuses_results = failure
            await bench.deliver(CancelCall(turn_id="t", thread_id="h", partition=0), topic=names.CANCELS)
        assert bench.fatal == [failure]
        assert bench.runner.partitions.loops
        await settled()
        assert bench.workshop.stopped == ["1"]

    on_a_bench(test)


def test_a_call_with_an_id_beyond_measure_is_refused() -> None:
    """Ids become keys, and keys that no broker takes would end every worker that meets them."""
    desk = CallDesk(TOOL_CALLS, keep_s=10)
    records = [tool_call("t", "x" * length) for length in (MAX_CALL_ID_CHARS, MAX_CALL_ID_CHARS + 1)]
    sources = [Source(names.TOOL_CALLS, 0, 0, codec.encode(record), lambda: None) for record in records]
    plan = desk.take(sources, NOW)
    assert plan.starts == records[:1]
    assert [(one.error, one.turn) for one in plan.refused] == [("RecordTooLargeError", TurnKey("default", "h", "t"))]


def test_a_call_in_a_partition_that_it_does_not_name_is_refused() -> None:
    """Its journal would be in one place and its result in another."""
    source = Source(names.TOOL_CALLS, 1, 0, codec.encode(tool_call("t", "1")), lambda: None)
    plan = CallDesk(TOOL_CALLS, keep_s=10).take([source], NOW)
    assert [one.error for one in plan.refused] == ["WrongPartitionError"]
    assert not plan.rows


@pytest.mark.parametrize("call_id", ["", "1", "a/b", "%2F", "\N{GRINNING FACE} \n", "call_" + "x" * 40])
def test_the_key_of_a_tool_call_reads_back(call_id: str) -> None:
    """Whatever a provider takes for an id."""
    key = CallKey(TurnKey("default", "h", "t"), 1, 2, call_id)
    assert CallKey.parse(str(key)) == key
    assert CallKey.of(tool_call("t", call_id, step=1, attempt=2)) == key


def test_more_parts_than_a_key_has_are_no_key() -> None:
    """Rather than a part that is dropped."""
    with pytest.raises(ValueError, match=r".+"):
        CallKey.parse("default/h/t/0/0/1/2")


def test_a_result_on_its_way_is_left_to_the_broker() -> None:
    """Abandoned in the middle of a send, the call does not cancel the producer's future."""

    async def test(bench: Bench) -> None:
        bench.producer.holding = True
        await bench.deliver(tool_call("t", "1"))
        bench.producer.deliver(JOURNAL)
        await settled()
        assert bench.producer.under_way(RESULTS) == 1
        await bench.runner.partitions.lose()
        assert [future.cancelled() for future in bench.producer.futures] == [False] * len(bench.producer.futures)

    on_a_bench(test)
