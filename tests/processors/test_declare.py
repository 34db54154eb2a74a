"""How processors are declared."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from processors import (
    Answer,
    Declaration,
    DeclarationError,
    Deps,
    Incremental,
    Pass,
    Proceed,
    Processor,
    Prompt,
    Replace,
    TurnContext,
    input_processor,
    output_processor,
    post_processor,
    pre_processor,
)
from processors.declare import as_processor


@output_processor(name="redact", incremental=Incremental(lookback_chars=320))
def redact(answer: Answer) -> Replace:
    """Redact."""
    return Replace(answer.text.replace("secret", "[redacted]"))


def described(member: object) -> Processor:
    """Return the description of an output processor."""
    return as_processor(member, "output")


def test_a_decorated_function_is_still_that_function() -> None:
    """Tests call it as it was written."""
    assert redact(Answer("a secret")) == Replace("a [redacted]")
    assert redact.__name__ == "redact"


def test_a_decorated_function_carries_its_declaration() -> None:
    """With the defaults of a control."""
    processor = described(redact)
    assert (processor.kind, processor.name, processor.is_async, processor.timeout_s) == ("output", "redact", False, 30)
    assert processor.incremental == Incremental(320)
    assert processor.call(Answer("a secret"), TurnContext()) == Replace("a [redacted]")


def test_pre_and_post_processors_have_other_defaults() -> None:
    """180 seconds, priority 100, skipped when they fail, for every agent."""
    for decorator, kind in ((pre_processor, "pre"), (post_processor, "post")):

        @decorator(name="x")
        def function(_: object) -> None: ...

        processor = as_processor(function, kind)  # type: ignore[arg-type]
        assert (processor.timeout_s, processor.priority, processor.on_failure) == (180, 100, "skip")
        assert processor.agents is None


async def test_an_async_function_is_known_as_one() -> None:
    """Also as a method, as a partial, and as an object that is called."""

    @output_processor(name="a")
    async def function(answer: Answer) -> Replace:
        return Replace(answer.text)

    class ByMethod:
        name = "b"

        async def process(self, answer: Answer) -> Replace:
            return Replace(answer.text)

    assert described(function).is_async
    assert described(ByMethod()).is_async
    partial = functools.partial(function)
    assert as_processor(output_processor(name="c")(partial), "output").is_async
    assert await described(ByMethod()).call(Answer("x"), TurnContext()) == Replace("x")


def test_a_processor_gets_the_context_if_it_asks_for_it() -> None:
    """By position or by name, needed or not; another optional argument is left alone."""
    shapes: list[Callable[..., Any]] = [
        lambda _, turn: turn.agent,
        lambda _, context=None: context.agent,
        lambda _, *, context: context.agent,
        lambda _, *, context=None: context.agent,
        lambda _, flavour="default": flavour,
        lambda *everything: "default" if len(everything) == 1 else "too many",
    ]
    for shape in shapes:
        assert described(output_processor(name="x")(shape)).call(Answer("x"), TurnContext()) == "default"


@pytest.mark.parametrize(
    "shape", [lambda: None, lambda _a, _b, _c: None, lambda _, *, flavour: flavour, lambda **_: None]
)
def test_a_function_that_cannot_be_called_is_refused(shape: Callable[..., Any]) -> None:
    """When it is declared, not when a turn needs it."""
    with pytest.raises(DeclarationError, match=r"'x'.*must take"):
        output_processor(name="x")(shape)


def test_an_object_with_a_name_and_a_method_works_too() -> None:
    """`process` or `execute`; whatever else a decorator takes is an attribute."""

    class Detailed:
        name = "detailed"
        version = "7"
        timeout_s = 3
        priority = 5
        on_failure = "fail"
        agents = ("b", "a")
        recent_turns_s = 60.0

        def execute(self, _: object) -> Proceed:
            return Proceed()

    processor = as_processor(Detailed(), "pre")
    assert (processor.name, processor.version, processor.timeout_s, processor.priority) == ("detailed", "7", 3, 5)
    assert (processor.on_failure, processor.agents) == ("fail", ("a", "b"))
    assert processor.recent_turns_s == processor.declaration().recent_turns_s == 60.0
    assert processor.call(None, TurnContext()) == Proceed()


def test_a_decorated_method_belongs_to_its_object() -> None:
    """`self` is what it was taken from."""

    class Words:
        def __init__(self, word: str) -> None:
            self.word = word

        @output_processor(name="word")
        def word_only(self, answer: Answer) -> Replace:
            return Replace(self.word * len(answer.text))

    assert described(Words("b").word_only).call(Answer("xx"), TurnContext()) == Replace("bb")


def test_the_version_follows_the_source() -> None:
    """Two functions with other code have other versions, the same code has the same; a given one is kept."""

    def declared(function: Callable[[Answer], object]) -> str:
        return described(output_processor(name="x")(function)).version

    def one(_: Answer) -> Pass:
        return Pass()

    def two(_: Answer) -> Replace:
        return Replace("")

    assert declared(one) != declared(two)
    assert declared(one) == declared(one)
    assert described(output_processor(name="x", version="3.1")(one)).version == "3.1"
    assert declared(eval("lambda answer: None")) == "0"  # noqa: S307 - code without a source


@pytest.mark.parametrize(
    ("declare", "problem"),
    [
        (lambda: output_processor(name=""), "name"),
        (lambda: output_processor(name="a\nb"), "name"),
        (lambda: output_processor(name=None), "name"),  # type: ignore[arg-type]
        (lambda: output_processor(str.upper), r'write @output_processor\(name="..."\) above upper'),  # type: ignore[arg-type]
        (lambda: output_processor(name="x", timeout_s=0), "timeout_s"),
        (lambda: output_processor(name="x", timeout_s=float("inf")), "timeout_s"),
        (lambda: output_processor(name="x", timeout_s="30"), "timeout_s"),  # type: ignore[arg-type]
        (lambda: output_processor(name="x", incremental=64), "incremental"),  # type: ignore[arg-type]
        (lambda: output_processor(name="x", linear_time=True), "open_scanner"),
        (lambda: output_processor(name="x", open_scanner=Echo, linear_time="yes"), "linear_time"),  # type: ignore[arg-type]
        (lambda: input_processor(name="x", version=""), None),
        (lambda: pre_processor(name="x", priority=float("nan")), "priority"),
        (lambda: pre_processor(name="x", on_failure="ignore"), "on_failure"),  # type: ignore[arg-type]
        (lambda: pre_processor(name="x", recent_turns_s=0), "recent_turns_s"),
        (lambda: pre_processor(name="x", recent_turns_s="1h"), "recent_turns_s"),  # type: ignore[arg-type]
        (lambda: Declaration(kind="output", name="x", recent_turns_s=60.0), "recent turns"),
        (lambda: pre_processor(name="x", agents="billing"), r"agents=\['billing'\]"),
        (lambda: Incremental(lookback_chars=-1), "lookback_chars"),
        (lambda: Incremental(lookback_chars=True), "lookback_chars"),
        (lambda: output_processor(name="x")(type("C", (), {})), "instance"),
        (lambda: output_processor(name="x")(3), "function"),  # type: ignore[type-var]
    ],
)
def test_what_cannot_be_is_refused_where_it_is_declared(declare: Callable[[], object], problem: str | None) -> None:
    """The error names the setting."""
    if problem is None:
        declare()
        return
    with pytest.raises(DeclarationError, match=problem):
        declare()


@pytest.mark.parametrize("attribute", [{"agents": ["a"]}, {"on_failure": "skip-it"}, {"on_failure": "block"}])
def test_a_control_cannot_be_scoped_or_loosened(attribute: dict[str, object]) -> None:
    """Not by way of an object's attributes either."""
    member = type("Control", (), {"name": "x", "process": lambda *_: Pass(), **attribute})()
    with pytest.raises(DeclarationError, match=r"control|on_failure"):
        described(member)


