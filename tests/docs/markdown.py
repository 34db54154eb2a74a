"""Markdown taken apart, as far as these documents use it: sections, tables and fenced blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _pages() -> tuple[Path, ...]:
    """Return every Markdown file, but for those of what was fetched or built."""
    folders = [
        one for one in ROOT.iterdir() if one.is_dir() and one.name[0] != "." and one.name not in {"build", "dist"}
    ]
    found = [*ROOT.glob("*.md"), *(page for folder in folders for page in folder.rglob("*.md"))]
    return tuple(sorted(page for page in found if "node_modules" not in page.parts))


#: What people read, and these tests check.
PAGES = _pages()

#: Pages by their path, which is their name in tests.
NAMES = {page: page.relative_to(ROOT).as_posix() for page in PAGES}

Row = dict[str, str]

_HEADING = re.compile(r"^#{1,6} (.+)$")
_FENCE = re.compile(r"^```(.*)$")
_RULE = re.compile(r"^[|\s:-]+$")


@dataclass(frozen=True)
class Fence:
    """A fenced block: `line` is where its text begins, counted from 1; `info` are the words after the backticks."""

    page: Path
    line: int
    info: tuple[str, ...]
    text: str

    @property
    def language(self) -> str:
        """The first word of `info`, or nothing."""
        return self.info[0] if self.info else ""

    @property
    def place(self) -> str:
        """Where it is, to be named in a test's id."""
        return f"{NAMES[self.page]}:{self.line}"


@dataclass(frozen=True)
class Section:
    """What stands under one heading, up to the next of whatever level, fenced blocks left out."""

    title: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines)

    @property
    def rows(self) -> list[Row]:
        """The rows of its tables, cells by column name."""
        return [row for table in self.tables for row in table]

    @property
    def tables(self) -> list[list[Row]]:
        """Its tables."""
        found: list[list[Row]] = []
        heads: list[str] | None = None
        for line in self.lines:
            if not line.startswith("|"):
                heads = None
            elif heads is None:
                heads = _cells(line)
                found.append([])
            elif not _RULE.match(line):
                found[-1].append(dict(zip(heads, _cells(line), strict=True)))
        return found


def fences(page: Path) -> list[Fence]:
    """Return the fenced blocks of a page, in order."""
    found: list[Fence] = []
    opened: tuple[int, tuple[str, ...]] | None = None
    block: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        mark = _FENCE.match(line)
        if mark is None:
            block.append(line)
        elif opened is None:
            opened, block = (number + 1, tuple(mark[1].split())), []
        else:
            found.append(Fence(page, opened[0], opened[1], "\n".join(block) + "\n"))
            opened = None
    assert opened is None, f"{page.name}: the block of line {opened} is never closed"
    return found


def prose(page: Path) -> list[str]:
    """Return the lines of a page that are in no fenced block."""
    return list(_outside(page.read_text(encoding="utf-8")))


def sections(page: Path) -> dict[str, Section]:
    """Return the sections of a page by title."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in prose(page):
        heading = _HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        assert heading[1] not in found, f"{page.name} has two sections {heading[1]!r}"
        lines = found[heading[1]] = []
    return {title: Section(title, tuple(lines)) for title, lines in found.items()}


def code(cell: str) -> str:
    """Return the one name in code font that a cell begins with.

    Raises:
        ValueError: it begins with something else.
    """
    found = re.match(r"`([^`]+)`", cell)
    if found is None:
        raise ValueError(f"not in code font: {cell}")
    return found[1]


def codes(text: str) -> list[str]:
    """Return everything in code font, in order."""
    return re.findall(r"`([^`\n]+)`", text)


def _outside(text: str) -> Iterator[str]:
    inside = False
    for line in text.splitlines():
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            yield line


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
