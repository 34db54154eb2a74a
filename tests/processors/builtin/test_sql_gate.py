"""`sql_gate`: SQL is found wherever it stands, English is left alone."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from processors import Allow, Answer, DeclarationError, Deny, Deps, Pass, Reject, ToolCall, ToolCallCheck
from processors.builtin import moderation, sql_gate, sql_rule
from processors.builtin.sql.find import Finder
from processors.testing import run_gate
from tests.cases.case import case
from tests.processors.builtin.leaks import assert_same_however_cut
from tests.properties.drive import splits

GATE = sql_gate(tables=["users", "posts", "t"])
FENCE = "```"


def rule(text: str, *arguments: str) -> str | None:
    """Return the rule that an answer breaks, with tool calls of these arguments."""
    calls = tuple(ToolCall(id=str(n), name="run", arguments=one) for n, one in enumerate(arguments))
    verdict = GATE.process(Answer(text, calls))
    return verdict.reason if isinstance(verdict, Reject) else None


@pytest.mark.parametrize(
    "text",
    [
        "Please select one from the list.",
        "Select one from the list",
        "You can select items from menu bar.",
        "Please select the item(s) from the menu.",
        "Select red, green or blue from the palette",
        "Select * if you like",
        'He said: "select one from column A"',
        "The set of values (1,2) is used to select from among them.",
        "Move left (then select it) from there",
        "Update your profile and set it to private.",
        "Update the settings, set a = 5 and go on",
        "Please update the row and set x.",
        "Drop the table reservation.",
        "If you drop table reservations they go.",
        "drop table saw blades",
        "Create a table of contents; insert coin into slot.",
        "I'd like to order: create user accounts for everyone",
        "insert into the slot",
        "Show tables at the wedding",
        "Delete from the cart what you do not want.",
        "Please delete from your cart.",
        "delete from package.json",
        "DO NOT DELETE FROM THE FRIDGE",
        "Never run DELETE FROM without WHERE",
        "The SELECT statement reads rows; the UPDATE statement writes.",
        "The `SELECT` keyword, and use `DROP TABLE` with care",
        "With love from Paris, with John as (acting) chair",
        "We merge into main using rebase",
        "Grant access on Monday to users",
        "Execute order 66, call me maybe (please), exec bash",
        "copy files from folder to disk",
        "Alter your ego, truncate text, replace the bulb",
        "Explain how select works",
        "Use commas -- or dashes -- or /* comments */",
        '{"label": "Select one from the list", "text": "Update your profile"}',
        '{"query": "weather in Berlin"}',
        '{"query": "update on news"}',
        f"{FENCE}python\nprint('hi')\n{FENCE}",
        f"{FENCE}json\n{{}}\n{FENCE}",
        "`npm install` and `set x = 5`",
        "",
    ],
)
def test_english_is_left_alone(text: str) -> None:
    """Though it has SQL's words, and though nothing of what it names may be read."""
    assert rule(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM users",
        "Use SELECT name FROM users to list names.",
        "Use `SELECT name FROM users`.",
        "Run SELECT name FROM users; it lists names.",
        "First SELECT a FROM users. Then SELECT b FROM posts.",
        f"Run:\n{FENCE}sql\nSELECT 1;\n{FENCE}\nand\n{FENCE}SQL\nSELECT 2\n{FENCE}",
        f"{FENCE}\nSELECT a FROM users\n{FENCE}",
        f"Run {FENCE}sql SELECT a FROM users{FENCE} now.",
        f"{FENCE}SELECT a FROM users{FENCE}",
        f"{FENCE}sql\n-- nothing yet\n{FENCE}",
        '{"query": "SELECT a FROM users"}',
        '{"sql": "SELECT \\"a\\"\\nFROM users"}',
        "SELECT name FROM users WHERE x = 'it''s; ok'",
        "WITH x AS (SELECT 1) SELECT * FROM x",
        "explain select a from users where a = 1",
        "SELECT a\n\nFROM users",
        "SELECT * FROM users WHERE " + " AND ".join(f"a{n} = {n}" for n in range(300)),
    ],
)
def test_what_is_permitted_passes(text: str) -> None:
    """In a fence, inline, in a sentence, in JSON, or alone."""
    assert rule(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM users",
        "delete from users",
        "(delete from users)",
        "-- note\nDELETE FROM users",
        "DELETE/**/FROM users",
        "DELETE -- x\nFROM users",
        "DELETE\n\nFROM users",
        "/*!50000 DELETE FROM users */",
        "You can run DELETE FROM users now",
        "You can run delete from users;",
        "Text.DELETE FROM users",
        "Run drop table users; now",
        "drop view if exists x",
        "update users set a = 1",
        "Insert into users values (1)",
        "REPLACE INTO users VALUES (1)",
        "MERGE INTO users USING x ON 1=1",
        "CREATE TABLE x (a int)",
        "create table x (a int)",
        "ALTER TABLE users ADD COLUMN x int",
        "TRUNCATE TABLE users",
        "truncate table users;",
        "rename table users to x;",
        "GRANT ALL ON users TO bob",
        "EXEC xp_cmdshell 'dir'",
        "exec xp_cmdshell 'dir'",
        "COPY users TO PROGRAM 'curl x'",
        "copy users to program 'curl'",
        "LOAD DATA INFILE '/x' INTO TABLE users",
        "ATTACH DATABASE 'x' AS y",
        "PRAGMA writable_schema = 1",
        "DO $$ BEGIN DELETE FROM users; END $$",
        "EXPLAIN ANALYZE DELETE FROM users",
        "WITH x AS (DELETE FROM users RETURNING *) SELECT * FROM x",
        "DEL\u200bETE FROM users",
        "ＤＥＬＥＴＥ FROM users",
        "call 'DROP TABLE users'",
        "`delete from users`",
        f"{FENCE}\ndelete from users\n{FENCE}",
        f"Run {FENCE}sql delete from users{FENCE}",
        "~~~sql\ndelete from users\n~~~",
        f"{FENCE}`text\n{FENCE}sql\ndrop table users\n{FENCE}\n{FENCE}`",
        f"{FENCE}postgresql\nTRUNCATE users",
        '{"query": "delete from users"}',
        '{"a": {"b": ["x", "DROP TABLE users"]}}',
        'Here: {"sql": "\\u0044ELETE FROM users"} ok',
        'Here: {"a": "DELETE\\nFROM users"}',
        '"{\\"sql\\": \\"DROP TABLE users\\"}"',
        '{"sql": "DROP TABLE users", "sql": "SELECT 1"}',
    ],
)
def test_what_writes_is_rejected(text: str) -> None:
    """However it is dressed."""
    assert rule(text) == "not-read-only"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM secret", "table-not-permitted"),
        ("Use SELECT name FROM secret to list names.", "table-not-permitted"),
        ("select name from secret where id = 1", "table-not-permitted"),
        ('The query "select * from secret" is bad', "table-not-permitted"),
        ('{"query": "SELECT a FROM secret"}', "table-not-permitted"),
        ("SELECT a FROM users UNION SELECT b FROM secret", "table-not-permitted"),
        ("SELECT a FROM users WHERE id IN (SELECT id FROM secret)", "table-not-permitted"),
        ("SELECT a\n\nFROM secret", "table-not-permitted"),
        ("select pg_sleep(10)", "function-not-permitted"),
        ("SELECT 1; SELECT 2", "several-statements"),
        ("SELECT a FROM users; DELETE FROM users", "several-statements"),
        ("Run SELECT a FROM users;\nSELECT b FROM users; please", "several-statements"),
        (f"{FENCE}sql\nSELECT 1; DROP TABLE users\n{FENCE}", "several-statements"),
        (f"{FENCE}sql\nfoo bar\n{FENCE}", "unreadable-sql"),
        ('{"sql": "foo"}', "unreadable-sql"),
        ("Then: SELECT a INTO OUTFILE '/x' FROM users", "not-read-only"),
        ("Then: SELECT a, ((b FROM users", "unreadable-sql"),
        ("SELECT a FROM users\n\nFOR UPDATE", "unreadable-sql"),
        ("SELECT a FROM users FOR UPDATE", "not-read-only"),
    ],
)
def test_a_rejection_names_the_rule(text: str, expected: str) -> None:
    """And nothing else."""
    assert rule(text) == expected


