"""Packages of other languages that tests fetch once, into the cache beside the sources; without them, tests are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 300


def from_npm(name: str, *packages: str) -> Path:
    """Return the directory of `packages`' node_modules, or skip the test that asks for it."""
    npm = shutil.which("npm")
    if shutil.which("node") is None or npm is None:
        pytest.skip("there is no node with npm here")
    where = ROOT / ".cache" / name
    if not (where / ".complete").exists():
        where.mkdir(parents=True, exist_ok=True)
        _fetch([npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(where), *packages], where)
        (where / ".complete").touch()
    return where


def go_program(directory: Path, *modules: str) -> Path:
    """Build the Go program whose sources are in `directory`, with these modules; return it, or skip the test."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no go here")
    if not (directory / "go.mod").exists():
        subprocess.run([go, "mod", "init", "ask"], cwd=directory, capture_output=True, check=True)
    _fetch([go, "get", *modules], directory)
    built = directory / "built"
    done = subprocess.run(
        [go, "build", "-o", str(built), "."],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    return built


def _fetch(command: list[str], directory: Path) -> None:
    """Run what fetches packages; where that is not possible, the test is not either."""
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env={**os.environ, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"},
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{command[0]} cannot fetch its packages in time")
    if done.returncode != 0:
        pytest.skip(f"{Path(command[0]).name} cannot fetch its packages: {done.stderr.strip()[-200:]}")
