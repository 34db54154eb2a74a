"""The command line as tests run it: in this process where nothing else is needed, or as a process of its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.streams.cli.command import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Cli]:
    """Give the command line in an empty directory, without any broker, settings or runtime file of the machine's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    # The operator's modules are imported from the current directory: the next test's is another.
    monkeypatch.syspath_prepend(str(tmp_path))
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield Cli(capsys)
    root.handlers[:] = handlers
    root.setLevel(level)