def test_tool_calls_are_judged() -> None:
    """Their arguments, as JSON and as what they are."""
    assert (
        rule("", '{"query": "SELECT a FROM users"}', '{"message": "Please select one from the list"}', "", "{}") is None
    )
    assert rule("", '{"query": "DELETE FROM users"}') == "not-read-only"
    assert rule("", "{}", '{"q": {"sql": "SELECT * FROM secret"}}') == "table-not-permitted"
    assert rule("", '{"statements": ["SELECT 1", "SELECT a FROM secret"]}') == "table-not-permitted"
    assert rule("", "delete from users") == "not-read-only"
    assert rule("", '{"query": "SELECT 1; DROP TABLE x"') == "several-statements"
    assert rule("", '{"args": "{\\"sql\\": \\"DROP TABLE x\\"}"}') == "not-read-only"


def test_a_rule_denies_the_call_alone() -> None:
    """By the same judge, with the same names for what is wrong; it can be required."""
    ruled = sql_rule(tables=["users"], max_rows=20, dialect="sqlite")

    def verdict(query: str) -> object:
        return ruled.process(ToolCallCheck(ToolCall(id="1", name="run", arguments=json.dumps({"query": query}))))

    assert verdict("SELECT name FROM users LIMIT 5") == Allow()
    assert verdict("SELECT name FROM users") == Deny("too-many-rows")
    assert verdict("SELECT note FROM staff LIMIT 5") == Deny("table-not-permitted")
    assert verdict("DELETE FROM users") == Deny("not-read-only")
    assert Deps(governance=[ruled], required_controls=["sql-rule"]).governance[0].kind == "tool_rule"


