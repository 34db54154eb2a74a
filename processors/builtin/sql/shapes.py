"""Telling SQL from English: what a statement looks like from its first words on.

"Select one from the list" and `select one from list` differ by nothing that a parser could see. What is looked at is how
the words of a statement stand to each other (its shape), and what speaks for it being one: capitals, or signs that
nobody writes in a sentence. An article where a table should stand speaks against it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

_TOKEN = re.compile(r"(?P<word>[^\W\d][\w$]*)|(?P<number>\d\w*)|(?P<symbol>\S)")
_MOST_TOKENS = 160
_FEW_TOKENS = 24

_ARTICLES = frozenset(
    "the your my our their his her its this that these those an any each every both another which here there us it them"
    " among between all".split()
)
#: What may follow a table called `a`.
_AFTER_TABLE = frozenset(
    "where set values select as join inner left right full cross on order group having limit using union add drop"
    " rename cascade if exists".split()
)
_FILE_ENDINGS = frozenset(
    "py json yaml yml toml txt md js ts tsx jsx html css csv xml ini cfg conf log pdf docx xlsx exe sh java go rs c h"
    " png jpg com org net io".split()
)
_OBJECTS = frozenset(
    "table database schema view index user role function procedure proc trigger sequence type extension tablespace"
    " domain policy publication subscription server login column constraint aggregate operator rule cast event"
    " warehouse stage stream task keyspace collection synonym package".split()
)
_OBJECT_ADJECTIVES = frozenset(
    "or replace temp temporary unique external materialized global local unlogged clustered nonclustered fulltext"
    " spatial recursive virtual transient foreign event public if not exists concurrently only online".split()
)
_AFTER_CREATE = frozenset("( as on with identified ; returns language like for after before using engine from".split())
_AFTER_ALTER = frozenset(
    "add drop alter modify rename set owner column change enable disable with reset attach detach no force to ( "
    "identified password default".split()
)
_OPERATORS = frozenset("=<>!~")
_QUOTES = {'"': '"', "`": "`", "[": "]"}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number or a single sign, and where it stands."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        """The text in lower case."""
        return self.text.lower()


@dataclass(frozen=True, slots=True)
class Shape:
    """A statement that may begin here.

    `writes` tells that it is no query. `capitals` and `signs` speak for SQL, `article` against. `vague` is what other
    languages write too: only capitals or signs make SQL of it, wherever it stands.
    """

    writes: bool
    capitals: bool = False
    signs: bool = False
    article: bool = False
    vague: bool = False

    def in_prose(self) -> bool:
        """Tell whether this is SQL in the middle of sentences."""
        return not self.article and (self.capitals or self.signs)

    def as_a_whole(self, first: str) -> bool:
        """Tell whether this is SQL where it is all that stands there; `first` is its first word as written."""
        if self.article or self.vague:
            return self.in_prose()
        return self.writes or self.capitals or self.signs or not first.istitle()


@dataclass(slots=True)
class _Name:
    """A name that may be a table's."""

    after: int
    signs: bool = False
    article: bool = False


@dataclass(slots=True)
class _Words:
    """The tokens from a statement's first word on."""

    tokens: list[Token] = field(default_factory=list)

    def lower(self, at: int) -> str:
        """Return a token's text in lower case, "" past the end."""
        return self.tokens[at].lower if 0 <= at < len(self.tokens) else ""

    def is_word(self, at: int) -> bool:
        """Tell whether there is a word."""
        return 0 <= at < len(self.tokens) and self.tokens[at].kind == "word"

    def capitals(self, *places: int) -> bool:
        """Tell whether all these words are in capitals."""
        return all(self.is_word(at) and self.tokens[at].text.isupper() for at in places)

    def touches(self, at: int) -> bool:
        """Tell whether a token follows the one before it with nothing between."""
        return 0 < at < len(self.tokens) and self.tokens[at].start == self.tokens[at - 1].end

    def name(self, at: int) -> _Name | None:
        """Return the name that begins at a token, with all its parts; None if none does."""
        signs = False
        first = self.lower(at)
        parts = 0
        while True:
            if self.lower(at) in _QUOTES:
                close = _QUOTES[self.lower(at)]
                end = next((i for i in range(at + 1, min(at + 9, len(self.tokens))) if self.lower(i) == close), None)
                if end is None:
                    return None
                signs, at = True, end + 1
            elif self.is_word(at):
                signs = signs or "_" in self.lower(at)
                at += 1
            elif self.lower(at) in {"@", "#"} and self.is_word(at + 1):
                signs, at = True, at + 2
            else:
                return None
            parts += 1
            if not (self.lower(at) == "." and self.touches(at) and self.touches(at + 1)):
                break
            signs = signs or self.lower(at + 1) not in _FILE_ENDINGS
            at += 1
        article = parts == 1 and (
            first in _ARTICLES or (first == "a" and self.is_word(at) and self.lower(at) not in _AFTER_TABLE)
        )
        return _Name(at, signs, article)

    def ends_or(self, at: int, *texts: str) -> bool:
        """Tell whether a token is one of these, or a semicolon."""
        return self.lower(at) in {";", *texts}


