"""The shapes of statements that change something."""

from __future__ import annotations

from processors.builtin.sql import wordlist
from processors.builtin.sql.reads import OPERATORS, tail_signs
from processors.builtin.sql.shape import Shape
from processors.builtin.sql.tokens import Name, Words

#: How far from its first word what belongs to a statement may stand.
_NEAR = 24
_MOST_ADJECTIVES = 5
_OBJECTS = wordlist.words(
    "table database schema view index user role function procedure proc trigger sequence type extension tablespace"
    " domain policy publication subscription server login column constraint aggregate operator rule cast event"
    " warehouse stage stream task keyspace collection synonym package"
)
_OBJECT_ADJECTIVES = wordlist.words(
    "or replace temp temporary unique external materialized global local unlogged clustered nonclustered fulltext"
    " spatial recursive virtual transient foreign event public if not exists concurrently only online"
)
_AFTER_CREATE = wordlist.words("( as on with identified ; returns language like for after before using engine from")
_AFTER_ALTER = wordlist.words(
    "add drop alter modify rename set owner column change enable disable with reset attach detach no force to ( "
    "identified password default"
)
_AFTER_DROP = wordlist.words("cascade restrict purge force on from for")


def insert(words: Words) -> Shape | None:
    """Return the shape of `INSERT INTO name ...` or `REPLACE INTO name ...`."""
    at = 1
    while words.lower(at) in {"low_priority", "delayed", "high_priority", "ignore", "or", "overwrite"}:
        at += 2 if words.lower(at) == "or" else 1
    into = words.lower(at) == "into"
    name = words.name(at + 1 if into else at)
    if name is None:
        return None
    content = {"values", "select", "default", "("}
    if not into and words.lower(name.after) not in content - {"("}:
        return None
    signs = name.signs or words.ends_or(name.after, *content)
    return Shape(writes=True, capitals=words.capitals(0, at), signs=signs, article=name.article, vague=name.file)


def update(words: Words) -> Shape | None:
    """Return the shape of `UPDATE name SET column = ...`."""
    name = words.name(2 if words.lower(1) in {"only", "low_priority", "ignore"} else 1)
    if name is None:
        return None
    place = words.find(name.after, name.after + 4, "set")
    if place is None:
        return None
    target = words.name(place + 1)
    assigned = target is not None and (words.lower(target.after) in {"=", ":", "+", "-"})
    if not assigned and words.lower(place + 1) != "(":
        return None
    return Shape(writes=True, signs=True, article=name.article)


def delete(words: Words) -> Shape | None:
    """Return the shape of `DELETE FROM name ...` and its relatives."""
    if words.lower(1) == "from":
        name = words.name(3 if words.lower(2) == "only" else 2)
        if name is None:
            return None
        signs = name.signs or tail_signs(words, name.after)
        return Shape(writes=True, capitals=words.capitals(0, 1), signs=signs, article=name.article, vague=name.file)
    name = words.name(1)
    if name is None:
        return None
    if words.lower(name.after) == "where":
        signs = words.find(name.after + 1, name.after + 6, *OPERATORS) is not None
        return Shape(writes=True, signs=signs, capitals=words.capitals(0, name.after), article=name.article, vague=True)
    if words.lower(name.after) == "from" and words.capitals(0, name.after):
        return Shape(writes=True, capitals=True, article=name.article)
    return None


def merge(words: Words) -> Shape | None:
    """Return the shape of `MERGE INTO name ...`."""
    name = words.name(2) if words.lower(1) == "into" else None
    if name is None:
        return None
    place = words.find(name.after, name.after + 4, "using")
    using = place is not None and words.find(place, place + 9, "on", "(") is not None
    return Shape(writes=True, capitals=words.capitals(0, 1), signs=name.signs or using, article=name.article)


def _object(words: Words) -> int | None:
    """Return where, after the first word, the kind of a database's object stands."""
    at = 1
    while words.lower(at) in _OBJECT_ADJECTIVES and at <= _MOST_ADJECTIVES:
        at += 1
    return at if words.lower(at) in _OBJECTS else None


def _name_of_object(words: Words, kind: int) -> Name | None:
    at = kind + 1
    while words.lower(at) in {"if", "not", "exists", "concurrently", "only"}:
        at += 1
    return words.name(at)


def drop(words: Words) -> Shape | None:
    """Return the shape of `DROP TABLE name` and the like."""
    kind = _object(words)
    name = _name_of_object(words, kind) if kind is not None else None
    if kind is None or name is None:
        return None
    signs = name.signs or words.ends_or(name.after) or words.lower(kind + 1) == "if"
    # "Drop table saws": a noun of two words.
    noun = words.is_word(name.after) and words.lower(name.after) not in _AFTER_DROP
    return Shape(writes=True, capitals=words.capitals(0, kind), signs=signs, article=name.article, vague=noun)


