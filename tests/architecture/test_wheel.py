"""What is installed is what is here: the wheel has every package, and the files that go with them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile

import pytest

from tests.architecture.sources import PACKAGES, ROOT


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the names of all files in a wheel that is built from a copy of the sources."""
    copy = tmp_path_factory.mktemp("sources")
    for name in (*PACKAGES, "tests", "bench", "examples"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "turngate.py"):
        shutil.copy(ROOT / name, copy)
    built = copy / "built"
    built.mkdir()
    code = f"from setuptools.build_meta import build_wheel; build_wheel({str(built)!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = built.glob("turngate-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def wanted(pattern: str) -> set[str]:
    """Return the files of the packages that match a pattern, by their names in a wheel."""
    return {path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob(pattern)}


def test_every_module_is_in_the_wheel(packed: set[str]) -> None:
    """A directory without `__init__.py` would be left out without a word."""
    assert wanted("*.py") - packed == set()
    assert "turngate.py" in packed


def test_the_files_beside_the_modules_are_in_the_wheel(packed: set[str]) -> None:
    """The marks of typed packages, the built-ins' word lists, and the console's page."""
    assert {f"{package}/py.typed" for package in PACKAGES} <= packed
    lists = {name for name in wanted("*.txt") if name.startswith("processors/builtin/data/")}
    assert lists
    assert lists <= packed
    page = {name for name in wanted("*.*") if name.startswith("streams/gateway/console/")}
    assert "streams/gateway/console/index.html" in page
    assert page <= packed


def test_nothing_else_is_in_the_wheel(packed: set[str]) -> None:
    """Names as common as `tests` belong to no package that others install."""
    tops = {name.split("/")[0] for name in packed if ".dist-info/" not in name}
    assert tops == {*PACKAGES, "turngate.py"}