def comments_blanked(text: str) -> str:
    """Return a text of the same length with spaces in place of SQL's comments."""
    out: list[str] = []
    place = 0
    while True:
        starts = [at for at in (text.find("/*", place), text.find("--", place)) if at >= 0]
        if not starts:
            return "".join([*out, text[place:]])
        start = min(starts)
        end = text.find("*/", start + 2) + 2 if text[start] == "/" else _line_end(text, start)
        if end < start + 2:
            end = start + 2
        out += [text[place:start], " " * (end - start)]
        place = end


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def statements(text: str) -> Iterator[tuple[int, Shape]]:
    """Yield where in a text something has the shape of a statement, in order."""
    for match in _STARTERS.finditer(text):
        shape = shape_at(text, match.start())
        if shape is not None:
            yield match.start(), shape


def shape_at(text: str, start: int) -> Shape | None:
    """Return the shape of what begins at `start`; None if it is none of a statement's."""
    match = _TOKEN.match(text, start)
    if match is None:
        return None
    reader = _SHAPES.get(match.group().lower())
    if reader is None:
        return None
    count = _MOST_TOKENS if reader is _select else _FEW_TOKENS
    found = (Token(one.lastgroup or "", one.group(), one.start(), one.end()) for one in _TOKEN.finditer(text, start))
    return reader(_Words(list(islice(found, count))))


# -- one statement each -----------------------------------------------------------------------------------------------


def _select(words: _Words) -> Shape | None:
    first = 1
    while words.lower(first) in {"distinct", "all", "top"} or (
        words.lower(first - 1) == "top" and words.lower(first).isdigit()
    ):
        first += 1
    source = _source(words, first)
    if source is None:
        return _select_without_from(words, first)
    listed = _list_signs(words, first, source)
    if words.lower(source + 1) == "(":
        inner = words.lower(source + 2) in {"select", "with", "values", "("}
        return Shape(writes=False, capitals=words.capitals(0, source), signs=inner or listed)
    if words.lower(source + 1) == "'":
        return Shape(writes=False, capitals=words.capitals(0, source), signs=listed)
    table = words.name(source + 1)
    if table is None:
        return Shape(writes=False, capitals=True) if words.capitals(0, source) and listed else None
    return Shape(
        writes=False,
        capitals=words.capitals(0, source),
        signs=listed or table.signs or _tail_signs(words, table.after),
        article=table.article or (words.lower(first) in _ARTICLES and not listed),
    )


def _source(words: _Words, first: int) -> int | None:
    """Return where the FROM of a SELECT is."""
    depth = 0
    for at in range(first, len(words.tokens)):
        text = words.lower(at)
        depth += {"(": 1, ")": -1}.get(text, 0)
        full_stop = text == "." and at + 1 < len(words.tokens) and not words.touches(at + 1)
        if text == ";" or full_stop or depth < 0:
            return None
        if text == "from" and depth == 0 and at > first:
            return at
    return None


def _select_without_from(words: _Words, first: int) -> Shape | None:
    call = words.is_word(first) and words.lower(first + 1) == "(" and words.touches(first + 1)
    if call and words.lower(first + 2) not in {"s", "es"}:
        return Shape(writes=False, capitals=words.capitals(0), signs=True)
    if words.capitals(0) and (words.lower(first)[:1].isdigit() or words.lower(first) in {"'", "@", "*", "("}):
        return Shape(writes=False, capitals=True)
    return None


def _list_signs(words: _Words, first: int, source: int) -> bool:
    """Tell whether something among what is selected is never written in a sentence."""
    for at in range(first, source):
        text = words.lower(at)
        if text == "*" and (at == first or words.lower(at - 1) in {",", "."}):
            return True
        if words.is_word(at):
            dotted = words.lower(at + 1) == "." and words.touches(at + 1) and words.touches(at + 2)
            called = words.lower(at + 1) == "(" and words.touches(at + 1) and words.lower(at + 2) not in {"s", "es"}
            if "_" in text or called or (dotted and words.lower(at + 2) not in _FILE_ENDINGS):
                return True
    return False


