"""Promise 2 for tool runners: no tool runs twice for one attempt, and every call has a result."""

from __future__ import annotations

import pytest

from tests.memory.broker import Broker
from tests.memory.power import Power
from tests.memory.simtime import simulate
from tests.streams.runner.tool_simulation import CALLS, ToolProcess, Workshop, results_of, tool_call
from tests.streams.turns.simulation import CANCELS
from topics import codec
from topics.records import CancelCall

ODD = "a/b c\N{GRINNING FACE}"


def pipeline() -> Broker:
    """Return a broker with calls on it: two of one step, one of them twice, one of another turn, and one with a cancel."""
    broker = Broker()
    for request in (
        tool_call("a", "1", arguments='"one"'),
        tool_call("a", ODD, arguments='"two"'),
        tool_call("a", "1", arguments='"one"'),
        tool_call("b", "1", arguments='"three"'),
        tool_call("c", "1", "hang"),
    ):
        broker.append(CALLS, 0, b"default/h", codec.encode(request))
    cancel = CancelCall(turn_id="c", thread_id="h", partition=0)
    broker.append(CANCELS, 0, b"default/h", codec.encode(cancel))
    return broker


async def play(cuts: list[int], *, commits: bool = True) -> tuple[Broker, Workshop, list[str]]:
    """Run one runner after the other, each but the last cut off at its boundary."""
    broker, workshop = pipeline(), Workshop()
    power = Power()
    for number, cut in enumerate([*cuts, None]):
        power = Power(cut_at=cut)
        process = ToolProcess(broker, workshop, power, str(number), commits=commits)
        if await process.start():
            while await process.take_in():
                pass
        await process.end()
    return broker, workshop, power.passed


def test_an_undisturbed_runner_answers_every_call_once() -> None:
    """The yardstick: what the tools said, and a cancelled `c`."""
    broker, workshop, _ = simulate(play([]))
    found = results_of(broker)
    assert {name: [(one.content, one.error) for one in some] for name, some in found.items() if name != "c/1"} == {
        "a/1": [('"one"', None)],
        f"a/{ODD}": [('"two"', None)],
        "b/1": [('"three"', None)],
    }
    (cancelled,) = found["c/1"]
    assert str(cancelled.error).startswith("ToolCancelledError: ")
    assert set(workshop.calls.values()) == {1}


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "uncommitted"])
@pytest.mark.parametrize("again", [None, 3, 7], ids=["once", "twice", "twice-later"])
def test_a_runner_may_die_at_any_boundary(commits: bool, again: int | None) -> None:
    """Every tool ran at most once for a call, and every call has a result: the tool's, or that it was interrupted.

    The first result is the one that counts. A second one is there only where a runner died between the result and the
    journal, and says only that the call was interrupted.
    """
    _, _, boundaries = simulate(play([]))
    for cut, boundary in enumerate(boundaries):
        cuts = [cut] if again is None else [cut, again]
        broker, workshop, _ = simulate(play(cuts, commits=commits))
        where = f"died at {cuts}, first at {boundary}"
        assert all(count == 1 for count in workshop.calls.values()), where
        found = results_of(broker)
        assert set(found) == {"a/1", f"a/{ODD}", "b/1", "c/1"}, where
        for results in found.values():
            reports = [one for one in results if one.error and "ToolInterruptedError" in one.error]
            assert len(results) - len(reports) <= 1, where
            assert results[1:] == [one for one in reports if one is not results[0]], where
            assert len(reports) <= len(cuts), where


def test_an_interrupted_call_is_reported_once_and_for_all() -> None:
    """Later owners of the partition have nothing to report any more."""

    async def main() -> None:
        broker, workshop = Broker(), Workshop()
        broker.append(CALLS, 0, b"default/h", codec.encode(tool_call("a", ODD, "hang", step=2, attempt=1)))
        for number in range(3):
            process = ToolProcess(broker, workshop, Power(), str(number))
            assert await process.start()
            while await process.take_in():
                pass
            await process.end()
        ((result,),) = results_of(broker).values()
        assert (result.step, result.attempt, result.tool_call_id, result.content) == (2, 1, ODD, None)
        assert result.error == "ToolInterruptedError: interrupted: it may or may not have taken effect"
        assert set(workshop.calls.values()) == {1}

    simulate(main())
