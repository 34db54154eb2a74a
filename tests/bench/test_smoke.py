"""The quick comparison: which commit it compares with, and that it needs none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench import smoke
from bench.figures import Measure
from bench.rounds import Values
from bench.smoke import NothingToCompareError


def git(root: Path, *arguments: str) -> str:
    """Run git in a repository of the test's own."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "init.defaultBranch=main"]
    command = ["git", *identity, *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository of two commits on main."""
    git(tmp_path, "init", "-q")
    for number in (1, 2):
        (tmp_path / "bench").mkdir(exist_ok=True)
        (tmp_path / "bench" / "new.py").write_text(f"measurement {number}\n", encoding="utf-8")
        (tmp_path / "product.py").write_text(f"product {number}\n", encoding="utf-8")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", str(number))
    return tmp_path


def test_without_history_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    """A copy of the files, and a clone of the last commit alone."""
    with pytest.raises(NothingToCompareError, match="no history"):
        smoke.commit_before(tmp_path)


def test_a_clone_of_the_last_commit_alone(repository: Path, tmp_path: Path) -> None:
    """It is told to fetch more."""
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", str(shallow))
    with pytest.raises(NothingToCompareError, match="fetch more history"):
        smoke.commit_before(shallow)


def test_nothing_to_compare_with_is_said_and_no_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command ends well."""
    monkeypatch.setattr(smoke, "git", lambda *_, **__: None)
    smoke.main([])
    assert capsys.readouterr().out == "Nothing to compare with: this copy has no history.\n"


def test_the_commit_before(repository: Path) -> None:
    """On the trunk it is the last but one; with changes, the last; on a branch, where that left the trunk; or as asked."""
    first, second = git(repository, "rev-list", "--reverse", "HEAD").split()
    assert smoke.commit_before(repository) == first
    (repository / "product.py").write_text("changed\n", encoding="utf-8")
    assert smoke.commit_before(repository) == second
    git(repository, "checkout", "-q", "-b", "side")
    for number in (3, 4):
        git(repository, "commit", "-q", "--allow-empty", "-a", "-m", str(number))
    assert smoke.commit_before(repository) == second
    assert smoke.commit_before(repository, against="main~1") == first
    with pytest.raises(NothingToCompareError, match="no commit nonsense here"):
        smoke.commit_before(repository, against="nonsense")


def test_the_other_tree_is_measured_with_this_trees_measurements(repository: Path, tmp_path: Path) -> None:
    """Or a change of a measurement would be taken for a change of what is measured."""
    other = tmp_path / "other"
    other.mkdir()
    smoke.check_out(git(repository, "rev-parse", "HEAD~1"), other, repository)
    assert (other / "product.py").read_text(encoding="utf-8") == "product 1\n"
    assert (other / "bench" / "new.py").read_text(encoding="utf-8") == "measurement 2\n"


def test_trees_take_turns_and_what_one_lacks_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each round begins with the other one; the last tree is the base."""
    order: list[str] = []
    both, mine = Measure("both", ""), Measure("mine", "")

    def probe(tree: Path) -> tuple[Values, list[str]]:
        order.append(tree.name)
        return ({both: 3.0, mine: 1.0}, []) if tree.name == "new" else ({both: 2.0}, ["mine: not there"])

    monkeypatch.setattr(smoke, "probe", probe)
    report = smoke.compare({"new": tmp_path / "new", "old": tmp_path / "old"}, 2)
    assert order == ["old", "new", "new", "old"]
    assert [(figure.measure, figure.contender, report.ratio(figure)) for figure in report.figures] == [
        (both, "new", 1.5),
        (both, "old", 1.0),
    ]
    assert [one.why for one in report.absent] == ["mine: not there"]


def test_a_tree_that_cannot_be_measured_says_why(tmp_path: Path) -> None:
    """A tree without the measurement, say; nothing is raised."""
    values, missing = smoke.probe(tmp_path)
    assert not values
    assert len(missing) == 1
