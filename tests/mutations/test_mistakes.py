"""Each mistake of the table is caught by the tests that the table names: made in a copy, where those tests are run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.mutations.mistakes import MISTAKES, Mistake

ROOT = Path(__file__).parents[2]
TESTS = sorted({test for mistake in MISTAKES for test in mistake.caught_by})


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Copy the packages and their tests to a place of their own."""
    place = tmp_path_factory.mktemp("copy")
    for name in ("topics", "processors", "streams", "tests"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", place)
    yield place
    shutil.rmtree(place)


def failures(place: Path, tests: Sequence[str]) -> set[str]:
    """Run tests of a copy; return those that fail, without the names of their cases where none was asked for."""
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode in (0, 1), done.stdout[-2_000:] + done.stderr[-2_000:]
    failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return {one if one in tests else one.partition("[")[0] for one in failed}


def test_without_a_mistake_they_all_pass(copy: Path) -> None:
    """Or that they fail would say nothing."""
    assert failures(copy, TESTS) == set()


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_caught(copy: Path, mistake: Mistake) -> None:
    """By every test that is named for it."""
    file = copy / mistake.file
    right = file.read_text()
    assert right.count(mistake.old) == 1, "the line has changed: make the mistake in the new one"
    file.write_text(right.replace(mistake.old, mistake.new))
    try:
        assert failures(copy, mistake.caught_by) == set(mistake.caught_by)
    finally:
        file.write_text(right)
