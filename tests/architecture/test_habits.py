"""Habits that keep modules readable: short, documented, without work at import time."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.sources import Module, modules

MAX_LINES = 350
#: Modules that are longer, each with the reason why splitting it would make it harder to read.
LONGER = {
    "streams.gate.machine": "every transition of a turn stands in one file, with the theory of operation at its top",
    "streams.turns.desk": "the plan for every kind of input to a partition; its parts share the turns' states",
    "streams.chains.process": "the life of child processes, whose states only make sense together",
    "processors.declare": "one declaration for four kinds; their checks share what they say",
}


def test_no_module_is_long_without_a_reason() -> None:
    """A module that grows gets split, or gets its reason written down above."""
    longer = {module.name: module.lines for module in modules() if module.lines > MAX_LINES}
    assert {name: lines for name, lines in longer.items() if name not in LONGER} == {}
    assert set(LONGER) - set(longer) == set(), "these are short again: take them off the list"


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_a_module_says_what_it_is_for(module: Module) -> None:
    """At its top, and annotations are not evaluated."""
    assert ast.get_docstring(module.tree)
    body = module.tree.body[1:]
    if body:
        first = body[0]
        assert isinstance(first, ast.ImportFrom), "from __future__ import annotations comes first"
        assert first.module == "__future__"
        assert first.names[0].name == "annotations"


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_importing_a_module_does_no_work(module: Module) -> None:
    """Definitions and constants only: no loop, no `with`, no call for its effect."""
    working = (ast.For, ast.While, ast.With, ast.AsyncFor, ast.AsyncWith)
    for node in module.tree.body:
        assert not isinstance(node, working), f"line {node.lineno}"
        if isinstance(node, ast.Expr):
            assert isinstance(node.value, ast.Constant), f"line {node.lineno}: a call at import time"
