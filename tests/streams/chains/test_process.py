"""What only the runner with child processes can promise: nothing a processor does holds up the worker."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from processors import (
    Answer,
    DepsImportError,
    IncomingMessage,
    Prompt,
    RequiredControlError,
    TextPart,
    TurnContext,
)
from processors.outcomes import Approved, Broken, Derived, Proceeded
from streams.chains import ChainsStoppedError, ChainStartError, ProcessChainRunner
from tests.streams.chains import samples
from tests.streams.chains.samples import marks, until

CONTEXT = TurnContext(agent="billing")
ROOT = Path(__file__).parents[3]

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, or relies on the parent-death signal")


@contextlib.asynccontextmanager
async def running(name: str = "deps", **settings: Any) -> AsyncIterator[ProcessChainRunner]:
    """Give a started runner of the sample `Deps` called `name`, and stop it after."""
    spec = name if ":" in name else f"{samples.__name__}:{name}"
    runner = ProcessChainRunner(spec, **settings)
    await runner.start()
    try:
        yield runner
    finally:
        await runner.stop()


async def pid_of(runner: ProcessChainRunner) -> int:
    """Return the process id of the child that serves the next call."""
    outcome = await runner.run_output(Answer("pid"))
    assert isinstance(outcome, Approved)
    return int(outcome.text.rstrip("."))


def alive(pid: int) -> bool:
    """Tell whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def members(session: int) -> list[int]:
    """Return the process ids of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rsplit(")", 1)[1].split()[3]) == session:
                found.append(int(stat.parent.name))
    return found


def chain_processes() -> list[int]:
    """Return the process ids of our children in which chains run."""
    pids = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in pids if "streams.chains.child" in Path(f"/proc/{pid}/cmdline").read_text()]


async def test_a_hanging_regular_expression_holds_up_nobody() -> None:
    """Other turns' chains are done before it is found to be over its limit; then it is named, and replaced."""
    async with running() as runner:
        hanging = asyncio.ensure_future(runner.run_output(Answer("hang")))
        others = await asyncio.gather(*(runner.run_output(Answer(f"text {n}")) for n in range(20)))
        assert all(isinstance(outcome, Approved) for outcome in others)
        assert not hanging.done()
        outcome = await hanging
        assert isinstance(outcome, Broken)
        assert (outcome.processor, outcome.error) == ("hasty", "ProcessorTimeoutError")
        assert outcome.reports[0].time_ms >= samples.SHORT_S * 1000
        assert isinstance(await runner.run_output(Answer("hello")), Approved)


async def test_the_members_before_a_hanging_one_keep_their_reports() -> None:
    """The child has told how far it was when it stopped answering."""
    async with running() as runner:
        outcome = await runner.run_output(Answer("async:hang"))
        assert isinstance(outcome, Broken)
        assert [(r.processor, r.verdict) for r in outcome.reports] == [("hasty", "pass"), ("hasty-async", "failed")]
        assert outcome.error == "ProcessorTimeoutError"


async def test_a_pre_processor_that_hangs_is_skipped_and_the_rest_goes_on_elsewhere() -> None:
    """What the one before it had said is not lost with its process, and it is not run a second time."""
    async with running() as runner:
        outcome = await runner.run_pre(IncomingMessage((TextPart(text="hang"),), context=CONTEXT))
        assert isinstance(outcome, Proceeded)
        assert outcome.message == (TextPart(text="hang (billing)"),)
        assert outcome.metadata == {"seen": "hang", "context": {"seen": "hang"}}
        assert [(r.processor, r.verdict, r.error) for r in outcome.reports] == [
            ("a-first", "proceed", None),
            ("b-second", "skipped", "ProcessorTimeoutError"),
            ("c-billing", "proceed", None),
        ]


async def test_a_processor_that_takes_its_process_down_has_crashed() -> None:
    """The call is answered, and later calls are served by another process."""
    async with running(workers=1) as runner:
        before = await pid_of(runner)
        outcome = await runner.run_output(Answer("die"))
        assert isinstance(outcome, Broken)
        assert (outcome.processor, outcome.error) == ("hasty", "ProcessorCrashedError")
        assert await pid_of(runner) != before


@pytest.mark.parametrize(("misdeed", "error"), [("die", "ProcessorCrashedError"), ("hang", "ProcessorTimeoutError")])
async def test_calls_that_shared_a_process_with_a_bad_one_are_run_once_more(
    tmp_path: Path, misdeed: str, error: str
) -> None:
    """Two calls wait in the shared child when a third crashes or blocks it: they end well, the third alone does not."""
    async with running("async_only", stall_s=0.5) as runner:
        files = [tmp_path / "one", tmp_path / "two"]
        good = [asyncio.ensure_future(runner.run_input(Prompt(system=f"see:{file}"), CONTEXT)) for file in files]
        await until(lambda: [marks(file) for file in files] == [1, 1])
        bad = asyncio.ensure_future(runner.run_input(Prompt(system=misdeed), CONTEXT))
        await until(lambda: max(marks(file) for file in files) > 1)
        for file in files:
            file.touch()
        outcome = await bad
        assert isinstance(outcome, Broken)
        assert (outcome.processor, outcome.error) == ("hasty-input", error)
        assert [isinstance(outcome, Derived) for outcome in await asyncio.gather(*good)] == [True, True]
        assert [marks(file) for file in files] == [2, 2]