def test_a_harmless_answer_comes_out_as_it_is_however_it_is_cut() -> None:
    """At the end, in one piece: it takes all of SQL to judge it."""
    text = case("sql-gate/harmless").expected["final"]
    assert_same_however_cut(sql_gate(tables=["posts"]), text, text)
    assert run_gate([sql_gate()], list(text)).releases == [text]
    assert Deps(output_processors=[sql_gate()]).manifest.release_mode == "whole"


def test_a_rejected_answer_never_comes_out_however_it_is_cut() -> None:
    """`sql-gate`: not a character of it, and the reason has none either."""
    for pieces in splits("".join(case("sql-gate").frames), 50, seed=3):
        run = run_gate([sql_gate()], pieces)
        assert (run.releases, run.outcome, run.processor) == ([], "rejected", "sql-gate")
        assert run.reason == "several-statements"


@pytest.mark.parametrize(
    "text",
    [
        "select (",
        "with ",
        f"{FENCE}sql\n",
        "`select a from users` ",
        "SELECT f(",
        "SELECT a FROM users\n\n",
        "explain ",
    ],
)
def test_no_answer_takes_more_than_so_much_work(text: str) -> None:
    """Beyond what anybody would write it is refused, or left at what was found so far."""
    judged: list[str] = []

    def judge(sql: str) -> str | None:
        judged.append(sql)
        return None

    finder = Finder(judge)
    finder.text(text * (500_000 // len(text)))
    assert len(judged) <= 2_000
    assert finder._budget.tokens >= -1


def test_deep_json_is_refused_or_read() -> None:
    """It does not take the stack down."""
    assert rule("[" * 50_000 + "]" * 50_000) is None
    assert rule('{"a":' * 500 + '"DROP TABLE users"' + "}" * 500) == "not-read-only"


@pytest.mark.parametrize(("module", "declare"), [("sqlglot", sql_gate), ("aiohttp", moderation)])
def test_a_missing_extra_is_named(module: str, declare: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the processor is declared."""
    monkeypatch.setitem(sys.modules, module, None)
    options = {"base_url": "https://m.example/v1", "model": "m"} if declare is moderation else {}
    with pytest.raises(DeclarationError, match=r"turngate\[builtin\]"):
        declare(**options)  # type: ignore[operator] # one of the two above


@pytest.mark.parametrize("max_rows", [0, -1, True, 1.5])
def test_a_limit_that_cannot_be_is_refused(max_rows: int) -> None:
    """When it is declared, not when an answer comes."""
    with pytest.raises(DeclarationError, match="max_rows"):
        sql_gate(max_rows=max_rows)


def test_rules_reach_the_judge() -> None:
    """Each of the options."""
    answer = Answer("SELECT lower(name) FROM users LIMIT 5")
    assert isinstance(sql_gate().process(answer), Pass)
    permitted: tuple[tuple[dict[str, Any], str], ...] = (
        ({"tables": ["posts"]}, "table-not-permitted"),
        ({"columns": ["id"]}, "column-not-permitted"),
        ({"functions": ["upper"]}, "function-not-permitted"),
        ({"max_rows": 4}, "too-many-rows"),
    )
    for options, reason in permitted:
        assert sql_gate(**options).process(answer) == Reject(reason)
