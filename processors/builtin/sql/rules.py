"""Judging one piece of SQL: is it a single statement that only reads, and only what may be read.

It is read twice. As tokens, for what must not occur anywhere: databases disagree about where a comment or a string ends and
whether a statement needs a semicolon, and what one of them would take for an instruction is no name or comment here. And
as a tree, for what it reads. Whatever cannot be read is refused.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import re
from collections.abc import Iterator, Sequence
from typing import Any

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from processors.builtin.sql.columns import ColumnRule
from processors.builtin.sql.names import name_of, parts_of, resolved_to_ctes
from processors.builtin.sql.permits import Columns, Functions, Name, Tables
from processors.builtin.sql.wordlist import words
from processors.errors import DeclarationError

UNREADABLE = "unreadable-sql"
SEVERAL = "several-statements"
WRITES = "not-read-only"
LOCKS = "locks-rows"
AMBIGUOUS = "ambiguous-sql"
TABLE = "table-not-permitted"
FUNCTION = "function-not-permitted"
ROWS = "too-many-rows"
TOO_LONG = "sql-too-long"

_MAX_CHARS = 50_000
_MAX_DEPTH = 40
#: What no query contains as a word of its own in any dialect, whatever a parser makes of it: `SELECT 1 DELETE FROM t`
#: is an alias to some and a second statement to others.
_NEVER = words(
    "INSERT UPDATE DELETE MERGE UPSERT DROP ALTER CREATE TRUNCATE GRANT REVOKE EXEC EXECUTE CALL INTO OUTFILE DUMPFILE"
)
#: The same where statements need no semicolon between them: all of these are reserved there.
_NEVER_UNSEPARATED = words(
    "BACKUP BEGIN BULK COMMIT DBCC DEALLOCATE DECLARE DENY KILL RAISERROR RECONFIGURE RESTORE REVERT REVOKE ROLLBACK SAVE"
    " SET SHUTDOWN USE WAITFOR WRITETEXT UPDATETEXT"
)
#: What other statements begin with, to tell them from what is no SQL.
_STATEMENTS = (
    _NEVER
    | _NEVER_UNSEPARATED
    | words(
        "ANALYZE ATTACH CACHE CLUSTER COMMENT COPY DETACH DO EXPORT FLUSH HANDLER IMPORT INSTALL LISTEN LOAD LOCK NOTIFY"
        " OPTIMIZE PRAGMA PREPARE PURGE REFRESH REINDEX RENAME REPAIR REPLACE RESET START UNLOAD UNLOCK VACUUM"
    )
)
_UNSEPARATED_DIALECTS = frozenset({"", "tsql", "fabric"})
_LITERALS = frozenset(
    {
        kind
        for kind in TokenType
        if kind.name.endswith("STRING") or kind in {TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.HEREDOC_STRING}
    }
)
_OPENS = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1, TokenType.L_BRACKET: 1, TokenType.R_BRACKET: -1}
_QUERIES = (exp.Query, exp.Values)
#: Parts of a tree that change something, by name: which of them there are depends on the release.
_WRITERS = words(
    "DML DDL Insert Update Delete Merge Create Drop Alter TruncateTable Command Into Set SetItem Use Pragma Copy Attach"
    " Detach LoadData Grant Revoke Transaction Commit Rollback Kill Cache Uncache Refresh Analyze Export Put Get Execute"
    " ExecuteSql Declare Describe Show Comment"
)
#: Parts of a tree that count as functions there and are written otherwise.
_SYNTAX = words("And Or Xor Not Case If Cast TryCast Exists Paren Between Any All Interval Star")
_QUERY_STARTS = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE"})
_HARMLESS_HINTS = frozenset({"NOLOCK", "READUNCOMMITTED", "READPAST", "NOEXPAND", "FORCESEEK", "FORCESCAN"})
_PATH = re.compile(
    r"[/\\*?]|:|\.(?:csv|tsv|json|jsonl|ndjson|parquet|avro|orc|xlsx?|db|sqlite3?|txt|gz|zst)$", re.IGNORECASE
)
_BACKSLASH_QUOTE = re.compile(r"""\\['"`]""")
_LINE_COMMENTS = ("--", "#", "//")
#: MySQL takes `--1` for a sum.
_AFTER_DASHES = frozenset({"", " ", "\t", "\r", "\n", "-"})
_COMMENT = r"/\*(?:[^*]|\*(?!/))*\*/"
_EXPLAIN = re.compile(
    rf"(?:\s|{_COMMENT}|--[^\n]*\n)*EXPLAIN\b"
    r"(?:\s+(?:QUERY\s+PLAN|PLAN\s+FOR|PLAN|ANALY[SZ]E|VERBOSE|EXTENDED|FORMATTED|FORMAT\s*=\s*\w+))*"
    r"\s*(?:\((?!\s*(?:SELECT|WITH|\())[\w\s,]*\))?(?=[\s(/-])",
    re.IGNORECASE,
)
_SHOW = re.compile(r"\s*SHOW\s[\w\s.,`\"'%=<>]*;?\s*", re.IGNORECASE)
_DESCRIBE = re.compile(r"\s*(?:DESCRIBE|DESC)\s+(?:TABLE\s+)?([\w.]+)\s*;?\s*", re.IGNORECASE)

_quiet: contextvars.ContextVar[bool] = contextvars.ContextVar("sql being judged", default=False)


class _Discretion(logging.Filter):
    """Keeps back what the parser logs while it judges: it quotes what it reads."""

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - whatever it says
        return not _quiet.get()


_DISCRETION = _Discretion()


class SqlJudge:
    """Judges one piece of SQL at a time by what an operator permits.

    Raises:
        DeclarationError: on construction, when there is no such dialect.
    """

    def __init__(
        self, tables: Tables, columns: Columns, functions: Functions, dialect: str | None, max_rows: int | None
    ) -> None:
        logging.getLogger("sqlglot").addFilter(_DISCRETION)
        self._tables = tables
        self._columns = ColumnRule(columns)
        self._functions = functions
        self._dialect = (dialect or "").lower()
        self._max_rows = max_rows
        self._never = _NEVER | (_NEVER_UNSEPARATED if self._dialect in _UNSEPARATED_DIALECTS else frozenset())
        try:
            sqlglot.Dialect.get_or_raise(self._dialect or None)
        except ValueError as error:
            raise DeclarationError(
                f"sql_gate: there is no SQL dialect {dialect!r}; sqlglot lists those there are"
            ) from error

    def judge(self, sql: str) -> str | None:
        """Return the rule that a piece of SQL breaks, None if it may pass or there is nothing in it but comments."""
        if len(sql) > _MAX_CHARS:
            return TOO_LONG
        with _silently():
            try:
                return self._judge(sql)
            except (SqlglotError, RecursionError, ValueError, KeyError, AttributeError, TypeError, IndexError):
                # A parser's own mistakes are no reason to let through what it could not read.
                return UNREADABLE

    def _judge(self, sql: str) -> str | None:
        if "\0" in sql:
            return AMBIGUOUS
        described = _DESCRIBE.fullmatch(sql)
        if described is not None:
            parts = [Name(part) for part in described[1].split(".")]
            return None if self._tables.permits(parts) else TABLE
        if _SHOW.fullmatch(sql) is not None:
            return TABLE if self._tables.limited or self._columns.limited else None
        explained = _EXPLAIN.match(sql)
        if explained is not None:
            sql = sql[explained.end() :]
        return self._judge_tokens(sql) or self._judge_trees(sql, explained=explained is not None)

    # -- as tokens ----------------------------------------------------------------------------------------------------

    def _judge_tokens(self, sql: str) -> str | None:
        tokens = sqlglot.tokenize(sql, read=self._dialect or None)
        if not tokens:
            return AMBIGUOUS if self._ambiguous_gap(sql) else None
        ends = [-1, *(token.end for token in tokens)]
        starts = [*(token.start for token in tokens), len(sql)]
        gaps = [sql[end + 1 : start] for end, start in zip(ends, starts, strict=True)]
        if any(self._ambiguous_gap(gap) for gap in gaps) or self._ambiguous_string(sql, tokens):
            return AMBIGUOUS
        last = next((at for at, token in enumerate(tokens) if token.token_type == TokenType.SEMICOLON), len(tokens))
        if any(token.token_type != TokenType.SEMICOLON for token in tokens[last:]):
            return SEVERAL
        first = next((token for token in tokens if token.token_type != TokenType.L_PAREN), tokens[0])
        if first.token_type != TokenType.SEMICOLON and first.text.upper() not in _QUERY_STARTS:
            return WRITES if first.text.upper() in _STATEMENTS else UNREADABLE
        if _depth(tokens) > _MAX_DEPTH:
            return UNREADABLE
        return self._forbidden_words(tokens)

    def _forbidden_words(self, tokens: Sequence[Token]) -> str | None:
        for before, token, after in _with_neighbours(tokens):
            called = after is not None and after.token_type == TokenType.L_PAREN
            name = token.token_type not in _LITERALS or token.token_type == TokenType.IDENTIFIER
            if called and name and Functions.dangerous(token.text):
                return FUNCTION
            if token.token_type in _LITERALS or (before is not None and before.token_type == TokenType.DOT):
                continue
            word = token.text.upper()
            if token.token_type == TokenType.COMMAND or word in self._never or (word == "REPLACE" and not called):
                return WRITES
        return None

    def _ambiguous_gap(self, gap: str) -> bool:
        """Tell whether what stands between two tokens is a comment to some databases, and something else to others."""
        place = 0
        while place < len(gap):
            if gap.startswith("/*", place):
                end = gap.find("*/", place)
                within = gap[place + 2 : end]
                # MySQL executes the one; of comments in comments some databases end with the first end.
                if end < 0 or within.startswith(("!", "M!")) or "/*" in within:
                    return True
                place = end + 2
            elif gap.startswith(_LINE_COMMENTS, place):
                plain = gap.startswith("--", place) and gap[place + 2 : place + 3] in _AFTER_DASHES
                if not (plain or self._dialect):
                    return True
                end = gap.find("\n", place)
                place = len(gap) if end < 0 else end + 1
            else:
                place += 1
        return False

    def _ambiguous_string(self, sql: str, tokens: Sequence[Token]) -> bool:
        """Tell whether some databases would end a string where others go on, which only the dialect could say."""
        return not self._dialect and any(
            token.token_type in _LITERALS and _BACKSLASH_QUOTE.search(sql[token.start : token.end + 1]) is not None
            for token in tokens
        )

    # -- as a tree ----------------------------------------------------------------------------------------------------

    def _judge_trees(self, sql: str, *, explained: bool) -> str | None:
        found = sqlglot.parse(sql, read=self._dialect or None)
        trees = [tree for tree in found if tree is not None and not isinstance(tree, exp.Semicolon)]
        if len(trees) > 1:
            return SEVERAL
        if not trees:
            return UNREADABLE if explained else None
        tree = trees[0]
        if not isinstance(tree, _QUERIES):
            return WRITES
        return (
            next((rule for rule in map(self._forbidden_node, tree.walk()) if rule is not None), None)
            or self._judge_tables(tree)
            or self._columns.judge(tree)
            or self._judge_rows(tree)
        )

    def _forbidden_node(self, node: exp.Expr) -> str | None:
        if _is_a(node, _WRITERS):
            return WRITES
        if isinstance(node, exp.CTE) and not isinstance(node.this, _QUERIES):
            return WRITES
        if isinstance(node, exp.Lock):
            return LOCKS
        if isinstance(node, exp.WithTableHint):
            hints = {hint.name.upper() for hint in node.expressions}
            return None if hints <= _HARMLESS_HINTS else LOCKS
        if isinstance(node, exp.Func) and type(node).__name__ not in _SYNTAX:
            return self._judge_function(node)
        return None

    def _judge_function(self, node: exp.Func) -> str | None:
        names = _function_names(node)
        in_table_place = self._tables.limited and isinstance(node.parent, exp.Table)
        dangerous = any(map(Functions.dangerous, names))
        return FUNCTION if dangerous or not self._functions.permits(names, in_table_place=in_table_place) else None

    def _judge_tables(self, tree: exp.Expr) -> str | None:
        ctes = resolved_to_ctes(tree)
        for table in tree.find_all(exp.Table):
            if id(table) in ctes:
                continue
            if isinstance(table.this, exp.Func):
                continue  # judged as a function
            parts = parts_of(table)
            if parts is None:
                return TABLE
            if any(_PATH.search(part.text) for part in parts) or not self._tables.permits(parts):
                return TABLE
        for test in tree.find_all(exp.In):
            # `x IN secret` reads a table in some databases.
            of = test.args.get("field")
            if of is not None and self._tables.limited and not self._tables.permits([name_of(of)]):
                return TABLE
        return None

    def _judge_rows(self, tree: exp.Expr) -> str | None:
        if self._max_rows is None:
            return None
        while isinstance(tree, exp.Subquery) and tree.args.get("limit") is None:
            tree = tree.this
        limit = tree.args.get("limit")
        count = limit.args.get("count" if isinstance(limit, exp.Fetch) else "expression") if limit is not None else None
        options = limit.args.get("limit_options") if limit is not None else None
        exact = options is None or not (options.args.get("percent") or options.args.get("with_ties"))
        within = isinstance(count, exp.Literal) and count.name.isdigit() and int(count.name) <= self._max_rows
        return None if within and exact else ROWS


def _is_a(node: exp.Expr, names: frozenset[str]) -> bool:
    return any(kind.__name__ in names for kind in type(node).__mro__)


def _function_names(node: exp.Func) -> list[str]:
    """Return all the names by which a function may have been called."""
    written: Any = node.args.get("this")
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        return [written if isinstance(written, str) else node.name]
    return list(type(node).sql_names())


def _depth(tokens: Sequence[Token]) -> int:
    depth = deepest = 0
    for token in tokens:
        depth += _OPENS.get(token.token_type, 0)
        deepest = max(deepest, depth)
    cases = sum(token.text.upper() == "CASE" for token in tokens if token.token_type not in _LITERALS)
    return max(deepest, cases if cases > _MAX_DEPTH * 2 else 0)


def _with_neighbours(tokens: Sequence[Token]) -> Iterator[tuple[Token | None, Token, Token | None]]:
    padded = [None, *tokens, None]
    for at, token in enumerate(tokens):
        yield padded[at], token, padded[at + 2]


@contextlib.contextmanager
def _silently() -> Iterator[None]:
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)