async def test_a_shared_process_that_is_merely_busy_waiting_is_left_alone(tmp_path: Path) -> None:
    """Calls that wait for longer than the sign of life may take are not run twice: the event loop has answered."""
    async with running("async_only", stall_s=0.2) as runner:
        files = [tmp_path / "one", tmp_path / "two"]
        calls = [asyncio.ensure_future(runner.run_input(Prompt(system=f"see:{file}"), CONTEXT)) for file in files]
        await asyncio.sleep(1.0)
        for file in files:
            file.touch()
        await asyncio.gather(*calls)
        assert [marks(file) for file in files] == [1, 1]


async def test_an_async_processor_that_blocks_its_event_loop_is_stopped() -> None:
    """Nothing in its process can hold it to its limit, so the process goes."""
    async with running("async_only") as runner:
        outcome = await runner.run_input(Prompt(system="hang"), CONTEXT)
        assert isinstance(outcome, Broken)
        assert (outcome.processor, outcome.error) == ("hasty-input", "ProcessorTimeoutError")


async def test_calls_that_need_a_process_to_themselves_are_served_in_order() -> None:
    """With one child, the order of outcomes is the order of calls."""
    async with running(workers=1) as runner:
        order: list[int] = []

        async def call(number: int) -> None:
            await runner.run_output(Answer(f"text {number}"))
            order.append(number)

        await asyncio.gather(*(call(number) for number in range(30)))
        assert order == list(range(30))


async def test_async_chains_do_not_overtake_a_call_that_waits_for_a_process_forever(tmp_path: Path) -> None:
    """With one child that is being shared, the older call gets it as soon as it is free, before younger ones join."""
    async with running(workers=1) as runner:
        order: list[str] = []
        file = tmp_path / "file"

        async def call(name: str, system: str | None) -> None:
            if system is None:
                await runner.run_output(Answer(name))
            else:
                await runner.run_input(Prompt(system=system), CONTEXT)
            order.append(name)

        calls = [asyncio.ensure_future(call("shared first", f"see:{file}"))]
        await until(lambda: marks(file) == 1)
        calls.append(asyncio.ensure_future(call("finish alone", None)))
        await asyncio.sleep(0)
        calls.append(asyncio.ensure_future(call("shared second", "x")))
        await asyncio.sleep(0.2)
        assert order == []
        file.touch()
        await asyncio.gather(*calls)
        assert order == ["shared first", "finish alone", "shared second"]


async def test_what_processors_print_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    """It harms no message, and the worker's standard output stays clean."""
    async with running() as runner:
        outcome = await runner.run_output(Answer("print"))
    assert isinstance(outcome, Approved)
    assert outcome.text == "PRINT."
    printed = capfd.readouterr()
    assert "printed by a processor" in printed.err
    assert printed.out == ""


async def test_nothing_that_was_said_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Failures, crashes and timeouts are logged by name and class."""
    caplog.set_level(logging.INFO)
    async with running(workers=1) as runner:
        for text in ("throw hunter2", "die", "hang"):
            await runner.run_output(Answer(text, context=TurnContext(turn_id="hunter2")))
    assert "hasty" in caplog.text
    assert "ProcessorCrashedError" in caplog.text
    assert "hunter2" not in caplog.text


async def test_signals_for_the_owner_do_not_reach_the_children() -> None:
    """They are in a session of their own, and ignore what might still be sent to them while the owner shuts down."""
    async with running(workers=1) as runner:
        pid = await pid_of(runner)
        assert os.getsid(pid) != os.getsid(0)
        os.kill(pid, signal.SIGINT)
        os.kill(pid, signal.SIGTERM)
        assert await pid_of(runner) == pid


@on_linux
async def test_stopping_answers_the_waiting_and_leaves_no_process() -> None:
    """Calls in a child and calls in the queue both end; one child hangs in a regular expression."""
    async with running(workers=1) as runner:
        pid = await pid_of(runner)
        calls = [asyncio.ensure_future(runner.run_output(Answer(text))) for text in ("hang", "hello")]
        await asyncio.sleep(0.1)
        await runner.stop()
        for call in calls:
            with pytest.raises(ChainsStoppedError, match="stopped"):
                await call
        assert not alive(pid)


@on_linux
async def test_without_processors_no_process_is_kept() -> None:
    """Nothing to run needs nowhere to run."""
    async with running("nothing"):
        assert chain_processes() == []
    async with running(workers=3):
        assert len(chain_processes()) == 3


@on_linux
@pytest.mark.parametrize("doing", ["nothing", "hang"])
def test_children_do_not_outlive_an_owner_that_is_killed(doing: str) -> None:
    """`kill -9` of the owner ends its children, also one that is deep in a regular expression."""
    script = textwrap.dedent(f"""
        import asyncio, json, os
        from pathlib import Path
        from processors import Answer
        from streams.chains import ProcessChainRunner

        async def main():
            runner = ProcessChainRunner({samples.__name__ + ":deps"!r})
            await runner.start()
            if {doing!r} == "hang":
                asyncio.ensure_future(runner.run_output(Answer("hang")))
                await asyncio.sleep(0.2)
            pids = Path(f"/proc/self/task/{{os.getpid()}}/children").read_text().split()
            print(json.dumps(pids), flush=True)
            await asyncio.sleep(600)

        asyncio.run(main())
    """)
    owner = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout is not None
        children = [int(pid) for pid in json.loads(owner.stdout.readline())]
        assert len(children) == 2
        owner.kill()
        owner.wait()
    asyncio.run(until(lambda: not any(alive(pid) for pid in children)))


def module(folder: Path, text: str, name: str = "their_gate") -> Path:
    """Write a module, and return the folder to look for it in."""
    (folder / f"{name}.py").write_text(textwrap.dedent(text))
    return folder


GATE = """
    import os
    from processors import Answer, Deps, Replace, output_processor

    @output_processor(name="their")
    def their(answer: Answer) -> Replace:
        if answer.text == "die":
            os._exit(1)
        return Replace(answer.text + " from there")

    deps = Deps(output_processors=[their])
