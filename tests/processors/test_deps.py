"""The operator's declaration, and how it is found."""

from __future__ import annotations

import pickle
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from processors import (
    Answer,
    Deps,
    DepsError,
    DepsImportError,
    IncomingMessage,
    Incremental,
    Pass,
    Proceed,
    Prompt,
    RequiredControlError,
    input_processor,
    load_deps,
    output_processor,
    pre_processor,
    tool,
)


def output(name: str, lookback: int | None = None) -> Callable[[Answer], Pass]:
    """Return an output processor."""

    @output_processor(name=name, incremental=None if lookback is None else Incremental(lookback_chars=lookback))
    def function(_: Answer) -> Pass:
        return Pass()

    return function


def pre(name: str, priority: float) -> Callable[[IncomingMessage], Proceed]:
    """Return a pre-processor."""

    @pre_processor(name=name, priority=priority)
    def function(_: IncomingMessage) -> Proceed:
        return Proceed()

    return function


@input_processor(name="inputs")
def inputs(prompt: Prompt) -> Prompt:
    """Give it back."""
    return prompt


@tool()
def clock(zone: str) -> str:
    """Tell the time."""
    return zone


def names(members: tuple[Any, ...]) -> list[str]:
    """Return the names of processors."""
    return [member.name for member in members]


def test_controls_keep_the_order_they_are_given_in() -> None:
    """It is the order they run in."""
    assert names(Deps(output_processors=[output("b"), output("a")]).output_processors) == ["b", "a"]


