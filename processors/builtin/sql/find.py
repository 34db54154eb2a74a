"""Finding the SQL in a text, wherever it stands, and having it judged.

What is marked as SQL (a fence labelled so, a key called `sql`) is judged as a whole and must be readable. What stands by
itself (another fence, inline code, a string in JSON) is judged as a whole if it has a statement's shape. In sentences a
statement is judged up to where its grammar ends. The same is done for the text with its escapes undone, for SQL in JSON
in a sentence, and, as far as writing statements go, for the text as it is meant to look.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from processors.builtin.sql.shapes import Shape, comments_blanked, shape_at, statements
from processors.patterns.folding import fold

TOO_MUCH = "too-much-sql"
_UNREADABLE = "unreadable-sql"
_WRITES = "not-read-only"
_SEVERAL = "several-statements"

#: Judges a piece of SQL: the rule it breaks, or None.
Judge = Callable[[str], str | None]

_MAX_DEPTH = 5
_MAX_JUDGED = 2_000
_MAX_WORDS = 200
_MAX_STATEMENTS = 5_000

_SQL_LABEL = re.compile(r"^(?:\w*sql\w*|ddl|dml|cypher-sql|psql|hql|prql-sql|sqlite3?|duckdb|bigquery|snowflake|redshift)$", re.I)
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*\{?\.?([\w+#.-]*)")
_INLINE = re.compile(r"(?<!`)(`{1,2})(?!`)([^`]+)\1(?!`)")
_QUERY_KEY = re.compile(r"^(?:quer(?:y|ies)|statements?|stmts?|commands?|expression)$", re.IGNORECASE)
_SQL_KEY = re.compile(r"sql|ddl|dml", re.IGNORECASE)
_PAIR = re.compile(r'"((?:[^"\\\n]|\\.){1,60})"\s*:\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}
_LEADING = re.compile(r"[\s(;]*")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_WORD_END = re.compile(r"[^\s]+")
_PUNCTUATION = ".,:!?)\"'`]*_"
_NEXT = re.compile(r"\s*([^\W\d]\w*|\S)\s*([^\W\d]\w*)?")
#: What goes on with a statement: where a parser stops before one of these, it did not understand it.
_GOES_ON = frozenset(
    "FROM WHERE INTO FOR UNION INTERSECT EXCEPT MINUS LIMIT OFFSET FETCH GROUP ORDER HAVING JOIN ON USING SET VALUES WINDOW"
    " QUALIFY PROCEDURE LOCK RETURNING WITH TABLE SELECT".split()
)
_GOES_ON_ANYWAY = frozenset({"into", "union", "intersect", "except"})
_LOCKING = frozenset({"update", "share", "no", "key"})


class Finder:
    """Goes through the texts of one answer; what it may have judged is limited."""

    def __init__(self, judge: Judge) -> None:
        self._judge_one = judge
        self._judged = 0
        self._seen = 0

    def text(self, text: str) -> str | None:
        """Return the first rule that SQL in a text breaks, None if none does."""
        return self._text(text, 0)

    def json(self, text: str) -> str | None:
        """Return the first rule that SQL in a JSON text breaks; what is no JSON is read as a text."""
        return self._json(text, 0) if _is_json(text) else self._text(text, 0)

    # -- by where it stands -------------------------------------------------------------------------------------------

    def _text(self, text: str, depth: int) -> str | None:
        if depth > _MAX_DEPTH:
            return TOO_MUCH if any(True for _ in statements(text)) else None
        rest = text
        for block in _fences(text):
            rule = self._block(block, depth)
            if rule is not None:
                return rule
            if block.is_sql or self._is_sql(block.content):
                rest = _without(rest, block.start, block.end)
        for inline in list(_INLINE.finditer(rest)):
            if self._is_sql(inline[2]):
                rule = self._judge(inline[2])
                if rule is not None:
                    return rule
                rest = _without(rest, *inline.span())
        if self._is_sql(rest):
            # All there is begins as a statement; what follows it may be prose.
            rule = self._statement(rest, _LEADING.match(rest).end())  # type: ignore[union-attr] # matches anything
            if rule is not None:
                return rule
        return self._json_in(rest, depth) or self._views(rest, depth)

    def _block(self, block: _Block, depth: int) -> str | None:
        if block.is_sql or self._is_sql(block.content):
            return self._judge(block.content)
        return self._json(block.content, depth + 1) if _is_json(block.content) else None

    def _json_in(self, text: str, depth: int) -> str | None:
        if _is_json(text):
            return self._json(text, depth + 1)
        for pair in _PAIR.finditer(text):
            rule = self._string(_unescaped(pair[1]), _unescaped(pair[2]), depth + 1)
            if rule is not None:
                return rule
        return None

    def _json(self, text: str, depth: int) -> str | None:
        try:
            # As pairs: of a key that is there twice, some readers take the one and some the other.
            found = json.loads(text, object_pairs_hook=_Pairs)
            strings = list(_strings(found, ""))
        except (ValueError, RecursionError):
            return self._text(text, depth + 1)
        for key, string in strings:
            rule = self._string(key, string, depth)
            if rule is not None:
                return rule
        return None

    def _string(self, key: str, string: str, depth: int) -> str | None:
        if _SQL_KEY.search(key) is not None and string.strip():
            return self._judge(string)
        if _QUERY_KEY.match(key) is not None and self._is_sql(string):
            return self._judge(string)
        return self._text(string, depth + 1)

    def _views(self, text: str, depth: int) -> str | None:
        rule = self._prose(text)
        if rule is not None:
            return rule
        if "\\" in text:
            plain = _unescaped(text)
            rule = self._text(plain, depth + 1) if plain != text else None
            if rule is not None:
                return rule
        if not text.isascii():
            meant = fold(text).text
            if meant != text and any(shape.writes and shape.in_prose() for _, shape in self._statements(meant)):
                return _WRITES
        return None

    # -- sentences ----------------------------------------------------------------------------------------------------

    def _prose(self, text: str) -> str | None:
        """Judge the statements in a text, those with comments between their words too."""
        places = {start: shape for start, shape in self._statements(text) if shape.in_prose()}
        if "/*" in text or "--" in text:
            blanked = self._statements(comments_blanked(text))
            places |= {start: shape for start, shape in blanked if shape.in_prose()}
        if self._seen > _MAX_STATEMENTS:
            return TOO_MUCH
        done = 0
        for start in sorted(places):
            if start < done:
                continue
            if places[start].writes:
                return _WRITES
            end, rule = self._extent(text, start)
            if rule is not None:
                return rule
            done = end
        return None

    def _statements(self, text: str) -> Iterator[tuple[int, Shape]]:
        for found in statements(text):
            self._seen += 1
            if self._seen > _MAX_STATEMENTS:
                return
            yield found

    def _statement(self, text: str, start: int) -> str | None:
        """Judge a statement that a text begins with."""
        shape = shape_at(comments_blanked(text), start)
        if shape is not None and shape.writes:
            return _WRITES
        return self._extent(text, start)[1]

    def _extent(self, text: str, start: int) -> tuple[int, str | None]:
        """Return where a query in a text ends, and the rule it breaks if it does."""
        blank = _BLANK_LINE.search(text, start)
        region = text[start : len(text) if blank is None else blank.start()]
        semicolon = _semicolon(region)
        if semicolon is not None:
            following = region[semicolon + 1 :]
            region = region[:semicolon]
            after = comments_blanked(following)
            shape = shape_at(after, len(after) - len(after.lstrip()))
            if shape is not None and shape.as_a_whole(after.split(maxsplit=1)[0]):
                return start, _SEVERAL
        for end in _ends(text, start, region):
            rule = self._judge(region[:end])
            if rule != _UNREADABLE:
                return start + end, rule or (_UNREADABLE if _goes_on(region[end:]) else None)
        return start, _UNREADABLE

    # -- what is SQL --------------------------------------------------------------------------------------------------

    def _is_sql(self, text: str) -> bool:
        """Tell whether all of a text, or its beginning, has a statement's shape."""
        plain = comments_blanked(text)
        start = _LEADING.match(plain).end()  # type: ignore[union-attr] # matches anything
        shape = shape_at(plain, start)
        return shape is not None and shape.as_a_whole(re.split(r"\W", plain[start:], maxsplit=1)[0])

    def _judge(self, sql: str) -> str | None:
        self._judged += 1
        return self._judge_one(sql) if self._judged <= _MAX_JUDGED else TOO_MUCH


