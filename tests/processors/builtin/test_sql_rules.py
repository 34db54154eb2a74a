"""What one piece of SQL may do: read, once, and only what is permitted."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from processors import DeclarationError
from processors.builtin.sql.permits import Columns, Functions, Tables
from processors.builtin.sql.rules import SqlJudge


def judge(sql: str, **permitted: Any) -> str | None:
    """Return the rule that a piece of SQL breaks."""
    dialect, max_rows = permitted.pop("dialect", None), permitted.pop("max_rows", None)
    tables, columns, functions = (permitted.pop(name, None) for name in ("tables", "columns", "functions"))
    assert not permitted
    return SqlJudge(Tables(tables), Columns(columns), Functions(functions), dialect, max_rows).judge(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT 1;",
        "SELECT 1;; -- done",
        "",
        "-- nothing",
        "/* nothing */",
        "select A.b, count(*) from c as A group by 1 order by 2 limit 5",
        "WITH x AS (SELECT 1 AS n) SELECT n FROM x",
        "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT * FROM t",
        "(SELECT 1) UNION ALL (SELECT 2)",
        "VALUES (1), (2)",
        "EXPLAIN SELECT 1",
        "EXPLAIN (ANALYZE, VERBOSE) SELECT 1",
        "EXPLAIN QUERY PLAN SELECT 1",
        "SHOW TABLES",
        "DESCRIBE users;",
        "SELECT 'a;b', \"delete\" FROM posts -- drop; it\nWHERE text LIKE '%;%';\n",
        "SELECT 'it''s; DROP TABLE x' AS t",
        "SELECT t.delete, replace(a, 'x', 'y') FROM t",
        "SELECT a FROM t WHERE b IN (SELECT c FROM d) AND EXISTS (SELECT 1 FROM e)",
        "SELECT CURRENT_DATE - INTERVAL '1 day'",
        "SELECT /* a comment; DROP TABLE x */ 1",
    ],
)
def test_one_statement_that_reads_may_pass(sql: str) -> None:
    """Whatever its literals, names and comments say."""
    assert judge(sql) is None


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("DELETE FROM users", "not-read-only"),
        ("/* x */ DELETE/**/FROM users", "not-read-only"),
        ("dElEtE fRoM users", "not-read-only"),
        ("INSERT INTO t VALUES (1)", "not-read-only"),
        ("UPDATE t SET a = 1", "not-read-only"),
        ("MERGE INTO t USING s ON 1 = 1 WHEN MATCHED THEN DELETE", "not-read-only"),
        ("REPLACE INTO t VALUES (1)", "not-read-only"),
        ("CREATE TABLE t AS SELECT 1", "not-read-only"),
        ("DROP TABLE t", "not-read-only"),
        ("ALTER TABLE t ADD c int", "not-read-only"),
        ("TRUNCATE t", "not-read-only"),
        ("GRANT ALL ON t TO bob", "not-read-only"),
        ("COPY t TO PROGRAM 'curl example.com'", "not-read-only"),
        ("EXEC xp_cmdshell 'dir'", "not-read-only"),
        ("CALL f()", "not-read-only"),
        ("DO 'DELETE FROM t'", "not-read-only"),
        ("SET ROLE admin", "not-read-only"),
        ("PRAGMA writable_schema = 1", "not-read-only"),
        ("ATTACH DATABASE 'x' AS y", "not-read-only"),
        ("VACUUM", "not-read-only"),
        ("LOAD DATA INFILE '/etc/passwd' INTO TABLE t", "not-read-only"),
        ("EXPLAIN ANALYZE DELETE FROM t", "not-read-only"),
        ("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", "not-read-only"),
        ("WITH x AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM x", "not-read-only"),
        ("WITH x AS (SELECT 1) DELETE FROM t", "not-read-only"),
        ("SELECT * INTO copy FROM t", "not-read-only"),
        ("SELECT a INTO OUTFILE '/tmp/x' FROM t", "not-read-only"),
        ("SELECT a FROM t FOR UPDATE", "not-read-only"),
        ("SELECT a FROM t FOR SHARE", "locks-rows"),
        ("SELECT 1 DELETE FROM users", "not-read-only"),
        ("SELECT 1 SHUTDOWN", "not-read-only"),
        ("SELECT 1; SELECT 2", "several-statements"),
        ("SELECT * FROM t -- ok; ok\nWHERE x = 1;\n/* x */ DELETE/**/FROM users;\n", "several-statements"),
        ("BEGIN; SELECT 1; COMMIT", "several-statements"),
        ("SELECT FROM WHERE", "unreadable-sql"),
        ("SELECT (1", "unreadable-sql"),
        ("SELECT 'open", "unreadable-sql"),
        ("no sql at all", "unreadable-sql"),
        ("EXPLAIN", "unreadable-sql"),
        (f"SELECT {'(' * 500}1{')' * 500}", "unreadable-sql"),
        (f"SELECT {'a, ' * 20_000} b", "sql-too-long"),
    ],
)
def test_everything_else_is_refused(sql: str, rule: str) -> None:
    """By its rule."""
    assert judge(sql) == rule


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT /*! DELETE */ 1",
        "SELECT 1 /*!50000 INTO OUTFILE '/x' */",
        "SELECT 1 /*M! + 1 */",
        "SELECT /* a /* b */ 1 */",
        "SELECT 1 --1; DROP TABLE x",
        "SELECT 1 # ; DROP TABLE x",
        "SELECT '\\'; DROP TABLE x; --'",
        "SELECT 1\0",
    ],
)
def test_what_databases_read_differently_is_refused(sql: str) -> None:
    """Some of them would see a second statement there."""
    assert judge(sql) is not None


def test_a_dialect_settles_what_is_in_doubt() -> None:
    """Its strings and comments are known."""
    assert judge("SELECT 'a\\'-- '", dialect="mysql") is None
    assert judge("SELECT 'a\\'-- '") == "ambiguous-sql"
    assert judge("SELECT 1 # one", dialect="mysql") is None
    assert judge("SELECT 1 --1; DROP TABLE x", dialect="mysql") == "several-statements"
    assert judge("SELECT a FROM t LIMIT 5, 10", dialect="mysql") is None
    assert judge("SELECT /*! DELETE */ 1", dialect="mysql") == "ambiguous-sql"
    assert judge("SELECT 1 SHUTDOWN", dialect="tsql") == "not-read-only"
    assert judge("SELECT a FROM t WITH (NOLOCK)", dialect="tsql") is None
    assert judge("SELECT a FROM t WITH (UPDLOCK)", dialect="tsql") == "locks-rows"


TABLES = ["users", "sales.orders", "pub.*", "Mixed"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM users",
        "SELECT * FROM USERS u",
        'SELECT * FROM "users"',
        'SELECT * FROM "Mixed"',
        "SELECT * FROM sales.orders AS o JOIN users ON users.id = o.user_id",
        "SELECT * FROM pub.anything",
        "WITH users2 AS (SELECT * FROM users) SELECT * FROM users2",
        "WITH b AS (SELECT 1), a AS (SELECT * FROM b) SELECT * FROM a",
        "SELECT * FROM users WHERE a = (WITH q AS (SELECT 1) SELECT * FROM q)",
        "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT * FROM t",
        "SELECT * FROM unnest(ARRAY[1]) AS x",
        "DESCRIBE users",
    ],
)
def test_permitted_tables_may_be_read(sql: str) -> None:
    """Under their names, aliases, and through what the query itself defines."""
    assert judge(sql, tables=TABLES) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM secret",
        "SELECT * FROM orders",
        "SELECT * FROM other.users",
        "SELECT * FROM db.sales.orders",
        'SELECT * FROM "USERS"',
        "SELECT * FROM users, secret",
        "SELECT * FROM users JOIN secret ON 1 = 1",
        "SELECT * FROM users CROSS JOIN LATERAL (SELECT * FROM secret) s",
        "SELECT (SELECT max(id) FROM secret) FROM users",
        "SELECT 1 FROM users WHERE EXISTS (SELECT 1 FROM secret)",
        "SELECT 1 FROM users ORDER BY (SELECT 1 FROM secret)",
        "SELECT * FROM users UNION SELECT * FROM secret",
        "SELECT x FROM users WHERE x IN secret",
        "VALUES ((SELECT a FROM secret))",
        "TABLE secret",
        "SELECT * FROM (TABLE secret) x",
        "SELECT * FROM query_table('secret')",
        "SELECT * FROM 'secret.csv'",
        "WITH users AS (SELECT * FROM secret) SELECT * FROM users",
        "WITH secret AS (SELECT * FROM secret) SELECT * FROM secret",
        "WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a",
        'WITH "Secret" AS (SELECT 1) SELECT * FROM secret',
        'WITH "secret" AS (SELECT 1) SELECT * FROM secret',
        "WITH Secret AS (SELECT 1) SELECT * FROM secret",
        "SELECT * FROM (WITH secret AS (SELECT 1) SELECT * FROM secret) y JOIN secret ON 1 = 1",
        "EXPLAIN SELECT * FROM secret",
        "DESCRIBE secret",
        "SHOW TABLES",
    ],
)
def test_no_other_table_is_read(sql: str) -> None:
    """Wherever in a query it stands, and whatever else goes by its name."""
    assert judge(sql, tables=TABLES) in {
        "table-not-permitted",
        "function-not-permitted",
        "unreadable-sql",
        "not-read-only",
    }


@pytest.mark.parametrize(
    "dialect", ["postgres", "mysql", "tsql", "duckdb", "snowflake", "bigquery", "oracle", "sqlite"]
)
def test_tables_are_found_in_every_dialect(dialect: str) -> None:
    """The same query, permitted and not."""
    sql = "WITH a AS (SELECT u.id FROM {} u) SELECT a.id, count(*) FROM a GROUP BY a.id"
    assert judge(sql.format("users"), tables=TABLES, dialect=dialect) is None
    assert judge(sql.format("secret"), tables=TABLES, dialect=dialect) == "table-not-permitted"


def test_files_are_no_tables() -> None:
    """Some databases read them under their paths."""
    for sql, dialect in (("SELECT * FROM '/etc/passwd'", "duckdb"), ("SELECT * FROM parquet.`/data/x`", "spark")):
        assert judge(sql, dialect=dialect) == "table-not-permitted"


COLUMNS = ["id", "users.name", "pub.t.*"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM x",
        "SELECT name FROM users",
        "SELECT u.name FROM users u WHERE u.id > 1",
        "SELECT users.name FROM users JOIN x ON users.id = x.id",
        "SELECT u.id FROM users u JOIN x USING (id)",
        "SELECT count(*) FROM users",
        "SELECT * FROM pub.t",
        "SELECT t.* FROM pub.t",
        "SELECT * FROM (SELECT id, name AS n FROM users) s",
        "SELECT s.n, n FROM (SELECT id, name AS n FROM users) s",
        "WITH a(z) AS (SELECT id FROM users) SELECT z FROM a",
        "WITH users AS (SELECT id FROM users) SELECT id, anything FROM users",
        "SELECT name AS k FROM users ORDER BY k",
        "SELECT id FROM users u WHERE EXISTS (SELECT 1 FROM x WHERE x.id = u.name)",
    ],
)
def test_permitted_columns_may_be_read(sql: str) -> None:
    """And what a query makes of them is its own."""
    assert judge(sql, columns=COLUMNS) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ssn FROM users",
        "SELECT name FROM x",
        "SELECT name FROM users JOIN x ON users.id = x.id",
        "SELECT u.ssn FROM users u",
        "SELECT * FROM users",
        "SELECT u.* FROM users u",
        "SELECT id FROM users WHERE ssn = 1",
        "SELECT id FROM users ORDER BY ssn",
        "SELECT id FROM users GROUP BY ssn",
        "SELECT name AS ssn FROM users ORDER BY ssn || ''",
        "SELECT name AS ssn FROM users HAVING ssn > 1",
        "SELECT CASE WHEN ssn = 1 THEN id END FROM users",
        "SELECT max(ssn) OVER (PARTITION BY id) FROM users",
        "SELECT n FROM (SELECT ssn AS n FROM users) s",
        "WITH users AS (SELECT ssn FROM users) SELECT ssn FROM users",
        "WITH a AS (SELECT id FROM users) SELECT ssn FROM a, users",
        'WITH "U" AS (SELECT 1 AS ssn) SELECT ssn FROM u',
        "SELECT id FROM users UNION SELECT ssn FROM users",
        "SELECT (SELECT ssn) FROM users",
        "SELECT id FROM users, LATERAL (SELECT ssn) q",
        "SELECT id FROM users u WHERE EXISTS (SELECT 1 FROM x WHERE x.id = u.ssn)",
        "SELECT u.id FROM users u JOIN x USING (ssn)",
        "SELECT id FROM users NATURAL JOIN x",
        "SELECT row_to_json(u) FROM users u",
        "SELECT id FROM users AS id",
        "SELECT id FROM users AS t(id, name)",
        "SELECT s.ssn.x FROM users s",
        "VALUES ((SELECT ssn FROM users))",
        "SHOW TABLES",
    ],
)
def test_no_other_column_is_read(sql: str) -> None:
    """Not to show it, not to choose by it, not under another name, not with a whole row."""
    assert judge(sql, columns=COLUMNS) in {"column-not-permitted", "table-not-permitted"}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_catalog.pg_read_file('x')",
        "SELECT \"pg_read_file\"('x')",
        "SELECT PG_SLEEP (10)",
        "SELECT pg_sleep/**/(10)",
        "SELECT load_extension('x')",
        "SELECT LOAD_FILE('/etc/passwd')",
        "SELECT * FROM dblink('host=x', 'DROP TABLE y') AS t(a int)",
        "SELECT * FROM OPENROWSET('x', 'y', 'z')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT xp_cmdshell('dir')",
        "SELECT nextval('s')",
        "SELECT query_to_xml('DELETE FROM t', true, true, '')",
    ],
)
def test_dangerous_functions_are_never_called(sql: str) -> None:
    """However they are written, and though all others may be."""
    assert judge(sql) == "function-not-permitted"
    assert judge(sql, functions=["pg_read_file", "pg_sleep", "load_file"]) == "function-not-permitted"


def test_functions_may_be_limited() -> None:
    """To those that are named; what is syntax is no function."""
    sql = "SELECT count(*), lower(a) FROM t WHERE a IN (1, 2) AND b LIKE 'x' OR NOT EXISTS (SELECT CAST(1 AS INT))"
    assert judge(sql, functions=["COUNT", "lower"]) is None
    assert judge("SELECT upper(a) FROM t", functions=["lower"]) == "function-not-permitted"
    assert judge("SELECT own(a) FROM t", functions=["lower"]) == "function-not-permitted"
    assert judge("SELECT own(a) FROM t") is None


@pytest.mark.parametrize(
    ("sql", "within"),
    [
        ("SELECT 1 LIMIT 10", True),
        ("SELECT 1 UNION SELECT 2 LIMIT 3", True),
        ("(SELECT 1 LIMIT 3)", True),
        ("SELECT 1 FETCH FIRST 5 ROWS ONLY", True),
        ("SELECT 1 LIMIT 11", False),
        ("SELECT 1", False),
        ("SELECT 1 LIMIT -1", False),
        ("SELECT 1 LIMIT (SELECT 5)", False),
        ("SELECT 1 FETCH FIRST 5 PERCENT ROWS ONLY", False),
        ("SELECT * FROM (SELECT 1 LIMIT 5) x", False),
    ],
)
def test_rows_may_be_limited(sql: str, within: bool) -> None:
    """By a number that stands there."""
    assert judge(sql, max_rows=10) == (None if within else "too-many-rows")


def test_what_the_parser_logs_is_not_heard(caplog: pytest.LogCaptureFixture) -> None:
    """It quotes the statement."""
    with caplog.at_level(logging.DEBUG):
        for sql in ("WITH x AS (CALL secret()) SELECT 1", "SELECT 1 FROM secret WHERE", "ANALYZE secret"):
            assert judge(sql) is not None
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    "options",
    [{"tables": "users"}, {"tables": [""]}, {"columns": ["a..b"]}, {"functions": [1]}, {"dialect": "klingon"}],
)
def test_what_cannot_be_permitted_is_said(options: dict[str, Any]) -> None:
    """When it is declared, not when an answer comes."""
    with pytest.raises(DeclarationError, match="sql_gate"):
        judge("SELECT 1", **options)
