"""What each field of a record means, as the text under it in the record's class says."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType


def meanings(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the meaning of each field of `model`, those of its bases included, in one line each.

    Read from the sources, which come with the package, and only when somebody asks: workers need none of it.

    Raises:
        OSError: the sources are not there.
    """
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            found.update(_in_module(sys.modules[base.__module__]).get(base.__name__, {}))
    return found


@lru_cache
def _in_module(module: ModuleType) -> Mapping[str, Mapping[str, str]]:
    tree = ast.parse(inspect.getsource(module))
    return {node.name: dict(_under_fields(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _under_fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, text in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            yield field.target.id, " ".join(text.value.value.split())