# -- fences -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Block:
    """What stands in a fence, and where the whole of it is."""

    start: int
    end: int
    content: str
    is_sql: bool


def _fences(text: str) -> Iterator[_Block]:
    """Yield the fences of a text; the last one may have no end.

    Wherever a mark is labelled SQL a block begins, in other blocks too: those who take SQL out of an answer look for
    that and nothing else.
    """
    marks = list(_FENCE.finditer(text))
    opened: re.Match[str] | None = None
    for mark in marks:
        if opened is None or _SQL_LABEL.match(mark[2]) is not None:
            if opened is not None:
                yield _block(text, opened, mark.start(), mark.start())
            opened = mark
        elif mark[1][0] == opened[1][0] and not mark[2]:
            yield _block(text, opened, mark.start(), mark.end())
            opened = None
    if opened is not None:
        yield _block(text, opened, len(text), len(text))


def _block(text: str, mark: re.Match[str], close: int, end: int) -> _Block:
    is_sql = _SQL_LABEL.match(mark[2]) is not None
    # Without a label the words behind the mark are content; behind a label on the same line they may be too.
    return _Block(mark.start(), end, text[mark.end() : close], is_sql)


def _without(text: str, start: int, end: int) -> str:
    """Return a text of the same length with nothing but line ends from `start` to `end`."""
    return text[:start] + "\n" * (end - start) + text[end:]


