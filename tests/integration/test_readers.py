"""The programs of `docs/readers.md` as they stand there, in Node, in Go and in Python, against a running pipeline."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import fetched
from tests.docs.markdown import ROOT, fences
from tests.streams.cli.pipeline import Up
from topics.ids import ThreadKey

pytestmark = pytest.mark.embedded

PAGE = ROOT / "docs" / "readers.md"
PARTITIONS = 3
#: Threads of every partition, one with a letter that is two bytes and one with a character that is four.
THREADS = ("chat-4711", "Gespräch-7", "\N{GRINNING FACE}", "t-1", "t-4")
LIMIT_S = 90

Ask = Callable[[str, str, str], str]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """Give a pipeline that plays scripts."""
    directory = tmp_path_factory.mktemp("up")
    running = Up.start(directory, "--model", "script", "--partitions", str(PARTITIONS), "--no-gateway")
    yield running
    running.end(signal.SIGTERM)


def shown(info: str) -> str:
    """Return the program of the page in a block that begins so."""
    (found,) = [fence.text for fence in fences(PAGE) if " ".join(fence.info) == info]
    return found


def typed(tool: str) -> list[str]:
    """Return the packages that the page tells to fetch with a tool."""
    (line,) = re.findall(rf"^\$ {tool} (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return shlex.split(line)


def in_node(directory: Path) -> list[str]:
    """Return the command that asks with kafkajs."""
    packages = fetched.from_npm("npm-kafkajs", *typed("npm install"))
    (directory / "node_modules").symlink_to(packages / "node_modules")
    shutil.copy(ROOT / "docs" / "reader.mjs", directory)
    (directory / "ask.mjs").write_text(shown("js kafkajs"), encoding="utf-8")
    return ["node", str(directory / "ask.mjs")]


def in_go(directory: Path) -> list[str]:
    """Return the command that asks with franz-go."""
    shutil.copy(ROOT / "docs" / "reader.go", directory)
    (directory / "ask.go").write_text(shown("go franz-go"), encoding="utf-8")
    return [str(fetched.go_program(directory, *typed("go get")))]


def in_python(directory: Path) -> list[str]:
    """Return the command that asks with turngate's own client."""
    (directory / "ask.py").write_text(shown("python"), encoding="utf-8")
    return [sys.executable, str(directory / "ask.py")]


@pytest.fixture(scope="module", params=[in_node, in_go, in_python], ids=lambda made: str(made.__name__))
def command(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Give the command of one language's program."""
    made: list[str] = request.param(tmp_path_factory.mktemp("ask"))
    return made


def test_threads_of_all_partitions_are_asked() -> None:
    """Or a reader with another partitioner could be right by chance."""
    assert {ThreadKey("acme", thread).partition(PARTITIONS) for thread in THREADS} == set(range(PARTITIONS))


@pytest.mark.parametrize("thread", THREADS)
def test_a_turn_is_published_and_its_answer_read(up: Up, command: list[str], thread: str) -> None:
    """In the partition that turngate expects: another one would be dead-lettered, and never answered."""
    done = subprocess.run(
        [*command, up.bootstrap, "Whom do I write to?", thread],
        env={**os.environ, "KAFKAJS_NO_PARTITIONER_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    assert 'completed "Write to the office."' in done.stdout.splitlines()  # among what kafkajs logs there
