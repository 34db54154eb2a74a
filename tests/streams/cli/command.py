"""Ways to run `turngate`, and what comes of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from streams.cli import main

#: The command as a process of its own, in whatever environment.
COMMAND = (sys.executable, "-P", "-c", "import sys, turngate; sys.exit(turngate.main())")
LIMIT_S = 60


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    status: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What it printed with --json; fails when any line is something else."""
        rows = [json.loads(line) for line in self.out.splitlines()]
        assert all(isinstance(row, dict) for row in rows), self.out
        return rows

    @property
    def sentence(self) -> str:
        """What it complained about, in the one line that there is."""
        (line,) = self.err.splitlines()
        assert line.startswith("turngate: "), self.err
        return line


@dataclass(frozen=True)
class Cli:
    """The command line, run in this process."""

    capture: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> Done:
        """Run one command."""
        self.capture.readouterr()
        status = main(arguments)
        captured = self.capture.readouterr()
        return Done(status, captured.out, captured.err)


def environment(**more: str) -> Mapping[str, str]:
    """Return this process's environment without any of turngate's variables, and with these."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TURNGATE_")} | more


def turngate(*arguments: str, cwd: Path, stdin: str = "", **variables: str) -> Done:
    """Run one command in a process of its own, to its end."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=environment(**variables),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)
