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

from processors.builtin.sql.shape import Shape
from processors.builtin.sql.shapes import shape_at, statements
from processors.builtin.sql.tokens import Budget, TooMuchError, comments_blanked
from processors.builtin.sql.wordlist import words
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
_MAX_TOKENS = 1_000_000

_SQL_LABEL = re.compile(r"^(?:\w*sql\w*|ddl|dml|psql|hql|sqlite3?|duckdb|bigquery|snowflake|redshift)$", re.IGNORECASE)
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*\{?\.?([\w+#.-]*)")
_INLINE = re.compile(r"(?<!`)(`{1,2})(?!`)([^`]+)\1(?!`)")
_QUERY_KEY = re.compile(r"^(?:quer(?:y|ies)|statements?|stmts?|commands?|expression)$", re.IGNORECASE)
_SQL_KEY = re.compile(r"sql|ddl|dml", re.IGNORECASE)
_PAIR = re.compile(r'"((?:[^"\\\n]|\\.){1,60})"\s*:\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}
_LEADING = " \t\r\n\f\v(;"
_LONGEST_STARTER = 8
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_WORD_END = re.compile(r"[^\s]+")
_PUNCTUATION = ".,:!?)\"'`]*_"
_NEXT = re.compile(r"\s*([^\W\d]\w*|\S)\s*([^\W\d]\w*)?")
#: What goes on with a statement: where a parser stops before one of these, it did not understand it.
_GOES_ON = words(
    "FROM WHERE INTO FOR UNION INTERSECT EXCEPT MINUS LIMIT OFFSET FETCH GROUP ORDER HAVING JOIN ON USING SET VALUES WINDOW"
    " QUALIFY PROCEDURE LOCK RETURNING WITH TABLE SELECT"
)
_GOES_ON_ANYWAY = frozenset({"into", "union", "intersect", "except"})
_GOING_ON = frozenset("=<>|+%(,")
_LOCKING = frozenset({"update", "share", "no", "key"})


class Finder:
    """Goes through the texts of one answer; how much it looks at and has judged is limited."""

    def __init__(self, judge: Judge) -> None:
        self._judge_one = judge
        self._judged = 0
        self._budget = Budget(_MAX_TOKENS)

    def text(self, text: str) -> str | None:
        """Return the first rule that SQL in a text, which may be JSON, breaks; None if none does."""
        try:
            return self._text(text, 0)
        except TooMuchError:
            return TOO_MUCH

    # -- by where it stands -------------------------------------------------------------------------------------------

    def _text(self, text: str, depth: int, *, plain: bool = True) -> str | None:
        """Judge a text; it is not `plain` if escapes were undone in it that may have been meant for others."""
        if depth > _MAX_DEPTH:
            return TOO_MUCH if any(True for _ in statements(text, self._budget)) else None
        strings = _json_strings(text)
        if strings is not None:
            found = (self._string(key, string, depth, sure=True) for key, string in strings)
            return next((rule for rule in found if rule is not None), None)
        done: list[tuple[int, int]] = []
        for block in _fences(text):
            rule = self._block(block, depth)
            if rule is not None:
                return rule
            if block.is_sql or self._is_sql(block.content):
                done.append((block.start, block.end))
        rest = _without(text, done)
        done = []
        for inline in _INLINE.finditer(rest):
            if self._is_sql(inline[2]):
                rule = self._judge(inline[2])
                if rule is not None:
                    return rule
                done.append(inline.span())
        rest = _without(rest, done)
        if self._is_sql(rest):
            # All there is begins as a statement; what follows it may be prose.
            rule = self._statement(rest)
            if rule is not None:
                return rule
        return self._pairs(rest, depth, sure=plain) or self._views(rest, depth)

    def _block(self, block: _Block, depth: int) -> str | None:
        if block.is_sql or self._is_sql(block.content):
            return self._judge(block.content)
        return self._text(block.content, depth + 1) if _is_json(block.content) else None

    def _pairs(self, text: str, depth: int, *, sure: bool) -> str | None:
        """Judge what looks like keys and strings of JSON somewhere in a text."""
        for pair in _PAIR.finditer(text):
            rule = self._string(_unescaped(pair[1]), _unescaped(pair[2]), depth, sure=sure)
            if rule is not None:
                return rule
        return None

    def _string(self, key: str, string: str, depth: int, *, sure: bool) -> str | None:
        """Judge a string in JSON; it is `sure` to be whole if it was read as JSON is."""
        certain = sure and _SQL_KEY.search(key) is not None and bool(string.strip())
        named = _SQL_KEY.search(key) is not None or _QUERY_KEY.match(key) is not None
        if certain or (named and self._is_sql(string)):
            return self._judge(string)
        return self._text(string, depth + 1)

    def _views(self, text: str, depth: int) -> str | None:
        rule = self._prose(text)
        if rule is not None:
            return rule
        if "\\" in text:
            plain = _unescaped(text)
            rule = self._text(plain, depth + 1, plain=False) if plain != text else None
            if rule is not None:
                return rule
        if not text.isascii():
            meant = fold(text).text
            found = statements(meant, self._budget) if meant != text else ()
            if any(shape.writes and shape.in_prose() for _, shape in found):
                return _WRITES
        return None

    # -- sentences ----------------------------------------------------------------------------------------------------

    def _prose(self, text: str) -> str | None:
        """Judge the statements in a text, those with comments between their words too."""
        places = {start: shape for start, shape in statements(text, self._budget) if shape.in_prose()}
        if "/*" in text or "--" in text:
            blanked = statements(comments_blanked(text), self._budget)
            places |= {start: shape for start, shape in blanked if shape.in_prose()}
        done = 0
        for start in sorted(places):
            if start < done:
                continue
            if places[start].writes:
                return _WRITES
            done, rule = self._extent(text, start, places[start].reach)
            if rule is not None:
                return rule
        return None

    def _statement(self, text: str) -> str | None:
        """Judge a statement that a text begins with."""
        start, shape = self._first(text)
        if shape is None or shape.writes:
            return _WRITES
        return self._extent(text, start, shape.reach)[1]

    def _extent(self, text: str, start: int, reach: int) -> tuple[int, str | None]:
        """Return where a query in a text ends, and the rule it breaks if it does."""
        blank = _BLANK_LINE.search(text, reach)
        region = text[start : len(text) if blank is None else blank.start()]
        semicolon = _semicolon(region)
        if semicolon is not None:
            _, following = self._first(region[semicolon + 1 :])
            region = region[:semicolon]
            if following is not None:
                return start, _SEVERAL
        for end in _ends(text, start, region):
            rule = self._judge(region[:end]) if start + end >= reach else _UNREADABLE
            if rule != _UNREADABLE:
                return start + end, rule or (_UNREADABLE if _goes_on(text, start + end) else None)
        return start, _UNREADABLE

    # -- what is SQL --------------------------------------------------------------------------------------------------

    def _is_sql(self, text: str) -> bool:
        """Tell whether all of a text, or its beginning, has a statement's shape."""
        return self._first(text)[1] is not None

    def _first(self, text: str) -> tuple[int, Shape | None]:
        """Return where the first word of a text is, and the shape of the statement it begins, if it does."""
        plain = comments_blanked(text)
        start = len(plain) - len(plain.lstrip(_LEADING))
        shape = shape_at(plain, start, self._budget)
        first = plain[start : start + _LONGEST_STARTER].partition(" ")[0]
        return start, shape if shape is not None and shape.as_a_whole(first) else None

    def _judge(self, sql: str) -> str | None:
        self._judged += 1
        if self._judged > _MAX_JUDGED:
            raise TooMuchError
        return self._judge_one(sql)


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
        elif mark[1][0] == opened[1][0] and (not mark[2] or not _begins_line(text, mark.start())):
            yield _block(text, opened, mark.start(), mark.end())
            opened = None
    if opened is not None:
        yield _block(text, opened, len(text), len(text))


def _begins_line(text: str, place: int) -> bool:
    return not text[text.rfind("\n", 0, place) + 1 : place].strip(" \t>")


def _block(text: str, mark: re.Match[str], close: int, end: int) -> _Block:
    is_sql = _SQL_LABEL.match(mark[2]) is not None
    # A word with more behind it on its line is content and no label.
    labelled = is_sql or text[mark.end() : mark.end() + 2].lstrip(" \t\r")[:1] in {"", "\n"}
    return _Block(mark.start(), end, text[mark.end() if labelled else mark.end(1) : close], is_sql)


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text of the same length with nothing but line ends in place of some parts, given in order."""
    out: list[str] = []
    place = 0
    for start, end in spans:
        out += [text[place:start], "\n" * (end - start)]
        place = end
    return "".join([*out, text[place:]])


# -- JSON -------------------------------------------------------------------------------------------------------------


class _Pairs(list[tuple[str, object]]):
    """An object's keys and values, all of them."""


def _is_json(text: str) -> bool:
    text = text.strip()
    return (text[:1], text[-1:]) in {("{", "}"), ("[", "]"), ('"', '"')}


def _json_strings(text: str) -> list[tuple[str, str]] | None:
    """Return the strings of a JSON text with their keys; None if it is no such text."""
    if not _is_json(text):
        return None
    try:
        # As pairs: of a key that is there twice, some readers take the one and some the other.
        return list(_strings(json.loads(text, object_pairs_hook=_Pairs), ""))
    except (ValueError, RecursionError):
        return None


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
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _ESCAPED.get(match[2], match[2]), text)


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
    yield len(region)
    ends: list[int] = []
    for word in _WORD_END.finditer(region):
        bare = len(word.group().rstrip(_PUNCTUATION)) + word.start()
        ends += [bare] if bare in {word.start(), word.end()} else [bare, word.end()]
        if len(ends) > _MAX_WORDS:
            return  # nothing that long is judged by halves
    yield from reversed(ends)


def _goes_on(text: str, end: int) -> bool:
    """Tell whether what follows a query belongs to it."""
    match = _NEXT.match(text, end)
    if match is None:
        return False
    word, following = match[1], (match[2] or "").lower()
    if word.lower() == "for":
        return word.isupper() or following in _LOCKING
    return word in _GOES_ON or word.lower() in _GOES_ON_ANYWAY or word in _GOING_ON
