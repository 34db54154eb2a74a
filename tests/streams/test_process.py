"""What every worker process does around its work: logging, ending at once, running until it is told to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from streams.process import EXIT_FATAL, unique, worker_name


def run(code: str, *, stop_with: signal.Signals | None = None) -> subprocess.CompletedProcess[str]:
    """Run `code` in a process of its own; once it has printed a line, send it `stop_with`."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    first = ""
    if stop_with is not None:
        first = process.stdout.readline()
        process.send_signal(stop_with)
    out, err = process.communicate(timeout=30)
    return subprocess.CompletedProcess(process.args, process.returncode, first + out, err)


DIE = """
    import atexit
    from streams.process import configure_logging, die
    configure_logging("info")
    atexit.register(print, "cleaned up")
    try:
        {raising}
    except BaseException as exc:
        try:
            die(exc)
        finally:
            print("went on")
"""


def test_dying_ends_the_process_at_once_with_its_own_status() -> None:
    """No clean-up runs: it might acknowledge, append or publish."""
    done = run(DIE.format(raising="raise ValueError('a very private sentence')"))
    assert done.returncode == EXIT_FATAL
    assert done.stdout == ""


def test_what_it_died_of_is_named_with_its_place_and_others_messages_are_not_quoted() -> None:
    """They may hold content."""
    done = run(DIE.format(raising="raise ValueError('a very private sentence')"))
    assert "stopping: ValueError at <string>:" in done.stderr
    assert "private" not in done.stderr


def test_our_own_messages_are_told_because_they_say_what_to_do() -> None:
    """They are written without content."""
    raising = "from streams.journal.errors import SupersededError; raise SupersededError('another worker has it')"
    done = run(DIE.format(raising=raising))
    assert "SupersededError" in done.stderr
    assert "another worker has it" in done.stderr


SERVICE = """
    import asyncio, sys
    from streams.process import configure_logging, run_until_stopped
    configure_logging("info")
    class App:
        def finalize(self): print("finalized")
        async def start(self): {start}
        async def stop(self): print("stopped")
        async def wait_until_stopped(self): {wait}
    async def let_go(): print("let go")
    asyncio.run(run_until_stopped(App(), let_go))
    print("returned")
"""


@pytest.mark.parametrize("stop_with", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_app_in_order(stop_with: signal.Signals) -> None:
    """The function returns when the app has stopped."""
    code = SERVICE.format(start="pass", wait="await asyncio.Event().wait()")
    done = run(code, stop_with=stop_with)
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["finalized", "let go", "stopped", "returned"]


def test_an_app_that_stops_by_itself_ends_the_process() -> None:
    """A crashed part leaves the others running; nothing may go on half."""
    done = run(SERVICE.format(start="pass", wait="pass"))
    assert done.returncode == EXIT_FATAL
    assert "stopped" not in done.stdout


def test_a_signal_during_the_start_ends_the_process_at_once() -> None:
    """Nothing was taken in yet that would have to be handed back."""
    code = SERVICE.format(start="await asyncio.Event().wait()", wait="pass")
    done = run(code, stop_with=signal.SIGTERM)
    assert (done.returncode, done.stdout) == (0, "finalized\n")


def test_an_app_that_does_not_start_says_why() -> None:
    """Its exception reaches whoever runs it."""
    done = run(SERVICE.format(start="raise ValueError('no broker')", wait="pass"))
    assert done.returncode == 1
    assert "no broker" in done.stderr


def test_libraries_that_log_content_are_kept_quiet() -> None:
    """From warnings on they are heard; the rest follows the level that is set."""
    done = run(
        """
        import logging
        from streams.process import configure_logging
        configure_logging("debug")
        for name in ("faust.x", "mode", "aiokafka.y", "httpx", "httpx2", "openai._base_client", "streams.faust_shell.base"):
            logging.getLogger(name).info("chatter of %s", name)
            logging.getLogger(name).warning("warning of %s", name)
        logging.getLogger("streams.turns").debug("ours")
        """
    )
    assert "chatter" not in done.stderr
    assert done.stderr.count("warning of") == 7
    assert "ours" in done.stderr
    assert done.stdout == ""


def test_names_and_unique_texts() -> None:
    """A worker's name says where it runs; a unique text is never given twice."""
    assert worker_name().endswith(f"-{os.getpid()}")
    assert len({unique() for _ in range(1000)}) == 1000


SPARE = """
    import gc
    from streams.process import COLLECTING, spare_the_collector
    spare_the_collector()
    assert gc.get_threshold() == COLLECTING
    print(gc.get_freeze_count() > 10_000, len(gc.get_objects()) < 1_000)
    class Turn: pass
    rounds = sum(one["collections"] for one in gc.get_stats())
    turns = [Turn() for _ in range(50_000)]
    print(sum(one["collections"] for one in gc.get_stats()) - rounds < 10)
    for _ in range(50_000):
        garbage = Turn()
        garbage.itself = garbage
    print(50_000 <= len([one for one in gc.get_objects() if isinstance(one, Turn)]) < 75_000)
"""


def test_what_is_always_there_is_not_collected_and_open_turns_seldom() -> None:
    """But garbage is, also such as refers to itself."""
    done = run(SPARE)
    assert (done.stdout.split(), done.stderr) == (["True"] * 4, "")
