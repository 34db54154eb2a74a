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
    Agent,
    Allow,
    Answer,
    Budget,
    Deps,
    DepsError,
    DepsImportError,
    IncomingMessage,
    Incremental,
    LastMessages,
    Message,
    Pass,
    Proceed,
    Prompt,
    RequiredControlError,
    TokenLimit,
    ToolCallCheck,
    TurnContext,
    input_processor,
    load_deps,
    message_rule,
    output_processor,
    pre_processor,
    tool,
    tool_rule,
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


def rule(name: str) -> Callable[[IncomingMessage], Proceed]:
    """Return a message rule."""

    @message_rule(name=name)
    def function(_: IncomingMessage) -> Proceed:
        return Proceed()

    return function


@tool_rule(name="no-saw")
def no_saw(_: ToolCallCheck) -> Allow:
    """Allow every call."""
    return Allow()


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
        (lambda: Deps(agents=[Agent("a"), Agent("a")]), "agents has more than one of: a"),
        (lambda: Deps(agents=["a"]), r"agents\[0\]: of type str: write Agent\(...\)"),
        (lambda: Deps(agents=[Agent("a", tools=("clock", "saw"))], tools=[clock]), "'a' may call saw.*Tools: clock"),
        (lambda: Deps(budgets=[10]), r"budgets\[0\]: of type int: write Budget"),
        (lambda: Deps(governance=[inputs]), r"governance\[0\]: 'inputs' is no rule.*move it to input_processors"),
        (lambda: Deps(governance=[rule("a"), rule("a")]), "governance has more than one of: a"),
        (lambda: Deps(input_processors=[rule("a")]), "'a' is a processor of kind 'governance'.*move it to governance"),
        (lambda: Deps(history=20), r"history must be LastMessages\(...\)"),  # type: ignore[arg-type]
        (lambda: Deps(history=LastMessages), r"history must be LastMessages\(...\)"),
        (lambda: Deps(history=lambda: ()), "history 'history': its function must take"),
        (lambda: Deps(prompt_builder="be kind"), "prompt_builder must be a function"),  # type: ignore[arg-type]
        (lambda: Deps(gate_post_processed=1), "gate_post_processed must be True or False"),  # type: ignore[arg-type]
        (lambda: Deps(carry_across_steps=None), "carry_across_steps must be True"),  # type: ignore[arg-type]
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


def test_rules_keep_their_order_and_are_controls() -> None:
    """Messages and tool calls in one list; both may be required, and each kind has a chain of its own."""
    deps = Deps(governance=[rule("b"), no_saw, rule("a")], required_controls=["no-saw", "a"])
    assert names(deps.governance) == ["b", "no-saw", "a"]
    assert names(deps.chain("governance")) == names(deps.manifest.governance) == ["b", "a"]
    assert names(deps.chain("tool_rule")) == names(deps.manifest.chain("tool_rule")) == ["no-saw"]
    with pytest.raises(RequiredControlError, match=r"not active: a\. Active controls: no-saw"):
        Deps(governance=[no_saw], required_controls=["a"])


def test_agents_and_budgets_are_in_the_manifest() -> None:
    """As they are, for they are data."""
    agents, budgets = [Agent("a", tools=("clock",)), Agent("b", history=TokenLimit(5))], [Budget("user", 5, 60)]
    manifest = Deps(agents=agents, budgets=budgets, tools=[clock]).manifest
    assert (manifest.agents, manifest.budgets) == (tuple(agents), tuple(budgets))
    assert manifest.agent("b") == agents[1]
    assert manifest.agent("c") is None
    assert not manifest


def test_the_manifest_says_whether_prompts_are_derived() -> None:
    """By input processors, by a history of the operator's or by a prompt builder; a window alone is for turns to apply."""
    window = Deps(history=LastMessages(3)).manifest
    assert (window.history, window.own_history, window.derives) == (LastMessages(3), False, False)
    assert Deps(input_processors=[inputs]).manifest.derives
    own = Deps(history=lambda messages: messages[-3:], prompt_builder=lambda _, context: context.agent).manifest
    assert (own.history, own.own_history, own.derives) == (None, True, True)
    assert names(own.derivation) == ["history", "prompt-builder"]
    assert [member.timeout_s for member in own.derivation] == [30, 30]
    builder = Deps(prompt_builder=lambda prompt: prompt).manifest
    assert (builder.own_history, builder.derives) == (False, True)
    assert own
    assert not window


def test_an_object_may_derive_prompts_under_a_limit_of_its_own() -> None:
    """One that is called, sync or async, with a version if it likes."""

    class Window:
        timeout_s = 2.5
        version = "3"

        async def __call__(self, messages: tuple[Message, ...], context: TurnContext) -> tuple[Message, ...]:
            del context
            return messages

    (member,) = Deps(history=Window()).derivation
    assert (member.kind, member.timeout_s, member.version, member.is_async) == ("history", 2.5, "3", True)


def test_what_becomes_of_text_between_steps_and_after_is_said_by_switches() -> None:
    """Off unless the operator says so."""
    deps = Deps(gate_post_processed=True, carry_across_steps=True)
    assert (deps.manifest.gate_post_processed, deps.manifest.carry_across_steps) == (True, True)
    assert (Deps().manifest.gate_post_processed, Deps().manifest.carry_across_steps) == (False, False)


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
