"""`Dockerfile`: checked by a linter, and for what a linter does not know."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from tests.architecture.sources import PACKAGES, ROOT

FILE = ROOT / "Dockerfile"
LINES = FILE.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()


def lines(word: str) -> list[str]:
    """Return what follows an instruction, for each time that it is there."""
    return [line.split(None, 1)[1] for line in LINES if line.startswith(f"{word} ")]


def test_the_linter_has_nothing_to_say() -> None:
    """Not even about style."""
    hadolint = shutil.which("hadolint", path=sysconfig.get_path("scripts"))
    assert hadolint is not None
    done = subprocess.run([hadolint, str(FILE)], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_both_stages_are_of_one_pinned_image() -> None:
    """What is built with one Python runs with the same."""
    assert lines("FROM") == ["python:${PYTHON} AS build", "python:${PYTHON}"]
    assert re.fullmatch(r"PYTHON=3\.1[1-3]\.\d+-slim-\w+", lines("ARG")[0])


def test_it_runs_as_a_user_without_rights_and_starts_the_command() -> None:
    """By number, so that Kubernetes can tell that it is not root."""
    assert lines("USER") == ["10001:10001"]
    assert json.loads(lines("ENTRYPOINT")[0]) == ["turngate"]


def test_what_it_copies_is_here_and_nothing_else_gets_in() -> None:
    """The packages, and what their installation reads."""
    (first, *packages) = [line for line in lines("COPY") if not line.startswith("--from")]
    assert {line.split()[0] for line in packages} == set(PACKAGES)
    assert all((ROOT / name).exists() for name in first.split()[:-1] if "$" not in name)
    ignored = Path(ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    let_in = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert let_in == {*PACKAGES, "README.md", "pyproject.toml", "turngate.py", "constraints*.txt"}


def test_the_final_image_has_no_tools_to_build_with() -> None:
    """Neither a compiler nor pip, in the environment or beside it."""
    text = FILE.read_text(encoding="utf-8")
    assert "apt-get" not in text
    assert text.count("uninstall --yes --quiet pip") == 2
