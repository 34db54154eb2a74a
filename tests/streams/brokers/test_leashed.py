"""A leashed process is started, watched and stopped, and says how it ended."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from streams.brokers.leashed import LeashedProcess

LIMIT_S = 30.0


def _wait_for_status(process: LeashedProcess) -> int:
    end = time.monotonic() + LIMIT_S
    while (status := process.exit_status) is None:
        assert time.monotonic() < end, "the process did not end"
        time.sleep(0.01)
    return status


def _wait_for_text(log: Path) -> str:
    end = time.monotonic() + LIMIT_S
    while not (text := log.read_text(encoding="utf-8")).endswith("\n"):
        assert time.monotonic() < end, "the process printed nothing"
        time.sleep(0.01)
    return text


@pytest.mark.parametrize(
    ("program", "status"),
    [("raise SystemExit(3)", 3), ("import os, signal; os.kill(os.getpid(), signal.SIGABRT)", 128 + signal.SIGABRT)],
    ids=["exit", "signal"],
)
def test_the_exit_status_is_the_servers(program: str, status: int) -> None:
    """A server that ends by itself reports its own status, a killed one 128 and the signal, as in a shell."""
    process = LeashedProcess([sys.executable, "-c", program])
    try:
        assert _wait_for_status(process) == status
    finally:
        process.stop()


def test_a_command_that_cannot_be_started_is_named_in_the_log(tmp_path: Path) -> None:
    """There is no server then, and the log says which file was wrong."""
    log = tmp_path / "log"
    process = LeashedProcess([str(tmp_path / "no such server")], log=log)
    try:
        assert _wait_for_status(process) == 127
        assert "no such server" in log.read_text(encoding="utf-8")
    finally:
        process.stop()


def test_the_log_is_appended_to(tmp_path: Path) -> None:
    """What an earlier run printed is still there after the next: a restart must not hide why it was needed."""
    log = tmp_path / "log"
    for word in ("first", "second"):
        process = LeashedProcess([sys.executable, "-c", f"print({word!r})"], log=log)
        _wait_for_status(process)
        process.stop()
    assert log.read_text(encoding="utf-8").split() == ["first", "second"]


def test_the_environment_can_be_replaced(tmp_path: Path) -> None:
    """A server is given exactly the variables it is meant to see."""
    log = tmp_path / "log"
    program = "import os; print('HOME' in os.environ, os.environ['COLOUR'])"
    process = LeashedProcess([sys.executable, "-c", program], log=log, env={"COLOUR": "green"})
    _wait_for_status(process)
    process.stop()
    assert log.read_text(encoding="utf-8").split() == ["False", "green"]


def test_stopping_kills_a_server_that_would_not_listen(tmp_path: Path) -> None:
    """A server that ignores polite signals is gone when `stop` returns; a second `stop` does no harm."""
    log = tmp_path / "log"
    program = (
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(os.getpid(), flush=True); "
        "time.sleep(600)"
    )
    process = LeashedProcess([sys.executable, "-c", program], log=log)
    server = int(_wait_for_text(log))
    assert process.exit_status is None
    process.stop()
    process.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)
