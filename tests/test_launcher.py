"""The command's first step: a foreign package under one of our names is named, not run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import turngate

ROOT = Path(turngate.__file__).parent


def start(*path: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a fresh interpreter that looks for packages in `path`, in that order, first."""
    return subprocess.run(
        [sys.executable, "-P", "-c", "import turngate; turngate.main()"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", turngate.PACKAGES)
@pytest.mark.parametrize("file", ["{}/__init__.py", "{}.py"])
def test_a_foreign_package_is_named_and_not_run(tmp_path: Path, name: str, file: str) -> None:
    """The error gives the path that Python found and ours; the foreign code never runs."""
    foreign = tmp_path / file.format(name)
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_text("raise SystemExit('foreign code ran')")
    done = start(tmp_path, ROOT)
    assert done.returncode == 2
    assert f"another package shadows turngate's {name!r}" in done.stderr
    assert str(tmp_path / name) in done.stderr
    assert str(ROOT / name) in done.stderr
    assert "foreign code ran" not in done.stderr
    assert done.stdout == ""


def test_our_own_packages_pass() -> None:
    """In this very interpreter they are imported already."""
    turngate.check_shadowing()


def test_a_missing_package_is_said_to_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half an installation is no shadow."""
    monkeypatch.setattr(turngate, "PACKAGES", ("no_such_package_of_ours",))
    with pytest.raises(turngate.ShadowedPackageError, match="Install turngate again"):
        turngate.check_shadowing(tmp_path)


def test_ctrl_c_before_a_command_runs_shows_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python takes a while to start: whoever changes their mind meanwhile is not shown our modules."""

    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("streams.cli.main", interrupted)
    with pytest.raises(SystemExit) as ended:
        turngate.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == ""
