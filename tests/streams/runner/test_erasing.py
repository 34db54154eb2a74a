"""A runner's journal forgets whose calls it made, and still makes none of them again, wherever the runner dies."""

from __future__ import annotations

import pytest

from tests.memory.broker import Broker
from tests.memory.power import Power
from tests.memory.simtime import simulate
from tests.streams.runner.simulation import JOURNAL, Provider, RunnerProcess, prompt
from tests.streams.turns.simulation import CANCELS, ERASURES, PROMPTS, answers
from topics import codec
from topics.records import CancelCall, Erased

SCRIPT = ("Call ", "me.", {"finish_reason": "stop"})


def told(id_: str = "e", *, refused: bool = False) -> Erased:
    """Return what a turn worker says of thread `h`."""
    return Erased(id=id_, role="turns", partition=0, threads=("h",), refused=refused, turns=2, at=1.0)


def pipeline(word: Erased) -> Broker:
    """Return a broker with two calls of thread `h`, one of them open until it is cancelled, and one of another thread."""
    broker = Broker()
    other = prompt("a", SCRIPT).model_copy(update={"thread_id": "other"})
    for request in (prompt("a", SCRIPT), prompt("b", [{"hang": True}]), other):
        broker.append(PROMPTS, 0, request.turn.thread.encode(), codec.encode(request))
    broker.append(ERASURES, 0, b"e", codec.encode(word))
    broker.append(CANCELS, 0, b"default/h", codec.encode(CancelCall(turn_id="b", thread_id="h", partition=0)))
    return broker


async def play(word: Erased, cuts: list[int], *, commits: bool = True) -> tuple[Broker, Provider, list[str]]:
    """Run one runner after the other, each but the last two cut off at its boundary; prompts come twice."""
    broker, provider = pipeline(word), Provider()
    passed: list[str] = []
    for number, cut in enumerate([*cuts, None, None]):
        power = Power(cut_at=cut)
        process = RunnerProcess(broker, provider, power, str(number), commits=commits)
        if await process.start():
            while await process.take_in():
                pass
        await process.end()
        passed = passed or power.passed
    return broker, provider, passed


def keys(broker: Broker) -> list[bytes]:
    """Return the keys that compaction leaves in the journal, but for claims."""
    broker.logs[JOURNAL, 0].compact(drop_tombstones=True)
    return [one.key or b"" for one in broker.read(JOURNAL) if not (one.key or b"").startswith(b"\x00")]


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "uncommitted"])
def test_a_runner_may_die_at_any_boundary(commits: bool) -> None:
    """Nothing names the thread, the other one's call is known as before, and no call is made twice."""
    _, _, boundaries = simulate(play(told(), []))
    for cut in [None, *range(len(boundaries))]:
        broker, provider, _ = simulate(play(told(), [] if cut is None else [cut], commits=commits))
        left = keys(broker)
        assert not [key for key in left if b"default/h/" in key], cut
        assert [key for key in left if b"default/other/" in key], cut
        assert all(count == 1 for count in provider.calls.values()), cut
        assert "models" in {one.role for one in answers(broker)}, cut


def test_what_was_refused_is_left_alone() -> None:
    """A turn worker that erased nothing says so on the same topic."""
    broker, _, _ = simulate(play(told(refused=True), []))
    assert [key for key in keys(broker) if b"default/h/" in key]
    assert {one.role for one in answers(broker)} == {"turns"}


def test_the_answer_counts_the_calls() -> None:
    """Those that are open too: their rows go when they end."""
    broker, _, _ = simulate(play(told(), []))
    (answer,) = [one for one in answers(broker) if one.role == "models"]
    assert (answer.id, answer.calls, answer.threads) == ("e", 2, ())
