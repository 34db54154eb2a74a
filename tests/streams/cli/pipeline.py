"""A pipeline that `turngate up` runs, for tests that talk to it as its user would."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.streams.cli.command import COMMAND, Done, environment, turngate

LIMIT_S = 45.0

DEPS = """
from processors import Block, Deps, Incremental, Pass, Proceed, Reject, Replace, output_processor, pre_processor

@output_processor("mask", incremental=Incremental(lookback_chars=4))
def mask(answer): return Replace(answer.text.replace("1234", "####"))

@output_processor("refuse", incremental=Incremental(lookback_chars=4))
def refuse(answer): return Reject("a curse") if "darn" in answer.text else Pass()

@pre_processor("no-lottery")
def no_lottery(incoming): return Block("No numbers here.") if "lottery" in incoming.text else Proceed()

deps = Deps(output_processors=[mask, refuse], pre_processors=[no_lottery])
"""


@dataclass
class Up:
    """A running `turngate up`, started in `directory` with a runtime file of its own."""

    directory: Path
    process: subprocess.Popen[str]
    log: Path
    first: dict[str, Any]

    @classmethod
    def start(cls, directory: Path, *arguments: str) -> Up:
        """Start it and return when it says that it runs."""
        (directory / "guard.py").write_text(DEPS)
        log = directory / "up.log"
        with log.open("w") as stderr:
            process = subprocess.Popen(
                [*COMMAND, "up", "--json", *arguments],
                cwd=directory,
                env=environment(XDG_RUNTIME_DIR=str(directory)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, log.read_text()
        return cls(directory, process, log, json.loads(line))

    @property
    def bootstrap(self) -> str:
        """Where its broker is."""
        return str(self.first["broker"])

    @property
    def pids(self) -> dict[str, int]:
        """The process ids that its workers had first, by name."""
        return dict(self.first["pids"])

    def turngate(self, *arguments: str, stdin: str = "") -> Done:
        """Run a command beside it, which has to find it by itself."""
        return turngate(*arguments, cwd=self.directory, stdin=stdin, XDG_RUNTIME_DIR=str(self.directory))

    def beside(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command beside it that does not end by itself."""
        return subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=self.directory,
            env=environment(XDG_RUNTIME_DIR=str(self.directory)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, how: signal.Signals) -> tuple[int, list[dict[str, Any]]]:
        """Send it a signal; return its exit status and what it still printed."""
        self.process.send_signal(how)
        out, _ = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, [json.loads(line) for line in out.splitlines()]


def wait_for(what: Callable[[], bool], why: str) -> None:
    """Wait until `what` is so."""
    until = time.monotonic() + LIMIT_S
    while not what():
        assert time.monotonic() < until, why
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Say whether a process runs; one that has ended and was not yet waited for does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def apart(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end, off pytest's own event loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
