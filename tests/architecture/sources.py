"""The project's modules as syntax trees: imports, calls and attributes, without importing anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("topics", "processors", "streams")


@dataclass(frozen=True)
class Module:
    """One source file; `name` is its dotted name, with `__init__` left out."""

    path: Path

    @cached_property
    def name(self) -> str:
        """The dotted name."""
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def text(self) -> str:
        """The source."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return self.text.count("\n")

    @cached_property
    def imports(self) -> frozenset[str]:
        """Every module named in an import, wherever it stands; `from a import b` counts as `a` and as `a.b`."""
        return frozenset(_imports(self.tree, self.name))

    def attributes(self, owner: str) -> set[str]:
        """Return the attributes that are read of a name `owner`."""
        return {
            node.attr
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == owner
        }

    def method_calls(self, method: str) -> int:
        """Return how often some object's `method` is called."""
        return sum(
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method
            for node in ast.walk(self.tree)
        )


def _imports(tree: ast.Module, module: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")[: -node.level]
                base = ".".join([*parents, base]).rstrip(".")
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


@lru_cache(maxsize=1)
def modules() -> tuple[Module, ...]:
    """Return every module of the three packages."""
    return tuple(Module(path) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))


def importers(imported: str) -> set[str]:
    """Return the names of the modules that import `imported` or something in it."""
    return {
        module.name
        for module in modules()
        if any(name == imported or name.startswith(f"{imported}.") for name in module.imports)
    }