# -- JSON -------------------------------------------------------------------------------------------------------------


class _Pairs(list[tuple[str, object]]):
    """An object's keys and values, all of them."""


def _is_json(text: str) -> bool:
    text = text.strip()
    return text[:1] in {"{", "["} and text[-1:] in {"}", "]"}


def _strings(value: object, key: str) -> Iterator[tuple[str, str]]:
    """Yield the strings of a JSON value, each with the key that it, or the list it is in, belongs to."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, _Pairs):
        for name, one in value:
            yield "", name
            yield from _strings(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one, key)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else _ESCAPED.get(match[2], match[2]), text
    )


# -- where a query in a sentence ends -----------------------------------------------------------------------------------


def _semicolon(region: str) -> int | None:
    """Return where the first semicolon outside of quotes is."""
    quote = ""
    for place, char in enumerate(region):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"`":
            quote = char
        elif char == ";":
            return place
    return None


def _ends(text: str, start: int, region: str) -> Iterator[int]:
    """Yield where in its region a query may end, in the order to be tried: at its quotes, then the longest first."""
    opener = text[start - 1 : start] if start else ""
    if opener in {'"', "'", "`"}:
        close = region.find(opener)
        if close > 0:
            yield close
    ends: list[int] = []
    for word in _WORD_END.finditer(region):
        bare = len(word.group().rstrip(_PUNCTUATION)) + word.start()
        ends += [bare] if bare in {word.start(), word.end()} else [bare, word.end()]
        if len(ends) > _MAX_WORDS:
            return  # nothing that long is judged by halves
    yield from reversed(ends)


def _goes_on(rest: str) -> bool:
    """Tell whether what follows a query belongs to it."""
    match = _NEXT.match(rest)
    if match is None:
        return False
    word, following = match[1], (match[2] or "").lower()
    if word.lower() == "for":
        return word.isupper() or following in _LOCKING
    return word in _GOES_ON or word.lower() in _GOES_ON_ANYWAY or word in {"=", "<", ">", "|", "+", "%", "("}
