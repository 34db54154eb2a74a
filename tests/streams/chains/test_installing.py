"""Several sets of chains in the same processes: installed while they run, refused, taken to new processes, forgotten."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest

from processors import Answer, DeploymentError
from processors.board import Choice, Plan
from processors.outcomes import Approved
from streams.chains import ChainRunner, ChainsStoppedError, InlineChainRunner, ProcessChainRunner
from tests.integration import versions

MODULE = versions.__name__
SECOND = Plan((Choice("output", "mark", "2"),))


@pytest.fixture
async def runner() -> AsyncIterator[ProcessChainRunner]:
    """Run what `versions` declares, with more code beside it."""
    made = ProcessChainRunner(f"{MODULE}:deps", sources=(f"{MODULE}:more",), workers=2)
    await made.start()
    yield made
    await made.stop()


async def text(chains: ChainRunner, given: str = "a") -> str:
    """Return what an output chain makes of an answer."""
    outcome = await chains.run_output(Answer(given))
    assert isinstance(outcome, Approved)
    return outcome.text


async def test_old_and_new_chains_run_side_by_side(runner: ProcessChainRunner) -> None:
    """A call that is under way is not touched."""
    slow = asyncio.create_task(text(runner, "slow"))
    await asyncio.sleep(0)
    second = await runner.install(SECOND)
    assert [await text(second), await text(runner)] == ["a [2]", "a [1]"]
    assert await slow == "slow [1]"
    assert second.manifest.output[0].ref == "output/mark@2"


async def test_a_new_process_has_everything_that_the_one_before_it_had(runner: ProcessChainRunner) -> None:
    """Before it is given a call."""
    second = await runner.install(SECOND)
    before = {child.pid for child in runner._pool.children if child.pid is not None}
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(60):
        while before & (now := {child.pid for child in runner._pool.children}) or not now:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.05)
    assert await asyncio.gather(*(text(second) for _ in range(4))) == ["a [2]"] * 4


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (Choice("output", "mark", "7"), "its code is not here"),
        (Choice("output", "broken", "1", config='{"words": ["x"]}'), "LookupError"),
        (Choice("output", "no-words", "1", config='{"words": []}'), "words"),
        (Choice("output", "mark", None, active=False), "stays active"),
    ],
)
async def test_what_cannot_be_made_is_refused_and_the_rest_goes_on(
    runner: ProcessChainRunner, choice: Choice, message: str
) -> None:
    """In every process alike."""
    with pytest.raises(DeploymentError, match=message):
        await runner.install(Plan((choice,)))
    assert await text(runner) == "a [1]"
    assert await text(await runner.install(SECOND)) == "a [2]"


async def test_chains_alone_have_nothing_of_the_deps_beside_them(runner: ProcessChainRunner) -> None:
    """That is how one processor is tried out."""
    alone = await runner.install(Plan((Choice("post", "sign", "1"),), alone=True))
    assert [member.ref for member in alone.manifest.everything] == ["post/sign@1"]


async def test_what_is_forgotten_is_not_run_any_more(runner: ProcessChainRunner) -> None:
    """Nor is what the Deps declares ever forgotten."""
    second = await runner.install(SECOND)
    runner.uninstall(second)
    with pytest.raises(ChainsStoppedError):
        await second.run_output(Answer("a"))
    runner.uninstall(runner)
    assert await text(runner) == "a [1]"


async def test_where_there_is_no_code_nothing_can_be_deployed() -> None:
    """An empty plan is what runs there anyway."""
    from processors import Deps  # noqa: PLC0415 - only here

    bare = InlineChainRunner(Deps())
    assert await bare.install(Plan()) is bare
    with pytest.raises(DeploymentError, match="no code here"):
        await bare.install(SECOND)
    assert bare.available == ()
