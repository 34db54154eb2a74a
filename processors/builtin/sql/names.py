"""Names in a parsed query: their parts, and which of them mean a query that stands in a WITH."""

from __future__ import annotations

from sqlglot import exp

from processors.builtin.sql.permits import Name


def name_of(node: exp.Expr) -> Name:
    """Return a single name as it is written."""
    identifier = node.this if isinstance(node, exp.Column | exp.Table | exp.TableAlias) else node
    quoted = isinstance(identifier, exp.Identifier) and bool(identifier.args.get("quoted"))
    return Name(identifier.name if isinstance(identifier, exp.Expr) else str(identifier), quoted)


def parts_of(table: exp.Table) -> list[Name] | None:
    """Return a table's name, outermost part first; None if it is not made of names."""
    found = [part for part in (table.args.get("catalog"), table.args.get("db")) if part is not None]
    last = table.this
    while isinstance(last, exp.Dot):
        found.append(last.this)
        last = last.expression
    found.append(last)
    if not all(isinstance(part, exp.Identifier) and part.name for part in found):
        return None
    return [name_of(part) for part in found]


def resolved_to_ctes(tree: exp.Expr) -> set[int]:
    """Return the identities of the tables that mean a query of a WITH around them, to every database there is.

    Only the same letters in the same case and in the same quotes are the same name: databases fold names this way or
    that, and in doubt it is a table.
    """
    return {id(table) for table in tree.find_all(exp.Table) if _means_cte(table)}


def _means_cte(table: exp.Table) -> bool:
    if table.args.get("db") is not None or not isinstance(table.this, exp.Identifier):
        return False
    wanted = name_of(table)
    inside: exp.Expr | None = None  # the query of a WITH that the table stands in, on the way up
    node: exp.Expr | None = table
    while node is not None:
        if isinstance(node, exp.CTE):
            inside = node
        elif isinstance(node, exp.With):
            before: list[exp.Expr] = []
            for cte in node.expressions:
                if cte is inside:
                    if node.args.get("recursive"):
                        before.append(inside)
                    break
                before.append(cte)
            if any(_is(cte, wanted) for cte in before):
                return True
            # The query around this WITH has been dealt with: go on above it.
            node = node.parent
            inside = None
        else:
            clause = node.args.get("with_") or node.args.get("with")
            if isinstance(clause, exp.With) and any(_is(cte, wanted) for cte in clause.expressions):
                return True
        node = node.parent if node is not None else None
    return False


def _is(cte: exp.Expr, wanted: Name) -> bool:
    alias = cte.args.get("alias")
    return isinstance(alias, exp.TableAlias) and isinstance(alias.this, exp.Identifier) and name_of(alias) == wanted
