"""`docs/processors.md` against the code: kinds, arguments, fields, and the failure policy."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_args

import pytest
from pydantic import BaseModel

import processors
from processors import (
    Agent,
    Answer,
    Budget,
    Deps,
    IncomingMessage,
    LastMessages,
    Prompt,
    Reply,
    TokenLimit,
    ToolCallCheck,
    ToolContext,
    TurnContext,
    policy,
    tool,
)
from processors.checker.findings import Kind, Level
from processors.declare import KINDS, decorator_of
from processors.scanner import ScannerChain
from tests.docs.markdown import ROOT, Row, code, codes, sections

PAGE = ROOT / "docs" / "processors.md"
SECTIONS = sections(PAGE)
DECORATORS: dict[str, Callable[..., Any]] = {kind: getattr(processors, decorator_of(kind)) for kind in KINDS}
SUBJECTS: tuple[type, ...] = (Answer, Prompt, IncomingMessage, Reply, ToolCallCheck, TurnContext)
VERDICTS = {
    "governance": (processors.Proceed, processors.Block),
    "tool_rule": (processors.Allow, processors.Deny),
    "pre": (processors.Proceed, processors.Block),
    "input": (Prompt,),
    "output": (processors.Pass, processors.Replace, processors.Reject),
    "post": (processors.ModifiedResponse,),
}


def fields_of(subject: type) -> set[str]:
    """Return what can be read of a subject: its fields and its properties."""
    if issubclass(subject, BaseModel):
        return set(subject.model_fields)
    properties = {name for name, value in vars(subject).items() if isinstance(value, property)}
    return properties | set(inspect.signature(subject).parameters)


def test_the_kinds_and_what_they_see_and_answer() -> None:
    """A row for each decorator, with the names of what its functions take and give."""
    rows = SECTIONS["The kinds"].rows
    assert [code(row["kind"]) for row in rows] == [decorator_of(kind) for kind in KINDS]
    for row, kind in zip(rows, KINDS, strict=True):
        promised = inspect.getdoc(DECORATORS[kind]) or ""
        sees, answers = code(row["sees"]), codes(row["answers"])
        assert f"`{sees}`" in promised
        assert answers == [verdict.__name__ for verdict in VERDICTS[kind]]
        assert all(f"`{answer}`" in promised for answer in answers)


def arguments() -> set[tuple[str, str, str]]:
    """Return the decorators' arguments: kind, name, and default."""
    return {
        (kind, name, "required" if parameter.default is parameter.empty else repr(parameter.default))
        for kind, decorator in DECORATORS.items()
        for name, parameter in inspect.signature(decorator).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD  # what rules are given only to say why they take none of it
    }


def test_the_arguments_of_the_decorators() -> None:
    """Each argument with its default, for each kind that takes it."""
    table, *_ = SECTIONS["Declare them"].tables
    assert {
        (kind, code(row["argument"]), row["default"].strip("`")) for row in table for kind in row["kinds"].split(", ")
    } == arguments()


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.__name__)
def test_what_processors_see(subject: type) -> None:
    """Every field, and no other."""
    (table,) = [rows for rows in SECTIONS["What they see"].tables if f"`{subject.__name__}`" in rows[0]]
    assert {code(row[f"`{subject.__name__}`"]) for row in table} == fields_of(subject)


def test_what_processors_answer() -> None:
    """Every verdict with its fields."""
    rows = SECTIONS["What they answer"].rows
    verdicts = [verdict for kind in ("output", "pre", "post", "tool_rule") for verdict in VERDICTS[kind]]
    assert [(code(row["answer"]), codes(row["fields"])) for row in rows] == [
        (verdict.__name__, list(inspect.signature(verdict).parameters)) for verdict in verdicts
    ]


def defaults(described: Callable[..., Any]) -> dict[str, str]:
    """Return what a signature takes: names, each with its default."""
    return {
        name: "required" if parameter.default is parameter.empty else repr(parameter.default)
        for name, parameter in inspect.signature(described).parameters.items()
    }


@pytest.mark.parametrize(
    ("section", "column", "described"),
    [
        ("All that a `Deps` takes", "argument", Deps),
        ("Agents", "`Agent`", Agent),
        ("Budgets", "`Budget`", Budget),
        ("Tools", "argument of `tool`", tool),
    ],
)
def test_what_is_declared_beside_processors(section: str, column: str, described: Callable[..., Any]) -> None:
    """Every argument in order, each with its default."""
    (table,) = [rows for rows in SECTIONS[section].tables if column in rows[0]]
    assert [(code(row[column]), row["default"].strip("`")) for row in table] == list(defaults(described).items())


def test_what_a_tool_is_told_of_its_call() -> None:
    """Every field, and no other."""
    (table,) = [rows for rows in SECTIONS["Tools"].tables if "`ToolContext`" in rows[0]]
    assert {code(row["`ToolContext`"]) for row in table} == fields_of(ToolContext)


def test_the_windows() -> None:
    """Each as it is written."""
    rows = SECTIONS["What rides along in a prompt"].rows
    assert [code(row["window"]) for row in rows] == [
        f"{window.__name__}({', '.join(defaults(window))})" for window in (LastMessages, TokenLimit)
    ]


def test_the_failure_policy() -> None:
    """The table of the page is the table of the code."""

    def actions(row: Row) -> tuple[str, str]:
        return code(row["what happens"]), code(row["in a voice channel"])

    rows = SECTIONS["When one fails"].rows
    assert {row["kind"]: actions(row) for row in rows} == {
        kind: (rule.otherwise, rule.voice) for kind, rule in policy.TABLE.items()
    }


def test_the_release_modes() -> None:
    """Their names, and what is declared for each."""
    incremental = processors.output_processor("one", incremental=processors.Incremental(1))(lambda _: processors.Pass())
    whole = processors.output_processor("two")(lambda _: processors.Pass())
    table, *_ = SECTIONS["When text goes out"].tables
    scanning = processors.output_processor("three", open_scanner=lambda: ScannerChain([]), linear_time=True)(
        lambda _: processors.Pass()
    )
    declared: list[list[object]] = [[], [incremental, whole], [incremental], [scanning]]
    modes = [processors.Deps(output_processors=members).manifest.release_mode for members in declared]
    assert [row["release"] for row in table] == modes


def test_what_the_promise_checker_finds() -> None:
    """Every kind of finding, in the order of the code, with levels that there are."""
    rows = SECTIONS["Check the promise"].rows
    assert [code(row["finding"]) for row in rows] == list(get_args(Kind))
    assert {level for row in rows for level in row["level"].split(" or ")} == set(get_args(Level))
