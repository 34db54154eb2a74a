"""Whoever dies: no span is lost with the turn going on, and none is told twice as two."""

from __future__ import annotations

from collections import Counter

import pytest

from streams.runner.kind import CallKey
from streams.tracing.calls import ModelCallTracing
from streams.tracing.turns import TurnTracing
from tests.memory.broker import Broker
from tests.memory.power import Power
from tests.memory.simtime import simulate, wall_clock
from tests.streams.runner.simulation import Provider, RunnerProcess, prompt
from tests.streams.tracing.kept import Kept, attributes, parent_of
from tests.streams.turns.scenarios import BY_NAME
from tests.streams.turns.simulation import PROMPTS, REQUESTS, Process, Scenario, World
from topics import codec
from topics.trace_context import TraceContext

CALLER = TraceContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", sampled=True)


async def play(scenario: Scenario, cuts: list[int]) -> tuple[Kept, list[str]]:
    """Run one turn worker after the other, each but the last cut off at its boundary."""
    spans, world = Kept(), World(Scenario(scenario.name, (), scenario.answers, scenario.deps, tools=scenario.tools))
    for said in scenario.said:
        assert not isinstance(said.record, bytes)
        world.broker.append(REQUESTS, 0, None, codec.encode(said.record), CALLER.headers)
    power = Power()
    for cut in [*cuts, None]:
        power = Power(cut_at=cut)
        process = Process(world, power, tracer=TurnTracing(spans))
        over = await process.start() and await process.work()
        await process.end()
        if over:
            break
    return spans, power.passed


@pytest.mark.parametrize("name", ["tools-incremental", "rejected-late", "retried-in-vain", "one-thread"])
@pytest.mark.parametrize("again", [None, 4], ids=["once", "twice"])
def test_a_turn_worker_that_dies_anywhere_leaves_the_same_spans(name: str, again: int | None) -> None:
    """By their ids: a successor tells what may not have been told, and what it tells again is the same."""
    scenario = BY_NAME[name]
    undisturbed, boundaries = simulate(play(scenario, []))
    expected = Counter(span.name for span in undisturbed.all)
    assert len(undisturbed.by_id) == len(undisturbed.all)
    for cut, boundary in enumerate(boundaries):
        spans, _ = simulate(play(scenario, [cut] if again is None else [cut, again]))
        assert Counter(span.name for span in spans.by_id.values()) == expected, f"died at {cut}: {boundary}"


async def call(cuts: list[int]) -> tuple[Kept, list[str]]:
    """Run one model runner after the other on one prompt, each but the last cut off."""
    spans, broker, power = Kept(), Broker(), Power()
    request = prompt("a", ("Call ", "me.", {"finish_reason": "stop", "usage": {"prompt_tokens": 3}}))
    broker.append(PROMPTS, 0, b"default/h", codec.encode(request), CALLER.headers)
    for number, cut in enumerate([*cuts, None]):
        power = Power(cut_at=cut)
        tracer = ModelCallTracing(spans, wall_clock, lambda _: ("acme", "acme-1"))
        process = RunnerProcess(broker, Provider(), power, str(number), tracer=tracer)
        if await process.start():
            while await process.take_in():
                pass
        await process.end()
    return spans, power.passed


def test_a_model_call_has_one_span_whatever_becomes_of_its_runner() -> None:
    """That of the call, or that of the interrupted one, or, if the runner dies between the two, both by the same id."""
    _, boundaries = simulate(call([]))
    seen: Counter[str] = Counter()
    for cut in range(len(boundaries)):
        spans, _ = simulate(call([cut]))
        (span, *more) = spans.all
        assert {one.context.span_id for one in more if one.context} <= {span.context.span_id if span.context else 0}
        assert parent_of(span) == int(CALLER.span_id, 16)
        assert (span.end_time or 0) >= (span.start_time or 0)
        seen[str(attributes(span).get("error.type"))] += 1
    assert seen["CallInterruptedError"] > 0
    assert seen["None"] > 0


def test_a_runner_that_lost_a_partition_remembers_nothing_of_it() -> None:
    """Its calls are told by whoever has the partition now."""
    spans = Kept()
    tracer = ModelCallTracing(spans, wall_clock, lambda _: ("acme", None))
    request = prompt("a", ["x"])
    tracer.started(request, CALLER, 1.0)
    assert tracer.headers(CallKey.of(request).record())
    tracer.lost(0)
    assert tracer.headers(CallKey.of(request).record()) == ()
    tracer.ended(request, None, 2.0)
    assert spans.all == []