def _tail_signs(words: _Words, at: int) -> bool:
    """Tell whether what follows a table is never written in a sentence."""
    if words.lower(at) == ";":
        return True
    for where in range(at, min(at + 12, len(words.tokens))):
        text = words.lower(where)
        if text == "where" and any(words.lower(i) in _OPERATORS for i in range(where + 1, where + 6)):
            return True
        if text == "where" and words.is_word(where + 1) and words.lower(where + 2) in {"like", "in", "is", "between"}:
            return True
        if text in {"limit", "offset"} and words.lower(where + 1).isdigit():
            return True
        if text in {";", "."}:
            break
    return words.ends_or(at + 1)


def _with(words: _Words) -> Shape | None:
    at = 2 if words.lower(1) == "recursive" else 1
    name = words.name(at)
    if name is None:
        return None
    at = name.after
    if words.lower(at) == "(":
        close = next((i for i in range(at, len(words.tokens)) if words.lower(i) == ")"), None)
        if close is None:
            return None
        at = close + 1
    if words.lower(at) != "as":
        return None
    at += 1
    while words.lower(at) in {"not", "materialized"}:
        at += 1
    inner = {"select", "with", "values", "insert", "update", "delete", "merge", "table", "("}
    return Shape(writes=False, signs=True) if words.lower(at) == "(" and words.lower(at + 1) in inner else None


def _insert(words: _Words) -> Shape | None:
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
    return Shape(writes=True, capitals=words.capitals(0, at), signs=signs, article=name.article)


def _update(words: _Words) -> Shape | None:
    name = words.name(2 if words.lower(1) in {"only", "low_priority", "ignore"} else 1)
    if name is None:
        return None
    place = next((i for i in range(name.after, min(name.after + 4, len(words.tokens))) if words.lower(i) == "set"), None)
    if place is None:
        return None
    if words.lower(place + 1) == "(":
        return Shape(writes=True, signs=True)
    target = words.name(place + 1)
    assigned = target is not None and (words.lower(target.after) in {"=", ":", "+", "-"})
    return Shape(writes=True, signs=True) if assigned else None


def _delete(words: _Words) -> Shape | None:
    if words.lower(1) == "from":
        name = words.name(3 if words.lower(2) == "only" else 2)
        if name is None:
            return None
        signs = name.signs or _tail_signs(words, name.after)
        return Shape(writes=True, capitals=words.capitals(0, 1), signs=signs, article=name.article)
    name = words.name(1)
    if name is None:
        return None
    if words.lower(name.after) == "where":
        signs = any(words.lower(i) in _OPERATORS for i in range(name.after + 1, name.after + 6))
        return Shape(writes=True, signs=signs, capitals=words.capitals(0, name.after), article=name.article, vague=True)
    if words.lower(name.after) == "from" and words.capitals(0, name.after):
        return Shape(writes=True, capitals=True, article=name.article)
    return None


def _merge(words: _Words) -> Shape | None:
    name = words.name(2) if words.lower(1) == "into" else None
    if name is None:
        return None
    using = any(words.lower(i) == "using" for i in range(name.after, name.after + 4))
    return Shape(writes=True, capitals=words.capitals(0, 1), signs=name.signs or using, article=name.article)


def _object(words: _Words) -> int | None:
    """Return where, after the first word, the kind of a database's object stands."""
    at = 1
    while words.lower(at) in _OBJECT_ADJECTIVES and at < 6:
        at += 1
    return at if words.lower(at) in _OBJECTS else None


def _name_of_object(words: _Words, kind: int) -> _Name | None:
    at = kind + 1
    while words.lower(at) in {"if", "not", "exists", "concurrently", "only"}:
        at += 1
    return words.name(at)


def _drop(words: _Words) -> Shape | None:
    kind = _object(words)
    name = _name_of_object(words, kind) if kind is not None else None
    if kind is None or name is None:
        return None
    signs = name.signs or words.ends_or(name.after) or words.lower(kind + 1) == "if"
    return Shape(writes=True, capitals=words.capitals(0, kind), signs=signs, article=name.article)


def _create(words: _Words) -> Shape | None:
    kind = _object(words)
    name = _name_of_object(words, kind) if kind is not None else None
    if kind is None or name is None or not (words.ends_or(name.after, *_AFTER_CREATE) or words.capitals(0, kind)):
        return None
    signs = name.signs or words.ends_or(name.after, "(") or words.lower(kind + 1) == "if"
    return Shape(writes=True, capitals=words.capitals(0, kind), signs=signs, article=name.article)