def test_pre_processors_run_by_priority_and_then_by_name() -> None:
    """Any number is a priority."""
    deps = Deps(pre_processors=[pre("c", 100), pre("b", 100), pre("z", -1), pre("a", 100.5)])
    assert names(deps.pre_processors) == ["z", "b", "c", "a"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Deps(output_processors=[inputs]), r"output_processors\[0\]: 'inputs'.*move it to input_processors"),
        (lambda: Deps(output_processors=[output("a"), output("a")]), "more than one of: a"),
        (lambda: Deps(output_processors=[lambda answer: answer]), "decorate the function with @output_processor"),
        (lambda: Deps(output_processors=output("a")), "must be a list"),  # type: ignore[arg-type]
        (lambda: Deps(input_processors=[type("C", (), {})]), r"list an instance, C\("),
        (lambda: Deps(window="narrow"), "window"),  # type: ignore[arg-type]
        (lambda: Deps(required_controls="a"), "required_controls must be a list"),
        (lambda: Deps(tools=[clock, clock]), "tools has more than one of: clock"),
        (lambda: Deps(tools=[names]), r"tools\[0\]: names is no tool: decorate the function with @tool"),
        (lambda: Deps(tools=clock), "tools must be a list"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_declaration_says_which_entry_and_what_to_do(make: Callable[[], Deps], message: str) -> None:
    """When it is made."""
    with pytest.raises(DepsError, match=message):
        make()


def test_a_required_control_must_be_active() -> None:
    """A pre-processor of that name is no control."""
    Deps(output_processors=[output("a")], input_processors=[inputs], required_controls=["a", "inputs"])
    with pytest.raises(RequiredControlError, match=r"not active: missing, p\. Active controls: a"):
        Deps(output_processors=[output("a")], pre_processors=[pre("p", 1)], required_controls=["missing", "a", "p"])


@pytest.mark.parametrize(
    ("members", "window", "mode", "chars"),
    [
        ([], "widest", "live", 0),
        ([output("a")], "widest", "whole", 0),
        ([output("a", 10), output("b")], "widest", "whole", 10),
        ([output("a", 10), output("b", 30)], "widest", "incremental", 30),
        ([output("a", 10), output("b", 30)], "sum", "incremental", 40),
        ([output("a", 0)], "widest", "incremental", 0),
    ],
)
def test_the_manifest_says_how_answers_are_released(members: list[object], window: Any, mode: str, chars: int) -> None:
    """A chain is incremental only if every member is."""
    manifest = Deps(output_processors=members, window=window).manifest
    assert (manifest.release_mode, manifest.window_chars) == (mode, chars)


def test_the_manifest_can_be_sent_to_another_process() -> None:
    """The code, which cannot, is not in it."""
    manifest = Deps(output_processors=[output("a")], input_processors=[inputs], pre_processors=[pre("p", 1)]).manifest
    assert pickle.loads(pickle.dumps(manifest)) == manifest  # noqa: S301 - just written here
    assert names(manifest.chain("pre")) == ["p"]
    assert manifest
    assert not Deps().manifest


def test_tools_are_in_the_manifest_without_their_code() -> None:
    """What models are told, and the limit; tools alone make no manifest that is worth a process for processors."""
    deps = Deps(tools=[clock])
    assert deps.tools == (clock,)
    assert deps.manifest.tools == (clock.spec(),)
    assert pickle.loads(pickle.dumps(deps.manifest)) == deps.manifest  # noqa: S301 - just written here
    assert not deps.manifest


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Give a folder for modules, and leave no trace of it in this interpreter."""
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(folder: Path, text: str, name: str = "their_gate") -> None:
    """Write a module."""
    (folder / f"{name}.py").write_text(textwrap.dedent(text))


GATE = """
    from processors import Answer, Deps, Pass, output_processor

    @output_processor(name="their")
    def their(answer: Answer) -> Pass:
        import their_neighbour
        return Pass()

    class inner:
        deps = Deps(output_processors=[their])

    chain = [their]
    number = 3
"""


def test_deps_are_found_in_the_given_places(folder: Path) -> None:
    """As a dotted attribute or a bare list; and the module finds its neighbours when it runs."""
    write(folder, GATE)
    write(folder, "", "their_neighbour")
    deps = load_deps("their_gate:inner.deps", paths=[folder])
    assert names(deps.output_processors) == ["their"]
    assert load_deps("their_gate:chain") == deps
    assert deps.output_processors[0].call(Answer("x"), None) == Pass()


def test_the_given_places_go_before_what_is_installed(folder: Path) -> None:
    """Somebody's leftover `colorsys` elsewhere is not what the operator means; each place is added once."""
    write(folder, GATE, "colorsys")
    sys.modules.pop("colorsys", None)
    for _ in range(2):
        assert names(load_deps("colorsys:chain", paths=[folder]).output_processors) == ["their"]
    assert sys.path.count(str(folder)) == 1


@pytest.mark.parametrize("spec", ["their_gate", ":deps", "their_gate:", ""])
def test_a_place_that_is_none_is_refused(spec: str) -> None:
    """The error shows the form."""
    with pytest.raises(DepsImportError, match="write module:attribute"):
        load_deps(spec)


@pytest.mark.parametrize(
    ("text", "spec", "message"),
    [
        (None, "their_gate:deps", r"ModuleNotFoundError: No module named 'their_gate'\. Looked in .*{folder}"),
        ("import their_missing_thing", "their_gate:deps", "No module named 'their_missing_thing'.*mend that"),
        ("1 / 0", "their_gate:deps", "ZeroDivisionError: division by zero.*mend that"),
        ("def", "their_gate:deps", "SyntaxError"),
        ("raise SystemExit(3)", "their_gate:deps", "SystemExit: 3"),
        (GATE, "their_gate:deps", "no 'deps'. There is no Deps object"),
        (GATE + "    other = inner.deps\n", "their_gate:deps", "no 'deps'. It has: other"),
        (GATE, "their_gate:number", "of type int: it must be a Deps"),
    ],
)
def test_what_cannot_be_loaded_says_why(folder: Path, text: str | None, spec: str, message: str) -> None:
    """With the class and message of what went wrong, which is the error's cause too."""
    if text is not None:
        write(folder, text)
    with pytest.raises(DepsImportError, match=message.replace("{folder}", str(folder))) as caught:
        load_deps(spec, paths=[folder])
    assert caught.value.__cause__ is not None or "of type" in message


def test_an_error_of_the_deps_keeps_its_class_and_gains_its_place(folder: Path) -> None:
    """A required control that is missing is not taken for a broken module."""
    write(folder, "from processors import Deps\ndeps = Deps(required_controls=['must-be'])\n")
    with pytest.raises(RequiredControlError, match="their_gate:deps: required_controls: not active: must-be"):
        load_deps("their_gate:deps", paths=[folder])


def test_a_list_of_something_else_is_refused(folder: Path) -> None:
    """By entry."""
    write(folder, "chain = [1]\n")
    with pytest.raises(DepsError, match=r"output_processors\[0\]"):
        load_deps("their_gate:chain", paths=[folder])
