"""The working tree beside the commit before it: `python -m bench.smoke [--against COMMIT] [--rounds N]`, or `make smoke`.

Both are measured in turns, for a minute or two, with the measurements of the working tree and the packages that are
installed. It prints ratios and judges nothing: on a busy machine they are noise, and whoever made something slower for a
reason knows it. Where there is nothing to compare with (a copy without history, a first commit) it says so, and is done.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.figures import Absent, Figure, Measure, Report
from bench.machine import commit, machine
from bench.processes import ROOT
from bench.rounds import Values
from bench.tables import as_text

GROUP = "smoke"
MINE = "this tree"
LIMIT_S = 150.0
#: Branches that a branch may have left, in the order in which they are looked for.
TRUNKS = ("origin/main", "main", "origin/master", "master")


class NothingToCompareError(Exception):
    """There is no commit to compare with; the message says why."""


def git(*arguments: str, root: Path = ROOT) -> bytes | None:
    """Return what git prints, or None where it fails or there is none."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False, timeout=60)  # noqa: S607
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def commit_before(root: Path = ROOT, against: str | None = None) -> str:
    """Return the commit to compare with: `against`, or where the branch left its trunk, or the one before the last.

    With changes that are not committed it is the last.

    Raises:
        NothingToCompareError: there is none.
    """
    head = _commit("HEAD", root)
    if head is None:
        raise NothingToCompareError("this copy has no history")
    if against is not None:
        found = _commit(against, root)
        if found is None:
            raise NothingToCompareError(f"there is no commit {against} here")
        return found
    for trunk in TRUNKS:
        left = git("merge-base", "HEAD", trunk, root=root)
        if left is not None and left.decode().strip() != head:
            return left.decode().strip()
    if git("status", "--porcelain", "--untracked-files=no", root=root):
        return head
    before = _commit("HEAD~1", root)
    if before is None:
        raise NothingToCompareError("the commit before this one is not here: fetch more history than the last commit")
    return before


def _commit(name: str, root: Path) -> str | None:
    found = git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", root=root)
    return found.decode().strip() if found else None


def check_out(commit_name: str, into: Path, root: Path = ROOT) -> None:
    """Put the files of a commit into a folder, with this tree's measurements in place of its own."""
    archive = git("archive", "--format=tar", commit_name, root=root)
    if archive is None:
        raise NothingToCompareError(f"git could not give the files of {commit_name}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(into, filter="data")
    shutil.rmtree(into / "bench", ignore_errors=True)
    shutil.copytree(root / "bench", into / "bench", ignore=shutil.ignore_patterns("__pycache__", "results"))


def probe(tree: Path) -> tuple[Values, list[str]]:
    """Measure a tree once; return what was found, and what could not be measured in it."""
    # The tree's own packages come before those that are installed from this one.
    env = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, "-m", "bench.smoke_probe"]
    try:
        done = subprocess.run(
            command, cwd=tree, env=env, capture_output=True, text=True, check=False, timeout=LIMIT_S, encoding="utf-8"
        )
    except subprocess.TimeoutExpired:
        return {}, [f"it took longer than {LIMIT_S:g} s"]
    if done.returncode != 0:
        return {}, [(done.stderr.strip().splitlines() or ["it failed"])[-1]]
    said = json.loads(done.stdout.splitlines()[-1])
    return {Measure(name, ""): value for name, value in said["values"].items()}, said["missing"]


def compare(trees: dict[str, Path], rounds: int) -> Report:
    """Measure trees in turns, and return the figures; the last tree is the base."""
    *_, base = trees
    values: dict[str, list[Values]] = {name: [] for name in trees}
    absent: dict[Absent, None] = {}
    for number in range(rounds):
        for name in list(trees)[:: 1 if number % 2 else -1]:
            found, missing = probe(trees[name])
            values[name].append(found)
            absent |= dict.fromkeys(Absent(GROUP, name, why) for why in missing)
            print(f"  round {number + 1} of {rounds}: {name}", flush=True)
    figures = []
    for measure in values[base][0] if values[base] else ():
        if all(measure in some for runs in values.values() for some in runs):
            figures += [
                Figure(GROUP, measure, name, tuple(run[measure] for run in runs), base) for name, runs in values.items()
            ]
    at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    return Report(at, machine(), {"rounds": str(rounds)}, tuple(figures), tuple(absent))


def main(given: Sequence[str] | None = None) -> None:
    """Compare, and print; never fails for what the figures are."""
    parser = argparse.ArgumentParser(prog="python -m bench.smoke", description=__doc__)
    parser.add_argument("--against", help="the commit to compare with, instead of the one before")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as folder:
        try:
            before = commit_before(against=asked.against)
            check_out(before, Path(folder))
        except NothingToCompareError as reason:
            print(f"Nothing to compare with: {reason}.")
            return
        print(f"comparing {commit()} with {before[:10]}")
        report = compare({MINE: ROOT, f"commit {before[:10]}": Path(folder)}, asked.rounds)
    print()
    print(as_text(report))
    print("Nothing is judged by these figures: a busy machine makes noise of them.")


if __name__ == "__main__":
    main()
