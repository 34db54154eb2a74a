"""`docs/quickstart.md` from its first line to its last, as a newcomer types it: files are written, commands are run."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from streams.brokers.ports import free_port, is_open
from tests.docs.commands import Command, check_parses, commands_of, reason_not_to_run, run
from tests.docs.markdown import ROOT, fences
from tests.streams.cli.command import COMMAND, LIMIT_S, environment
from tests.streams.cli.pipeline import wait_for

pytestmark = pytest.mark.embedded

PAGE = ROOT / "docs" / "quickstart.md"
#: Where its gateway is, which may be taken on the machine of a test.
GATEWAY = "127.0.0.1:8800"
#: Commands that are only parsed: what they begin with, and why.
NOT_RUN = {
    "make demo": "builds an environment; tests/streams/cli/test_demo.py runs the demo",
    ". .venv": "is for that environment",
    "mkdir": "the test has a directory of its own",
    "cd ": "the same",
    "export TURNGATE_OPENAI": "is for a model server",
    "turngate up --model http": "needs a model server; tests/integration/test_openai_server.py has one",
}


class Newcomer:
    """Somebody at two terminals in one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.up: subprocess.Popen[str] | None = None
        self.listening: threading.Thread | None = None
        self.said: list[str] = []

    def write(self, name: str, text: str) -> None:
        """Write a file of the page."""
        (self.directory / name).write_text(text.replace(GATEWAY, f"127.0.0.1:{self.port}"), encoding="utf-8")

    def type(self, command: Command) -> None:
        """Run a command of the page, and see what is shown beneath it."""
        check_parses(command.text)
        if reason_not_to_run(command.text, NOT_RUN) is not None:
            return
        if command.text.startswith("turngate up"):
            self.start(command)
            return
        done = run(f"{{ {command.text}; }} 2>&1", self.directory, XDG_RUNTIME_DIR=str(self.directory))
        assert done.returncode == command.status, f"{command.text}: {done.stdout}"
        assert command.matches(done.stdout), f"{command.text}: {done.stdout}"

    def start(self, command: Command) -> None:
        """Start the pipeline in the other terminal, and wait until it has said what is shown."""
        words = [*COMMAND, *command.text.split()[1:], "--gateway-port", str(self.port)]
        with (self.directory / "up.log").open("w") as log:
            self.up = subprocess.Popen(
                words,
                cwd=self.directory,
                env=environment(XDG_RUNTIME_DIR=str(self.directory)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.up.stdout is not None
        self.listening = threading.Thread(target=self.said.extend, args=(self.up.stdout,))
        self.listening.start()
        wait_for(lambda: command.matches("".join(self.said)), "the pipeline does not come up")
        wait_for(lambda: is_open(self.port), "the gateway does not come up")

    def leave(self) -> None:
        """Press Ctrl-C in the other terminal."""
        if self.up is not None and self.up.stdout is not None and self.listening is not None:
            self.up.send_signal(signal.SIGINT)
            self.up.wait(timeout=LIMIT_S)
            self.listening.join()
            self.up.stdout.close()
            assert self.up.returncode == 0


def test_every_step_works(tmp_path: Path) -> None:
    """In order; what is shown is what comes."""
    newcomer = Newcomer(tmp_path)
    ran: list[str] = []
    try:
        for fence in fences(PAGE):
            if fence.language == "console":
                for command in commands_of(fence):
                    newcomer.type(command)
                    ran.append(command.text)
            else:
                newcomer.write(fence.info[1], fence.text)
    finally:
        newcomer.leave()
    assert [start for start in NOT_RUN if not any(text.startswith(start) for text in ran)] == []


def test_each_file_is_named_in_the_sentence_before_it() -> None:
    """So that a newcomer knows what to call it."""
    page = PAGE.read_text(encoding="utf-8")
    named = re.findall(r"Write `([\w.]+)`:\n\n```\w+ ([\w.]+)\n", page)
    files = [fence.info[1] for fence in fences(PAGE) if fence.language != "console"]
    assert [written for written, _ in named] == files == [shown for _, shown in named]


def test_the_window_that_it_calls_too_narrow_is_found_so(tmp_path: Path) -> None:
    """The page tells the reader to try it."""
    (house,) = [fence.text for fence in fences(PAGE) if fence.info[1:] == ("house.py",)]
    narrow = re.sub(r"lookback_chars=\d+", "lookback_chars=4", house)
    (tmp_path / "house.py").write_text(narrow, encoding="utf-8")
    done = run("turngate processors check house:deps", tmp_path)
    assert done.returncode == 1
    assert "hide-tickets" in done.stdout
