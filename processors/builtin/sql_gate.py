"""A gate for SQL that a model wrote: single statements that only read what may be read, or the answer is refused.

As a rule on tool calls it refuses the call alone: the model is told so, and may try again.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from processors.builtin.extras import library
from processors.builtin.sql.find import Finder
from processors.builtin.sql.permits import Columns, Functions, Tables
from processors.contracts import Answer, ToolCallCheck
from processors.errors import DeclarationError
from processors.verdicts import Allow, Deny, Pass, Reject

if TYPE_CHECKING:
    from processors.builtin.sql.rules import SqlJudge

_RULES = "processors.builtin.sql.rules"


class SqlGate:
    """An output processor that judges whole answers: their text and the arguments of their tool calls."""

    kind = "output"
    timeout_s = 30.0

    def __init__(self, name: str, judge: SqlJudge, *, version: str) -> None:
        self.name = name
        self.version = version
        self._judge = judge

    def process(self, answer: Answer) -> Pass | Reject:
        """Return `Reject` with the name of the first rule that is broken, or let everything pass."""
        finder = Finder(self._judge.judge)
        rule = finder.text(answer.text)
        for call in answer.tool_calls:
            rule = rule or finder.text(call.arguments)
        return Pass() if rule is None else Reject(rule)


class SqlRule:
    """A tool rule that judges the SQL in a call's arguments."""

    kind = "tool_rule"
    timeout_s = 30.0

    def __init__(self, name: str, judge: SqlJudge, *, version: str) -> None:
        self.name = name
        self.version = version
        self._judge = judge

    def process(self, check: ToolCallCheck) -> Allow | Deny:
        """Return `Deny` with the name of the first rule that is broken, or allow the call."""
        rule = Finder(self._judge.judge).text(check.call.arguments)
        return Allow() if rule is None else Deny(rule)


def sql_gate(
    *,
    tables: Iterable[str] | None = None,
    columns: Iterable[str] | None = None,
    functions: Iterable[str] | None = None,
    dialect: str | None = None,
    max_rows: int | None = None,
    name: str = "sql-gate",
    version: str = "1",
) -> SqlGate:
    """Return an output processor that rejects answers with SQL in them that is not permitted.

    SQL is found in fences, inline code, sentences, JSON and tool calls. Permitted is a single statement that reads
    (`SELECT`, `WITH`, `VALUES`; `EXPLAIN` of one; `DESCRIBE` of a permitted table; `SHOW` where everything may be read)
    and locks nothing. What looks like SQL and cannot be read is rejected.

    Args:
        tables: names of tables that may be read, as they are to be written: `orders`, `sales.orders`, `sales.*`. None is
            any.
        columns: names of columns: `name` of any table, `users.name`, `users.*`. None is any.
        functions: names of functions that may be called. None is all but those that reach files, servers or other
            statements, wait, or change something; these never may.
        dialect: the database's, by sqlglot's name (`postgres`, `mysql`, `tsql`, ...). Without one, what databases read
            differently is rejected.
        max_rows: a `LIMIT` of at most this is required.

    A rejection's reason is the rule's name alone: `not-read-only`, `several-statements`, `table-not-permitted`,
    `column-not-permitted`, `function-not-permitted`, `too-many-rows`, `locks-rows`, `unreadable-sql`, `ambiguous-sql`,
    `sql-too-long`, `too-much-sql`.

    Raises:
        DeclarationError: an argument cannot be, or the extra `builtin` is not installed.
    """
    return SqlGate(name, _judge("sql_gate", tables, columns, functions, dialect, max_rows), version=version)


def sql_rule(
    *,
    tables: Iterable[str] | None = None,
    columns: Iterable[str] | None = None,
    functions: Iterable[str] | None = None,
    dialect: str | None = None,
    max_rows: int | None = None,
    name: str = "sql-rule",
    version: str = "1",
) -> SqlRule:
    """Return a tool rule, for `governance`, that denies tool calls with SQL in their arguments that is not permitted.

    Arguments and rules are those of `sql_gate`. A call that is denied is not made, and the model may make another; a whole
    answer that `sql_gate` rejects ends the turn.

    Raises:
        DeclarationError: an argument cannot be, or the extra `builtin` is not installed.
    """
    return SqlRule(name, _judge("sql_rule", tables, columns, functions, dialect, max_rows), version=version)


def _judge(
    what: str,
    tables: Iterable[str] | None,
    columns: Iterable[str] | None,
    functions: Iterable[str] | None,
    dialect: str | None,
    max_rows: int | None,
) -> SqlJudge:
    if max_rows is not None and (type(max_rows) is not int or max_rows < 1):
        raise DeclarationError(f"{what}: max_rows must be an int, 1 or more, or None")
    library("sqlglot", what)
    rules = importlib.import_module(_RULES)
    judge: SqlJudge = rules.SqlJudge(Tables(tables), Columns(columns), Functions(functions), dialect, max_rows)
    return judge