def _alter(words: _Words) -> Shape | None:
    if words.lower(1) in {"system", "session"} and words.lower(2) == "set":
        return Shape(writes=True, signs=True)
    kind = _object(words)
    name = _name_of_object(words, kind) if kind is not None else None
    if kind is None or name is None or not words.ends_or(name.after, *_AFTER_ALTER):
        return None
    return Shape(writes=True, capitals=words.capitals(0, kind), signs=name.signs, article=name.article)


def _truncate(words: _Words) -> Shape | None:
    table = words.lower(1) == "table"
    name = words.name(2 if table else 1)
    if name is None:
        return None
    signs = name.signs or words.ends_or(name.after)
    return Shape(writes=True, capitals=words.capitals(0), signs=signs, article=name.article, vague=not table)


def _grant(words: _Words) -> Shape | None:
    to = {"grant": "to", "revoke": "from"}[words.lower(0)]
    on = next((i for i in range(2, 16) if words.lower(i) == "on"), None)
    place = next((i for i in range(2, len(words.tokens)) if words.lower(i) == to), None)
    if place is None:
        return None
    return Shape(writes=True, capitals=words.capitals(0, on or place, place), vague=True)


def _call(words: _Words) -> Shape | None:
    name = words.name(1)
    if name is None:
        return None
    system = words.lower(1).startswith(("xp_", "sp_"))
    argument = words.lower(name.after) in {"'", "@", "(", ";"} and (words.capitals(0) or name.signs)
    return Shape(writes=True, capitals=False, signs=system or argument, article=name.article, vague=True)


def _copy(words: _Words) -> Shape | None:
    if words.lower(1) == "(":
        return Shape(writes=True, signs=words.lower(2) in {"select", "with", "values", "table"}, vague=True)
    name = words.name(1)
    if name is None:
        return None
    at = name.after
    if words.lower(at) == "(":
        at = next((i + 1 for i in range(at, len(words.tokens)) if words.lower(i) == ")"), at)
    if words.lower(at) not in {"from", "to", "into"}:
        return None
    target = words.lower(at + 1) in {"program", "stdin", "stdout", "'"}
    return Shape(writes=True, capitals=words.capitals(0, at), signs=target, article=name.article, vague=True)


def _load(words: _Words) -> Shape | None:
    infile = any(words.lower(i) in {"infile", "inpath"} for i in range(2, 6))
    if words.lower(1) == "data" and infile:
        return Shape(writes=True, signs=True)
    return None


def _attach(words: _Words) -> Shape | None:
    at = 2 if words.lower(1) in {"database", "partition"} else 1
    quoted = words.lower(at) in {"'", '"'} and any(words.lower(i) == "as" for i in range(at, at + 12))
    return Shape(writes=True, capitals=words.capitals(0, 1) and at > 1, signs=quoted, vague=True)


def _pragma(words: _Words) -> Shape | None:
    name = words.name(1)
    if name is None or words.lower(name.after) not in {"=", "("}:
        return None
    return Shape(writes=True, capitals=words.capitals(0), signs=name.signs, vague=True)


def _do(words: _Words) -> Shape | None:
    return Shape(writes=True, signs=True) if words.lower(1) == "$" and words.touches(2) else None


def _rename(words: _Words) -> Shape | None:
    name = words.name(2) if words.lower(1) == "table" else None
    if name is None or words.lower(name.after) != "to":
        return None
    return Shape(writes=True, capitals=words.capitals(0, 1), signs=name.signs, article=name.article)


def _explain(words: _Words) -> Shape | None:
    for at in range(1, min(len(words.tokens), 12)):
        reader = _SHAPES.get(words.lower(at))
        if reader not in {None, _explain}:
            return reader(_Words(words.tokens[at:])) if reader is not None else None
    return None


_SHAPES: dict[str, Callable[[_Words], Shape | None]] = {
    "select": _select,
    "with": _with,
    "insert": _insert,
    "replace": _insert,
    "update": _update,
    "delete": _delete,
    "merge": _merge,
    "drop": _drop,
    "create": _create,
    "alter": _alter,
    "truncate": _truncate,
    "grant": _grant,
    "revoke": _grant,
    "exec": _call,
    "execute": _call,
    "call": _call,
    "copy": _copy,
    "unload": _copy,
    "load": _load,
    "attach": _attach,
    "pragma": _pragma,
    "do": _do,
    "rename": _rename,
    "explain": _explain,
}
_STARTERS = re.compile(rf"(?<![\w$])(?:{'|'.join(_SHAPES)})(?![\w$])", re.IGNORECASE)
