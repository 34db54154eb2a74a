"""Which columns a query reads, and whether it may.

What a subquery or a WITH gives is judged where it is made; a name that only passes it on is free. Where it is not certain
whose column a name is, it must be permitted for all that it could be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from processors.builtin.sql.names import name_of, parts_of, resolved_to_ctes
from processors.builtin.sql.permits import Columns, Name

COLUMN = "column-not-permitted"
#: Clauses in which a bare name may be one that the SELECT gave to a result.
_BY_RESULT = (exp.Ordered, exp.Group)


@dataclass(frozen=True)
class _Source:
    """What a FROM names: a base table and its parts (None if it has no name), or something made by the query itself."""

    base: bool
    parts: list[Name] | None = None
    gives: frozenset[str] = frozenset()


class ColumnRule:
    """Judges the columns of a query."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.limited = columns.limited

    def judge(self, tree: exp.Expr) -> str | None:
        """Return the rule that a query breaks, if it does."""
        if not self.limited:
            return None
        return None if _Reading(self._columns, tree).permitted() else COLUMN


class _Reading:
    """One query being judged."""

    def __init__(self, columns: Columns, tree: exp.Expr) -> None:
        self._columns = columns
        self._tree = tree
        self._ctes = resolved_to_ctes(tree)
        self._scopes = traverse_scope(tree) if isinstance(tree, exp.Query) else []
        self._of_select = {id(scope.expression): scope for scope in self._scopes}
        self._of_column: dict[int, Scope] = {}
        for scope in self._scopes:
            for column in scope.columns:
                self._of_column.setdefault(id(column), scope)

    def permitted(self) -> bool:
        """Tell whether everything that the query reads may be read."""
        return (
            not any(self._tree.find_all(exp.Columns))
            and all(map(self._join_permitted, self._tree.find_all(exp.Join)))
            and all(map(self._table_keeps_its_names, self._tree.find_all(exp.Table)))
            and all(map(self._star_permitted, self._tree.find_all(exp.Star)))
            and all(map(self._column_permitted, self._tree.find_all(exp.Column)))
        )

    def _join_permitted(self, join: exp.Join) -> bool:
        """NATURAL compares whatever columns there are; USING names them without a table."""
        if str(join.args.get("method") or "").upper() == "NATURAL":
            return False
        scope = self._scope_of(join)
        return all(self._bare_permitted(name_of(one), scope) for one in join.args.get("using") or ())

    def _table_keeps_its_names(self, table: exp.Table) -> bool:
        """`FROM users AS u(a, b)` calls columns by other names."""
        alias = table.args.get("alias")
        return id(table) in self._ctes or not isinstance(alias, exp.TableAlias) or not alias.args.get("columns")

    def _star_permitted(self, star: exp.Star) -> bool:
        of = star.parent if isinstance(star.parent, exp.Column) else star
        if isinstance(of.parent, exp.Count):
            return True
        scope = self._scope_of(star)
        qualifier = of.args.get("table") if isinstance(of, exp.Column) else None
        if qualifier is not None:
            sources = [source for source in (self._lookup(name_of(qualifier), scope),) if source is not None]
        else:
            sources = list(self._sources(scope).values()) if scope is not None else []
        return bool(sources) and all(not one.base or self._columns.permits(None, one.parts) for one in sources)

    def _column_permitted(self, column: exp.Column) -> bool:
        if isinstance(column.this, exp.Star):
            return True  # judged as a star
        scope = self._of_column.get(id(column))
        name = name_of(column)
        if scope is None and not self._columns.permits(name, None):
            scope = self._scope_of(column)
        qualifier = column.args.get("table")
        if qualifier is None:
            return self._is_result_name(column, name) or self._bare_permitted(name, scope)
        source = self._lookup(name_of(qualifier), scope)
        if source is None:
            # A field of a column, or a table that is not in sight.
            return self._columns.permits(name, None) and self._columns.permits(name_of(qualifier), None)
        return not source.base or self._columns.permits(name, source.parts)

    def _bare_permitted(self, name: Name, scope: Scope | None) -> bool:
        """Judge a column that names no table."""
        around = list(self._around(scope))
        for sources in around:
            whole_row = next((one for alias, one in sources.items() if alias == name.text.casefold()), None)
            if whole_row is not None:
                return not whole_row.base
        if self._columns.permits(name, None):
            return True
        for sources in around:
            bases = [one for one in sources.values() if one.base]
            if any(name.text.casefold() in one.gives for one in sources.values()):
                return True
            if bases and not all(self._columns.permits(name, one.parts) for one in bases):
                return False
            if bases:
                return True
        return any(around)

    def _is_result_name(self, column: exp.Column, name: Name) -> bool:
        """Tell whether a bare name in ORDER BY or GROUP BY is one that the SELECT gives to a result."""
        if not isinstance(column.parent, _BY_RESULT):
            return False
        select = column.find_ancestor(exp.Select)
        given = [one.args.get("alias") for one in select.expressions if isinstance(one, exp.Alias)] if select else []
        return any(isinstance(alias, exp.Identifier) and name_of(alias) == name for alias in given)

    def _lookup(self, alias: Name, scope: Scope | None) -> _Source | None:
        wanted = alias.text.casefold()
        return next((sources[wanted] for sources in self._around(scope) if wanted in sources), None)

    def _around(self, scope: Scope | None) -> Iterator[dict[str, _Source]]:
        """Yield what is in sight, from the inside out."""
        while scope is not None:
            sources = self._sources(scope)
            if sources:
                yield sources
            scope = scope.parent

    def _sources(self, scope: Scope) -> dict[str, _Source]:
        found: dict[str, _Source] = {}
        for alias, (node, source) in scope.selected_sources.items():
            one = self._source(node, source)
            before = found.get(alias.casefold())
            found[alias.casefold()] = before if before is not None and before.base else one
        return found

    def _source(self, node: exp.Expr, source: object) -> _Source:
        if isinstance(node, exp.Table) and id(node) not in self._ctes:
            return _Source(base=True, parts=parts_of(node))
        query = source.expression if isinstance(source, Scope) else None
        names = query.named_selects if isinstance(query, exp.Query) else []
        alias = node.args.get("alias")
        columns = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
        given = [one.name for one in columns or ()] + [str(one) for one in names]
        return _Source(base=False, gives=frozenset(name.casefold() for name in given if name != "*"))

    def _scope_of(self, node: exp.Expr) -> Scope | None:
        """Return the scope of the SELECT that a node stands in."""
        at: exp.Expr | None = node
        while at is not None:
            scope = self._of_select.get(id(at))
            if scope is not None:
                return scope
            at = at.parent
        return None
