"""The table that a chaos run ends with, and the options that say how long it takes; a pytest plugin."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

import pytest

Form = Literal["short", "full"]


@dataclass(frozen=True, slots=True)
class Row:
    """What one fault did to one wave of turns.

    `mode` is how answers are released; `members` of groups are `dynamic`, or `static` (known by name). `turns` were
    submitted and `open` when it struck. `readers` were compared, one that followed and one that came later for each turn:
    `equal` ended as in the undisturbed run, `failed` visibly failed. Readers `dropped` so many frames that they had
    already. `attempts` counts model calls. So many workers have `ended_themselves`, superseded. `recovery_s` is the time
    from the fault to the next text, on the partition where it was longest, `pause_s` the longest that any reader waited
    within an answer.
    """

    broker: str
    mode: str
    members: str
    fault: str
    turns: int
    open: int
    readers: int
    equal: int
    failed: int
    dropped: int
    attempts: int
    ended_themselves: int
    recovery_s: float
    pause_s: float | None


class Rows:
    """The rows of a run, in the order in which they came about."""

    def __init__(self) -> None:
        self.all: list[Row] = []

    def add(self, row: Row) -> None:
        """Add one."""
        self.all.append(row)

    def take(self, sent: Sequence[Mapping[str, Any]]) -> None:
        """Add those of another process, as `as_sent` gave them."""
        self.all.extend(Row(**row) for row in sent)

    def as_sent(self) -> list[dict[str, Any]]:
        """Return them as plain values, for another process or a file."""
        return [asdict(row) for row in self.all]

    def table(self) -> list[str]:
        """Return the rows as lines of text, columns aligned, with a line of totals."""
        names = [field.name for field in fields(Row)]
        cells = [[name.replace("_", " ") for name in names]]
        cells += [["-" if value is None else str(value) for value in asdict(row).values()] for row in self.all]
        cells.append([self._total(name) for name in names])
        widths = [max(len(line[column]) for line in cells) for column in range(len(names))]
        texts = names.index("fault") + 1
        return [
            "  ".join(
                cell.ljust(width) if column < texts else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in cells
        ]

    def _total(self, name: str) -> str:
        values = [getattr(row, name) for row in self.all]
        if name == "fault":
            return f"{len(values)} faults"
        if name in {"broker", "mode", "members"}:
            return "all" if name == "broker" else ""
        known = [value for value in values if value is not None]
        return str(max(known, default=0.0)) if name.endswith("_s") else str(sum(known))


ROWS = pytest.StashKey[Rows]()
LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--chaos` and `--chaos-json`."""
    group = parser.getgroup("chaos")
    group.addoption("--chaos", choices=("short", "full"), default="short", help="how much chaos (default: short)")
    group.addoption("--chaos-json", type=Path, default=None, help="write the table of the chaos tests there as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Begin with an empty table."""
    config.addinivalue_line("markers", "long_form: only with --chaos=full (make chaos)")
    config.stash[ROWS] = Rows()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give tests that take a `mode` all of them in the long form, and one in the short one."""
    if "mode" in metafunc.fixturenames and metafunc.definition.get_closest_marker("chaos"):
        modes = ["incremental", "whole", "scan", "live"]
        metafunc.parametrize("mode", modes if metafunc.config.getoption("--chaos") == "full" else modes[:1])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is only in the long form, unless that is what was asked for; the summary says so."""
    if config.getoption("--chaos") == "full":
        return
    long = [item for item in items if item.get_closest_marker("long_form")]
    config.stash[LEFT_OUT] = len(long)
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In one of several processes: hand over what was found here."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["chaos"] = {
            "rows": session.config.stash[ROWS].as_sent(),
            "left_out": session.config.stash.get(LEFT_OUT, 0),
        }


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Where there are several processes: take in what one of them found. One that died has nothing to say."""
    if found := getattr(node, "workeroutput", {}).get("chaos"):
        node.config.stash[ROWS].take(found["rows"])
        node.config.stash[LEFT_OUT] = found["left_out"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table, and write it where it was asked for."""
    rows = config.stash[ROWS]
    path: Path | None = config.getoption("--chaos-json")
    if path is not None:
        path.write_text(json.dumps(rows.as_sent(), indent=1) + "\n", encoding="utf-8")
    if not rows.all:
        return
    terminalreporter.section("chaos")
    for line in rows.table():
        terminalreporter.line(line)
    if left_out := config.stash.get(LEFT_OUT, 0):
        terminalreporter.line(f"the short form: {left_out} tests more, more turns and every mode with `make chaos`")


@pytest.fixture
def rows(request: pytest.FixtureRequest) -> Rows:
    """Give the table of this run."""
    return request.config.stash[ROWS]


@pytest.fixture
def form(request: pytest.FixtureRequest) -> Form:
    """Say how much chaos was asked for."""
    found: Form = request.config.getoption("--chaos")
    return found