def test_only_output_processors_are_incremental() -> None:
    """A prompt has no prefixes."""
    member = type("Inputs", (), {"name": "x", "incremental": Incremental(), "process": lambda *_: Prompt()})()
    with pytest.raises(DeclarationError, match="incremental"):
        as_processor(member, "input")


class Echo:
    """A scanner that is certain of everything."""

    def feed(self, delta: str) -> str:
        """Return what comes."""
        return delta

    def finish(self) -> str:
        """Return nothing more."""
        return ""


class Vouching:
    """An object that vouches for its scanner."""

    name = "x"
    linear_time = True

    def process(self, _: Answer) -> Pass:
        """Let everything pass."""
        return Pass()

    def open_scanner(self) -> Echo:
        """Return a scanner for one answer."""
        return Echo()


class Inheriting(Vouching):
    """One that changes nothing about its scanner."""


class Overriding(Vouching):
    """One that brings another scanner, and says nothing of it."""

    def open_scanner(self) -> Echo:
        """Return a scanner of its own."""
        return Echo()


class Own(Overriding):
    """One that vouches for that."""

    linear_time = True


def test_linear_time_is_said_of_one_scanner() -> None:
    """A subclass with another one has to say so itself, and so has an object that brings its own."""
    declared = [as_processor(member(), "output").linear_time for member in (Vouching, Inheriting, Overriding, Own)]
    assert declared == [True, True, False, True]
    patched = Vouching()
    patched.open_scanner = Echo  # type: ignore[method-assign]
    assert not as_processor(patched, "output").linear_time
    assert not described(output_processor("x", open_scanner=Echo)(lambda _: Pass())).linear_time
    assert described(output_processor("x", open_scanner=Echo, linear_time=True)(lambda _: Pass())).linear_time


def test_linear_time_is_part_of_what_is_declared() -> None:
    """Those who decide about chains know nothing else of them."""
    assert as_processor(Vouching(), "output").declaration().linear_time


def test_a_processor_can_be_used_in_more_than_one_deps() -> None:
    """It is described once; nothing about a list is kept in it."""
    assert Deps(output_processors=[redact]) == Deps(output_processors=[redact])
