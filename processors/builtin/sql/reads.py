"""The shapes of statements that read."""

from __future__ import annotations

from processors.builtin.sql.shape import Shape
from processors.builtin.sql.tokens import ARTICLES, FILE_ENDINGS, MOST_TOKENS, Words

OPERATORS = frozenset("=<>!~")


def select(words: Words) -> Shape | None:
    """Return the shape of `SELECT ...`, with a FROM or without."""
    first = 1
    while words.lower(first) in {"distinct", "all", "top"} or (
        words.lower(first - 1) == "top" and words.lower(first).isdigit()
    ):
        first += 1
    source = _source(words, first)
    if source is None:
        return _select_without_from(words, first)
    listed = _list_signs(words, first, source)
    capitals = words.capitals(0, source)
    opens = words.lower(source + 1)
    if opens in {"(", "'"}:
        inner = opens == "(" and words.lower(source + 2) in {"select", "with", "values", "("}
        return Shape(writes=False, capitals=capitals, signs=inner or listed, reach=words.end(source + 2))
    table = words.name(source + 1)
    if table is None:
        return Shape(writes=False, capitals=True, reach=words.end(source + 1)) if capitals and listed else None
    return Shape(
        writes=False,
        capitals=capitals,
        signs=listed or table.signs or tail_signs(words, table.after),
        article=table.article or (words.lower(first) in ARTICLES and not listed),
        vague=table.file,
        reach=words.end(table.after),
    )


def _source(words: Words, first: int) -> int | None:
    """Return where the FROM of a SELECT is; one within brackets only if both are in capitals and there is no other."""
    depth = 0
    at = first
    inner: int | None = None
    while (token := words.get(at)) is not None:
        text = token.lower
        depth += {"(": 1, ")": -1}.get(text, 0)
        full_stop = text == "." and words.get(at + 1) is not None and not words.touches(at + 1)
        if depth < 0:
            return None
        if text == ";" or full_stop or (text == "select" and depth == 0):
            break
        if text == "from" and at > first:
            if depth == 0:
                return at
            inner = inner or at
        at += 1
    return inner if inner is not None and words.capitals(0, inner) else None


def _select_without_from(words: Words, first: int) -> Shape | None:
    call = words.is_word(first) and words.lower(first + 1) == "(" and words.touches(first + 1)
    if call and words.lower(first + 2) not in {"s", "es"}:
        return Shape(writes=False, capitals=words.capitals(0), signs=True, reach=words.end(first + 2))
    if words.capitals(0) and (words.lower(first)[:1].isdigit() or words.lower(first) in {"'", "@", "*", "("}):
        return Shape(writes=False, capitals=True, reach=words.end(first + 1))
    return None


def _list_signs(words: Words, first: int, source: int) -> bool:
    """Tell whether something among what is selected is never written in a sentence."""
    for at in range(first, source):
        text = words.lower(at)
        if text == "*" and (at == first or words.lower(at - 1) in {",", "."}):
            return True
        if words.is_word(at):
            dotted = words.lower(at + 1) == "." and words.touches(at + 1) and words.touches(at + 2)
            called = words.lower(at + 1) == "(" and words.touches(at + 1) and words.lower(at + 2) not in {"s", "es"}
            if "_" in text or called or (dotted and words.lower(at + 2) not in FILE_ENDINGS):
                return True
    return False


def tail_signs(words: Words, at: int) -> bool:
    """Tell whether what follows a table is never written in a sentence."""
    for where in range(at, at + 12):
        text = words.lower(where)
        if text in {";", ".", ""}:
            return text == ";" and where <= at + 1
        if text == "where" and words.find(where + 1, where + 6, *OPERATORS) is not None:
            return True
        if text == "where" and words.is_word(where + 1) and words.lower(where + 2) in {"like", "in", "is", "between"}:
            return True
        if text in {"limit", "offset"} and words.lower(where + 1).isdigit():
            return True
    return False


def with_(words: Words) -> Shape | None:
    """Return the shape of `WITH name AS (...) ...`."""
    at = 2 if words.lower(1) == "recursive" else 1
    name = words.name(at)
    if name is None:
        return None
    at = name.after
    if words.lower(at) == "(":
        close = words.find(at, MOST_TOKENS, ")")
        if close is None:
            return None
        at = close + 1
    if words.lower(at) != "as":
        return None
    at += 1
    while words.lower(at) in {"not", "materialized"}:
        at += 1
    inner = {"select", "with", "values", "insert", "update", "delete", "merge", "table", "("}
    found = words.lower(at) == "(" and words.lower(at + 1) in inner
    return Shape(writes=False, signs=True, reach=words.end(at + 2)) if found else None