def create(words: Words) -> Shape | None:
    """Return the shape of `CREATE TABLE name ...` and the like."""
    kind = _object(words)
    name = _name_of_object(words, kind) if kind is not None else None
    if kind is None or name is None or not (words.ends_or(name.after, *_AFTER_CREATE) or words.capitals(0, kind)):
        return None
    signs = name.signs or words.ends_or(name.after, "(") or words.lower(kind + 1) == "if"
    return Shape(writes=True, capitals=words.capitals(0, kind), signs=signs, article=name.article)


def alter(words: Words) -> Shape | None:
    """Return the shape of `ALTER TABLE name ...` and the like."""
    if words.lower(1) in {"system", "session"} and words.lower(2) == "set":
        return Shape(writes=True, signs=True)
    kind = _object(words)
    name = _name_of_object(words, kind) if kind is not None else None
    if kind is None or name is None or not words.ends_or(name.after, *_AFTER_ALTER):
        return None
    return Shape(writes=True, capitals=words.capitals(0, kind), signs=name.signs, article=name.article)


def truncate(words: Words) -> Shape | None:
    """Return the shape of `TRUNCATE name`."""
    table = words.lower(1) == "table"
    name = words.name(2 if table else 1)
    if name is None:
        return None
    signs = name.signs or words.ends_or(name.after)
    return Shape(writes=True, capitals=words.capitals(0), signs=signs, article=name.article, vague=not table)


def grant(words: Words) -> Shape | None:
    """Return the shape of `GRANT ... TO ...` or `REVOKE ... FROM ...`."""
    to = {"grant": "to", "revoke": "from"}[words.lower(0)]
    on = words.find(2, 16, "on")
    place = words.find(2, _NEAR, to)
    if place is None:
        return None
    return Shape(writes=True, capitals=words.capitals(0, on or place, place), vague=True)


def call(words: Words) -> Shape | None:
    """Return the shape of `EXEC name ...` or `CALL name(...)`."""
    name = words.name(1)
    if name is None:
        return None
    system = words.lower(1).startswith(("xp_", "sp_"))
    argument = words.lower(name.after) in {"'", "@", "(", ";"} and (words.capitals(0) or name.signs)
    return Shape(writes=True, capitals=False, signs=system or argument, article=name.article, vague=True)


def copy(words: Words) -> Shape | None:
    """Return the shape of `COPY name TO ...`."""
    if words.lower(1) == "(":
        return Shape(writes=True, signs=words.lower(2) in {"select", "with", "values", "table"}, vague=True)
    name = words.name(1)
    if name is None:
        return None
    at = name.after
    if words.lower(at) == "(":
        at = (words.find(at, _NEAR, ")") or at) + 1
    if words.lower(at) not in {"from", "to", "into"}:
        return None
    target = words.lower(at + 1) in {"program", "stdin", "stdout", "'"}
    return Shape(writes=True, capitals=words.capitals(0, at), signs=target, article=name.article, vague=True)


def load(words: Words) -> Shape | None:
    """Return the shape of `LOAD DATA INFILE ...`."""
    if words.lower(1) == "data" and words.find(2, 6, "infile", "inpath") is not None:
        return Shape(writes=True, signs=True)
    return None


def attach(words: Words) -> Shape | None:
    """Return the shape of `ATTACH 'file' AS name`."""
    at = 2 if words.lower(1) in {"database", "partition"} else 1
    quoted = words.lower(at) in {"'", '"'} and words.find(at, at + 12, "as") is not None
    return Shape(writes=True, capitals=words.capitals(0, 1) and at > 1, signs=quoted, vague=True)


def pragma(words: Words) -> Shape | None:
    """Return the shape of `PRAGMA name = ...`."""
    name = words.name(1)
    if name is None or words.lower(name.after) not in {"=", "("}:
        return None
    return Shape(writes=True, capitals=words.capitals(0), signs=name.signs, vague=True)


def do(words: Words) -> Shape | None:
    """Return the shape of `DO $$ ...`."""
    return Shape(writes=True, signs=True) if words.lower(1) == "$" and words.touches(2) else None


def rename(words: Words) -> Shape | None:
    """Return the shape of `RENAME TABLE name TO ...`."""
    name = words.name(2) if words.lower(1) == "table" else None
    if name is None or words.lower(name.after) != "to":
        return None
    return Shape(writes=True, capitals=words.capitals(0, 1), signs=name.signs, article=name.article)
