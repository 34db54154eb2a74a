"""The owner's side of the leash: start a server process, watch it, stop it surely."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from streams.brokers import leash

KILL_WAIT_S = 10.0


class LeashedProcess:
    """One server process that ends when this object says so, or when this process ends in whatever way.

    Methods block for milliseconds only, except `stop` (up to some seconds for a server that is slow to exit).
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start `command`.

        What it prints is appended to the file `log`, or dropped. `env` replaces the inherited environment.
        Raises `OSError` when `log` cannot be opened.
        """
        self._output: IO[bytes] | None = log.open("ab") if log is not None else None
        self._process = subprocess.Popen(  # noqa: S603 - a fixed script of ours and the caller's command
            [sys.executable, "-I", "-S", leash.__file__, *command],
            stdin=subprocess.PIPE,
            stdout=self._output or subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            # Of its own session, or Ctrl-C would reach the server before its clients have drained.
            start_new_session=True,
            env=dict(env) if env is not None else None,
        )

    @property
    def pid(self) -> int:
        """Process id of the leash; killing it kills the server."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """The server's exit status, or None while it runs."""
        return self._process.poll()

    def stop(self) -> None:
        """Kill the server and wait until it is gone; harmless when it is already."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(KILL_WAIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._output is not None:
            self._output.close()
