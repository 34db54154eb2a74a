"""Other commands find a living broker of this user, and never a dead or a stranger's one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.brokers import runtime_file
from streams.brokers.runtime_file import RunningBroker, RuntimeFileError

MINE = RunningBroker(bootstrap="127.0.0.1:19092", pid=os.getpid())


@pytest.fixture
def neighbour() -> Iterator[int]:
    """Give the id of another living process of this user."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


def _dead_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """The address and its owner come back, from a directory that did not exist before."""
    directory = tmp_path / "not yet"
    assert runtime_file.write(directory, MINE)
    assert runtime_file.read(directory) == MINE


def test_only_its_user_can_read_the_file(tmp_path: Path) -> None:
    """The directory may be everybody's, the file is not."""
    runtime_file.write(tmp_path, MINE)
    assert stat.S_IMODE(runtime_file.runtime_file(tmp_path).stat().st_mode) == 0o600


def test_nothing_but_the_file_is_left_behind(tmp_path: Path) -> None:
    """The draft that makes the write atomic is gone afterwards."""
    runtime_file.write(tmp_path, MINE)
    assert list(tmp_path.iterdir()) == [runtime_file.runtime_file(tmp_path)]


def test_no_file_means_no_broker(tmp_path: Path) -> None:
    """Nothing was started: nothing is found, and taking it away does no harm."""
    assert runtime_file.read(tmp_path) is None
    runtime_file.remove(tmp_path, MINE.pid)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"bootstrap":"127.0.0.1:1"}',
        b'{"bootstrap":"","pid":1}',
        b'{"bootstrap":"x:1","pid":-1}',
    ],
    ids=["empty", "not UTF-8", "not an object", "no owner", "no address", "a process group"],
)
def test_a_broken_file_means_no_broker(tmp_path: Path, content: bytes) -> None:
    """Half a file, or something else's file, is not an address."""
    runtime_file.runtime_file(tmp_path).write_bytes(content)
    assert runtime_file.read(tmp_path) is None


def test_the_file_of_a_dead_owner_is_stale(tmp_path: Path) -> None:
    """An owner that was killed could not take its file away: it is not believed, and the next owner replaces it."""
    runtime_file.write(tmp_path, RunningBroker(bootstrap="127.0.0.1:1", pid=_dead_pid()))
    assert runtime_file.read(tmp_path) is None
    assert runtime_file.write(tmp_path, MINE)
    assert runtime_file.read(tmp_path) == MINE


def test_the_file_of_a_living_owner_stays(tmp_path: Path, neighbour: int) -> None:
    """A second `up` or `demo` neither takes over the address that others attach through nor removes it."""
    theirs = RunningBroker(bootstrap="127.0.0.1:1", pid=neighbour)
    runtime_file.write(tmp_path, theirs)
    assert not runtime_file.write(tmp_path, MINE)
    runtime_file.remove(tmp_path, MINE.pid)
    assert runtime_file.read(tmp_path) == theirs


def test_an_owner_removes_its_file(tmp_path: Path) -> None:
    """After a clean stop nobody finds the broker any more."""
    runtime_file.write(tmp_path, MINE)
    runtime_file.remove(tmp_path, MINE.pid)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another user")
def test_the_file_of_another_user_is_not_believed(tmp_path: Path) -> None:
    """In a shared directory a stranger could put a file under this name, and lead clients to a broker of theirs."""
    runtime_file.write(tmp_path, MINE)
    os.chown(runtime_file.runtime_file(tmp_path), 12345, -1)
    assert runtime_file.read(tmp_path) is None


def test_a_directory_that_cannot_be_used_is_named_in_the_error(tmp_path: Path) -> None:
    """The error says which file could not be written and what to do without it."""
    blocked = tmp_path / "a file"
    blocked.write_text("")
    with pytest.raises(RuntimeFileError, match=r"a file.*--broker 127\.0\.0\.1:19092"):
        runtime_file.write(blocked, MINE)
