"""Habits that keep modules readable: short, documented, without work at import time."""

from __future__ import annotations

import ast

from tests.architecture.sources import modules

MAX_LINES = 350
#: Modules that are longer, each with the reason why splitting it would make it harder to read.
LONGER = {
    "streams.gate.entries": "everything that a turn's journal can say, in one place",
    "streams.gate.machine": "one file owns every transition of a turn",
    "topics.records": "every record that flows, in one place",
}


def test_no_module_is_long_without_a_reason() -> None:
    """A module that grows gets split, or gets its reason written down above."""
    longer = {module.name: module.lines for module in modules() if module.lines > MAX_LINES}
    assert {name: lines for name, lines in longer.items() if name not in LONGER} == {}
    assert set(LONGER) - set(longer) == set(), "these are short again: take them off the list"


def test_every_module_says_what_it_is_for() -> None:
    """At its top, and annotations are not evaluated."""
    silent = {module.name for module in modules() if not ast.get_docstring(module.tree)}
    assert silent == set()
    hasty = {module.name for module in modules() if module.tree.body[1:] and not _lazy(module.tree.body[1])}
    assert hasty == set(), "begin with: from __future__ import annotations"


def _lazy(first: ast.stmt) -> bool:
    return (
        isinstance(first, ast.ImportFrom)
        and first.module == "__future__"
        and [alias.name for alias in first.names] == ["annotations"]
    )


def test_importing_a_module_does_no_work() -> None:
    """Definitions and constants only: no loop, no `with`, no call for its effect."""
    working = {f"{module.name}:{node.lineno}" for module in modules() for node in module.tree.body if _works(node)}
    # The command line registers its commands, which is all that this module is for.
    assert {place for place in working if not place.startswith("streams.cli.app:")} == set()


def _works(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    return isinstance(node, ast.For | ast.While | ast.With | ast.AsyncFor | ast.AsyncWith)
