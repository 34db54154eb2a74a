"""Contenders that are processes: started, looked at, and ended; what they print is shown only where one ends early."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.rounds import FailedError

ROOT = Path(__file__).resolve().parents[1]
_TAIL = 1_500


class Running:
    """A process, and the file with what it printed."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self._log = log

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def printed(self) -> str:
        """What it has printed so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Stop it until the end of the block; it notices nothing but the time that has passed."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def check(self) -> None:
        """Raise `FailedError` if it has ended."""
        if self._process.poll() is not None:
            raise FailedError(f"it ended with status {self._process.returncode}:\n{self.printed[-_TAIL:]}")


@contextmanager
def running(command: Sequence[str], env: Mapping[str, str] | None = None, cwd: Path = ROOT) -> Iterator[Running]:
    """Run a command until the end of the block, and kill it and whatever it started then."""
    with tempfile.NamedTemporaryFile("wb", suffix=".log") as log:
        process = subprocess.Popen(
            command, env=None if env is None else dict(env), cwd=cwd, stdout=log, stderr=log, start_new_session=True
        )
        try:
            yield Running(process, Path(log.name))
        finally:
            for pid in descendants(process.pid)[::-1]:
                _kill(pid)
            process.wait()


def module(name: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this project with this Python."""
    return [sys.executable, "-m", name, *arguments]


def cpu_s(pid: int) -> float:
    """Return the processor time of a process and of those it started, in seconds; unlike the clock it minds no others."""
    return sum(_ticks(one) for one in descendants(pid)) / os.sysconf("SC_CLK_TCK")


def memory_kb(pid: int, field: str = "VmRSS") -> int:
    """Return the resident memory of a process in kB; `VmHWM` is its highest. 0 for one that is gone."""
    found = re.search(rf"{field}:\s+(\d+) kB", _read(f"/proc/{pid}/status"))
    return int(found[1]) if found else 0


def descendants(pid: int) -> list[int]:
    """Return a process and all that it and its children started, parents first."""
    children: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        fields = _stat(int(place.name))
        if fields:
            children.setdefault(int(fields[1]), []).append(int(place.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def _ticks(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[11]) + int(fields[12]) if fields else 0


def _stat(pid: int) -> list[str]:
    return _read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


def _kill(pid: int) -> None:
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return
