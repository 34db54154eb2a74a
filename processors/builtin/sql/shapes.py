"""Telling SQL from English: what a statement looks like from its first words on.

"Select one from the list" and `select one from list` differ by nothing that a parser could see. What is looked at is how
the words of a statement stand to each other (its shape), and what speaks for it being one: capitals, or signs that
nobody writes in a sentence. An article where a table should stand speaks against it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from processors.builtin.sql import reads, writes
from processors.builtin.sql.shape import Shape
from processors.builtin.sql.tokens import Budget, Words, tokens_from


def statements(text: str, budget: Budget) -> Iterator[tuple[int, Shape]]:
    """Yield where in a text something has the shape of a statement, in order.

    Raises:
        TooMuchError: the budget is spent.
    """
    for match in _STARTERS.finditer(text):
        shape = shape_at(text, match.start(), budget)
        if shape is not None:
            yield match.start(), shape


def shape_at(text: str, start: int, budget: Budget) -> Shape | None:
    """Return the shape of what begins at `start`; None if it is none of a statement's.

    Raises:
        TooMuchError: the budget is spent.
    """
    words = tokens_from(text, start, budget)
    reader = _SHAPES.get(words.lower(0))
    return reader(words) if reader is not None else None


def _explain(words: Words) -> Shape | None:
    for at in range(1, 12):
        reader = _SHAPES.get(words.lower(at))
        if reader is not None and reader is not _explain:
            return reader(words.since(at))
    return None


_SHAPES: dict[str, Callable[[Words], Shape | None]] = {
    "select": reads.select,
    "with": reads.with_,
    "insert": writes.insert,
    "replace": writes.insert,
    "update": writes.update,
    "delete": writes.delete,
    "merge": writes.merge,
    "drop": writes.drop,
    "create": writes.create,
    "alter": writes.alter,
    "truncate": writes.truncate,
    "grant": writes.grant,
    "revoke": writes.grant,
    "exec": writes.call,
    "execute": writes.call,
    "call": writes.call,
    "copy": writes.copy,
    "unload": writes.copy,
    "load": writes.load,
    "attach": writes.attach,
    "pragma": writes.pragma,
    "do": writes.do,
    "rename": writes.rename,
    "explain": _explain,
}
_STARTERS = re.compile(rf"(?<![\w$])(?:{'|'.join(_SHAPES)})(?![\w$])", re.IGNORECASE)