"""


async def test_the_module_is_found_in_the_given_places(tmp_path: Path) -> None:
    """As in the current directory, which a console script does not search by itself."""
    async with running("their_gate:deps", paths=[module(tmp_path, GATE)], workers=1) as runner:
        outcome = await runner.run_output(Answer("text"))
        assert isinstance(outcome, Approved)
        assert outcome.text == "text from there"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("import not_there_at_all", DepsImportError, "ModuleNotFoundError: No module named 'not_there_at_all'"),
        ("1 / 0", DepsImportError, "ZeroDivisionError"),
        ("other = 1", DepsImportError, "has no 'deps'"),
        (
            "from processors import Deps\ndeps = Deps(required_controls=['must-be'])",
            RequiredControlError,
            "their_gate:deps: required_controls: not active: must-be",
        ),
        ("import os; os._exit(7)", ChainStartError, "status 7"),
        ("import time; time.sleep(60)", ChainStartError, "within 1 s"),
    ],
)
async def test_what_cannot_be_loaded_is_said_at_the_start(
    tmp_path: Path, text: str, error: type[Exception], message: str
) -> None:
    """The error from the child reaches whoever starts the runner, and no child stays behind."""
    # Only the one that hangs must run out of its time: a loaded machine is slow to start any child.
    boot_timeout_s = 1.0 if "within 1 s" in message else 60.0
    runner = ProcessChainRunner("their_gate:deps", paths=[module(tmp_path, text)], boot_timeout_s=boot_timeout_s)
    with pytest.raises(error, match=message):
        await runner.start()


FORKS = """
    import os
    from processors import Answer, Deps, Replace, output_processor

    {declared}
        if answer.text == "fork":
            os.fork()
        return Replace(f"{{os.getsid(0)}}")

    deps = Deps(output_processors=[their])
"""


@on_linux
@pytest.mark.parametrize("keyword", ["def", "async def"])
async def test_a_processor_that_forks_costs_its_process_and_nobody_an_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, keyword: str
) -> None:
    """A call is answered twice then: the second answer is for no call, and calls that were made meanwhile are run again."""
    declared = f"@output_processor(name='their')\n    {keyword} their(answer: Answer) -> Replace:"
    folder = module(tmp_path, FORKS.format(declared=declared))
    async with running("their_gate:deps", paths=[folder], workers=1) as runner:
        forked = await runner.run_output(Answer("fork"))
        assert isinstance(forked, Approved)
        while (later := await runner.run_output(Answer("text"))) == forked:
            continue
        outcomes = await asyncio.gather(*(runner.run_output(Answer("fork" if n == 3 else "text")) for n in range(20)))
        assert isinstance(later, Approved)
        assert all(isinstance(outcome, Approved) for outcome in outcomes)
        await until(lambda: not members(int(forked.text)))
    assert "must not fork" in caplog.text
    assert [record for record in caplog.records if record.exc_info] == []


async def test_processors_that_change_on_disk_are_not_mixed_with_those_that_run(tmp_path: Path) -> None:
    """A replacement with other code is refused; calls are answered as failed, not kept waiting."""
    async with running("their_gate:deps", paths=[module(tmp_path, GATE)], workers=1) as runner:
        module(tmp_path, GATE.replace("from there", "from elsewhere, and of another length"))
        assert isinstance(await runner.run_output(Answer("die")), Broken)
        outcome = await runner.run_output(Answer("text"))
        assert isinstance(outcome, Broken)
        assert (outcome.processor, outcome.error) == ("their", "ChainStartError")


def test_numbers_that_cannot_work_are_refused() -> None:
    """At construction, by name."""
    with pytest.raises(ValueError, match="workers"):
        ProcessChainRunner("a:b", workers=0)
