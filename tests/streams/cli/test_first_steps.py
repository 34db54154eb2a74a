"""What `turngate up` tells a newcomer to type, and the program in the README, done as they stand."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streams.brokers import runtime_file
from streams.brokers.ports import free_port, is_open
from tests.docs.markdown import ROOT, fences
from tests.streams.cli.command import COMMAND, LIMIT_S, environment, turngate
from tests.streams.cli.pipeline import wait_for

pytestmark = pytest.mark.embedded


@contextmanager
def up(directory: Path, port: int, *more: str) -> Iterator[str]:
    """Run `turngate up` for people, and give the line in which it says that it is ready."""
    with (directory / "up.log").open("w") as stderr:
        process = subprocess.Popen(
            [*COMMAND, "up", "--model", "script", "--port", str(port), *more],
            cwd=directory,
            env=environment(XDG_RUNTIME_DIR=str(directory)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    assert process.stdout is not None
    try:
        line = next((line for line in process.stdout if line.startswith("ready after ")), None)
        assert line is not None, (directory / "up.log").read_text()
        yield line
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0


def try_it(line: str, directory: Path) -> list[str]:
    """Type what stands at the end of the line, see that it works, and return its words."""
    name, *words = shlex.split(line[line.index("turngate send") :])
    assert name == "turngate"
    done = turngate(*words, cwd=directory, XDG_RUNTIME_DIR=str(directory))
    assert (done.status, done.out) == (0, "Hello you.\n"), done.err
    return words


def test_the_command_and_the_program_of_the_readme_get_an_answer(tmp_path: Path) -> None:
    """On the port that was asked for."""
    port = free_port()
    (program,) = [one.text for one in fences(ROOT / "README.md") if "asyncio.run(main())" in one.text]
    assert "127.0.0.1:9092" in program
    with up(tmp_path, port) as line:
        assert "--broker" not in try_it(line, tmp_path)
        done = subprocess.run(
            [sys.executable, "-c", program.replace("127.0.0.1:9092", f"127.0.0.1:{port}")],
            cwd=tmp_path,
            env=environment(PYTHONPATH=str(ROOT)),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    *texts, end = done.stdout.splitlines()
    assert "".join(texts) == "Hello you."
    assert end == "[completed]"


def test_beside_another_pipeline_the_command_names_the_broker(tmp_path: Path) -> None:
    """Without that it would go to the other one."""
    runtime_file.write(tmp_path, runtime_file.RunningBroker(bootstrap="127.0.0.1:1", pid=os.getpid()))
    port = free_port()
    with up(tmp_path, port) as line:
        assert try_it(line, tmp_path)[-2:] == ["--broker", f"127.0.0.1:{port}"]


def test_the_readmes_openai_client_and_its_curl_get_an_answer(tmp_path: Path) -> None:
    """At the gateway that comes with `up`; the second reader goes on after the first event."""
    readme = fences(ROOT / "README.md")
    (program,) = [one.text for one in readme if "openai.OpenAI(" in one.text]
    commands = [line[2:] for one in readme for line in one.text.splitlines() if line.startswith("$ curl")]
    port = free_port()
    texts = [program, *commands]
    assert all("127.0.0.1:8800" in text for text in texts)
    program, *commands = (text.replace("127.0.0.1:8800", f"127.0.0.1:{port}") for text in texts)
    with up(tmp_path, free_port(), "--gateway-port", str(port)):
        wait_for(lambda: is_open(port), "the gateway does not come up")
        ran = [run(sys.executable, "-c", program), *(run("bash", "-c", command) for command in commands)]
    said, submitted, followed, resumed = ran
    assert said == "Hello you."
    assert json.loads(submitted)["id"] == "t_dC0xLzE"
    for stream, expected in ((followed, "Hello you."), (resumed, "you.")):
        frames = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]
        assert "".join(frame.get("text", "") for frame in frames) == expected
        assert frames[-1]["kind"] == "completed"


def run(*command: str) -> str:
    """Run a program to its end and return what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
