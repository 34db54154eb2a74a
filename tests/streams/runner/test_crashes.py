"""Promise 2 for model runners: no call is made twice for one attempt, and none is forgotten."""

from __future__ import annotations

import pytest

from tests.memory.broker import Broker
from tests.memory.power import Power
from tests.memory.simtime import settled, simulate
from tests.streams.runner.simulation import Provider, RunnerProcess, frames_of, prompt
from tests.streams.turns.simulation import CANCELS, PROMPTS, Process, Said, Scenario, Seen, World, look, turn
from topics import codec
from topics.records import CancelCall

SCRIPT = ("Call ", "me ", "later.", {"finish_reason": "stop", "usage": {"total_tokens": 3}})


def pipeline() -> Broker:
    """Return a broker on which three prompts wait, one of them twice, and a cancel."""
    broker = Broker()
    for request in (prompt("a", SCRIPT), prompt("b", SCRIPT), prompt("a", SCRIPT), prompt("c", [{"hang": True}])):
        broker.append(PROMPTS, 0, b"default/h", codec.encode(request))
    cancel = CancelCall(turn_id="c", thread_id="h", partition=0)
    broker.append(CANCELS, 0, b"default/h", codec.encode(cancel))
    return broker


async def play(cuts: list[int], *, commits: bool = True) -> tuple[Broker, Provider, list[str]]:
    """Run one runner after the other, each but the last cut off at its boundary."""
    broker, provider = pipeline(), Provider()
    power = Power()
    for number, cut in enumerate([*cuts, None]):
        power = Power(cut_at=cut)
        process = RunnerProcess(broker, provider, power, str(number), commits=commits)
        if await process.start():
            while await process.take_in():
                pass
        await process.end()
    return broker, provider, power.passed


def test_an_undisturbed_runner_answers_every_prompt_once() -> None:
    """The yardstick: whole answers of `a` and `b`, and a cancelled `c`."""
    broker, provider, _ = simulate(play([]))
    by_turn = {call.turn.turn_id: frames for call, frames in frames_of(broker).items()}
    assert {name: "".join(frame.text or "" for frame in frames) for name, frames in by_turn.items()} == {
        "a": "Call me later.",
        "b": "Call me later.",
        "c": "",
    }
    assert [frame.error.type for frame in by_turn["c"] if frame.error] == ["CallCancelledError"]
    assert set(provider.calls.values()) == {1}


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "uncommitted"])
@pytest.mark.parametrize("again", [None, 3, 7], ids=["once", "twice", "twice-later"])
def test_a_runner_may_die_at_any_boundary(commits: bool, again: int | None) -> None:
    """Every call was made at most once, and ends: with its answer, or with the report that it was interrupted."""
    _, _, boundaries = simulate(play([]))
    for cut, boundary in enumerate(boundaries):
        cuts = [cut] if again is None else [cut, again]
        broker, provider, _ = simulate(play(cuts, commits=commits))
        where = f"died at {cuts}, first at {boundary}"
        assert all(count == 1 for count in provider.calls.values()), where
        calls = frames_of(broker)
        assert {call.turn.turn_id for call in calls} == {"a", "b", "c"}, where
        for frames in calls.values():
            numbers = [frame.seq for frame in frames if frame.seq is not None]
            assert numbers == list(range(len(numbers))), where
            reports = [frame for frame in frames if frame.seq is None]
            ended = any(frame.finish_reason or frame.error for frame in frames)
            assert ended, where
            assert all(frame.error and frame.error.type == "CallInterruptedError" for frame in reports), where
            assert len(reports) <= len(cuts), where


def test_an_interrupted_call_is_reported_once_and_for_all() -> None:
    """Later owners of the partition have nothing to report any more."""

    async def main() -> None:
        broker, provider = Broker(), Provider()
        broker.append(PROMPTS, 0, b"default/h", codec.encode(prompt("a", ["Wait", {"hang": True}])))
        for number in range(3):
            process = RunnerProcess(broker, provider, Power(), str(number))
            assert await process.start()
            while await process.take_in():
                pass
            await process.end()
        (frames,) = frames_of(broker).values()
        assert [(frame.seq, frame.text) for frame in frames] == [(0, "Wait"), (None, None)]
        assert set(provider.calls.values()) == {1}

    simulate(main())


async def _with_a_turn_worker(cut: int | None) -> tuple[Seen, list[str], Provider]:
    script = ["Call ", "me ", "later.", {"finish_reason": "stop"}]
    scenario = Scenario("", (Said(turn(params={"script": script})),), {})
    world, provider = World(scenario), Provider()
    # The world's own model stays silent: the runner answers instead.
    world.model.act = lambda: False  # type: ignore[method-assign]
    worker = Process(world, Power())
    assert await worker.start()
    power = Power(cut_at=cut)
    runner = RunnerProcess(world.broker, provider, power, "runner 0")
    up = await runner.start()
    moved = True
    while moved:
        await settled()
        if power.off or not up:
            await runner.end()
            power = Power()
            runner = RunnerProcess(world.broker, provider, power, "runner 1")
            up = await runner.start()
        moved = await worker.work_a_little() or await runner.take_in() or await worker.work_a_little() or power.off
    passed = power.passed
    await runner.end()
    await worker.end()
    return look(world, Power()), passed, provider


def test_readers_see_the_last_attempt_whole_when_a_runner_dies() -> None:
    """Wherever the runner dies, the turn is answered with exactly the text of its last attempt."""
    expected, boundaries, _ = simulate(_with_a_turn_worker(None))
    assert expected.outcomes == {"default/h/t": "completed"}
    attempts = set()
    for cut, boundary in enumerate(boundaries):
        seen, _, provider = simulate(_with_a_turn_worker(cut))
        assert (seen.texts, seen.outcomes) == (expected.texts, expected.outcomes), boundary
        assert all(count == 1 for count in provider.calls.values()), boundary
        attempts.add(len(seen.prompts))
    assert attempts == {1, 2}
