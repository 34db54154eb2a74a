"""What is said of the machine and of the versions that were measured."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.processes import ROOT

_PACKAGES = ("faust-streaming", "aiokafka", "quixstreams", "nemoguardrails", "langchain", "litellm")


def machine() -> dict[str, str]:
    """Return the machine in a few words each, with how many processes wanted a processor in the minute before."""
    found = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _first(r"model name\s*:\s*(.+)", "/proc/cpuinfo"),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "Python": platform.python_version(),
        "load before": f"{os.getloadavg()[0]:.1f}",
    }
    return {name: value for name, value in found.items() if value}


def versions() -> str:
    """Return the versions of turngate's commit and of what it was measured beside."""
    found = [f"turngate {commit()}"]
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return "; ".join(found)


def commit() -> str:
    """Return the commit that is measured, with a mark if the files differ from it; `unknown` without a repository."""
    try:
        said = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--exclude", "*"],  # noqa: S607 - whichever git is there
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except OSError:
        return "unknown"
    return said.stdout.strip() or "unknown"


def _memory() -> str:
    kilobytes = _first(r"MemTotal:\s+(\d+) kB", "/proc/meminfo")
    return f"{int(kilobytes) / 2**20:.0f} GB" if kilobytes else ""


def _first(pattern: str, path: str) -> str:
    try:
        found = re.search(pattern, Path(path).read_text(encoding="utf-8"))
    except OSError:
        return ""
    return found[1].strip() if found else ""
