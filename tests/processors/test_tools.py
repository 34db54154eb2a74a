"""Tools: what models are told of them, how a call is checked and made, and what goes back."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from processors.errors import DeclarationError, ToolArgumentsError, ToolResultError
from processors.tools import Tool, ToolContext, as_tool, tool
from topics.content import User

CONTEXT = ToolContext(
    tenant="acme", thread_id="c", turn_id="t", step=1, call_id="call/1", agent="sales", user=User(id="u")
)


class Place(BaseModel):
    """A nested argument."""

    city: str
    zip: str | None = None


@dataclass
class Found:
    """A result."""

    name: str
    size: int


@tool(timeout_s=5)
def look_up(
    place: Place,
    kind: Annotated[Literal["shop", "office"], Field(description="what is looked for")],
    context: ToolContext,
    limit: int = 3,
) -> list[Found]:
    """Look up what there is in a place."""
    return [Found(f"{kind} of {context.agent} in {place.city}", limit)]


@tool(name="wait-for", description="Wait.")
async def wait_for(model: str, *, schema: int | None = None) -> str:
    """Have parameters with names that pydantic keeps for itself."""
    await asyncio.sleep(0)
    return f"{model} {schema}"


@tool()
def thread_name() -> str:
    """Say where it runs."""
    return threading.current_thread().name


def test_the_definition_is_what_a_model_is_told() -> None:
    """A JSON Schema of the parameters, without the context; the function's name and docstring unless others are given."""
    definition = look_up.definition
    assert (definition.name, definition.description) == ("look_up", "Look up what there is in a place.")
    assert definition.parameters is not None
    properties = definition.parameters["properties"]
    assert set(properties) == {"place", "kind", "limit"}
    assert properties["kind"] == {"description": "what is looked for", "enum": ["shop", "office"], "type": "string"}
    assert properties["limit"] == {"default": 3, "type": "integer"}
    assert definition.parameters["required"] == ["place", "kind"]
    assert definition.parameters["additionalProperties"] is False
    assert set(definition.parameters["$defs"]) == {"Place"}
    assert (wait_for.name, wait_for.definition.description) == ("wait-for", "Wait.")
    assert wait_for.definition.parameters is not None
    assert set(wait_for.definition.parameters["properties"]) == {"model", "schema"}


def test_a_tool_without_parameters_has_a_schema_that_says_so() -> None:
    """Some providers refuse a function without one."""
    assert thread_name.definition.parameters == {"properties": {}, "additionalProperties": False, "type": "object"}


async def test_arguments_arrive_as_they_are_annotated() -> None:
    """Models are parsed, defaults hold, and the context is passed in; the result is JSON."""
    said = await look_up.call('{"place": {"city": "Ulm"}, "kind": "shop"}', CONTEXT)
    assert said == '[{"name":"shop of sales in Ulm","size":3}]'
    assert await wait_for.call('{"model": "m", "schema": 2}', CONTEXT) == "m 2"


@pytest.mark.parametrize("arguments", ["", "  ", "{}"])
async def test_no_arguments_may_be_written_as_nothing(arguments: str) -> None:
    """As some models do. A sync function runs in a thread of its own, named after it."""
    assert await thread_name.call(arguments, CONTEXT) == "tool thread_name"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"kind": "shop"}', "place: Field required"),
        ('{"place": {"city": "Ulm"}, "kind": "secret-word"}', "kind: Input should be 'shop' or 'office'"),
        ('{"place": {"city": 1}, "kind": "shop"}', "place.city: Input should be a valid string"),
        ('{"place": {"city": "Ulm"}, "kind": "shop", "secret-word": 1}', "secret-word: Extra inputs"),
        ('{"place": {"city": "Ulm"}, "kind": "shop", "context": {}}', "context: Extra inputs"),
        ("{secret-word", "Invalid JSON"),
        ("[1]", "Input should be an object"),
        ("[" * 5000, "Invalid JSON"),
    ],
)
async def test_wrong_arguments_are_explained_to_the_model_and_quoted_to_nobody_else(arguments: str, told: str) -> None:
    """The operator reads which tool it was; no cause hangs on the error that would say more."""
    with pytest.raises(ToolArgumentsError, match="'look_up'") as caught:
        await look_up.call(arguments, CONTEXT)
    assert told in caught.value.for_model
    assert "secret-word" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - just written here
    assert (str(again), again.for_model) == (str(caught.value), caught.value.for_model)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("as it is", "as it is"),
        ("half \ud800", "half \ufffd"),
        (None, "null"),
        ({"a": [1, 2.5, True]}, '{"a":[1,2.5,true]}'),
        (float("nan"), "null"),
        (Place(city="Ü"), '{"city":"Ü","zip":null}'),
    ],
)
async def test_results_go_back_as_text(result: object, said: str) -> None:
    """A text as it is, anything else as JSON."""

    @tool()
    def give() -> object:
        return result

    assert await give.call("", CONTEXT) == said


async def test_a_result_that_json_cannot_say_is_an_error_without_content() -> None:
    """The class of the result is named."""

    @tool()
    def give() -> object:
        return object()

    with pytest.raises(ToolResultError, match="of type object"):
        await give.call("", CONTEXT)


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
@pytest.mark.parametrize("sync", [True, False])
async def test_a_tool_cannot_end_the_process(error: type[BaseException], *, sync: bool) -> None:
    """It gave no result, that is all."""

    def leave() -> None:
        raise error

    async def leave_async() -> None:
        raise error

    with pytest.raises(ToolResultError, match=error.__name__):
        await tool()(leave if sync else leave_async).call("", CONTEXT)


async def test_what_a_tool_raises_is_raised() -> None:
    """Whoever runs it decides what the model is told."""

    @tool()
    def fail() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await fail.call("", CONTEXT)


async def test_a_cancelled_call_is_cancelled() -> None:
    """That is not taken for something the tool did."""

    @tool()
    async def hang() -> None:
        await asyncio.Event().wait()

    call = asyncio.ensure_future(hang.call("", CONTEXT))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


class Desk:
    """Something with a method."""

    def close(self, at: int) -> str:
        """Close it."""
        return f"closed at {at}"


async def test_a_bound_method_makes_a_tool() -> None:
    """Bound, it takes no `self`."""
    assert await tool()(Desk().close).call('{"at": 5}', CONTEXT) == "closed at 5"


def _declare(function: Callable[..., Any], **arguments: Any) -> Callable[[], object]:
    return lambda: tool(**arguments)(function)


def _bare(value) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001 - that is what is wrong with it
    del value


def _starred(*args: int) -> None:
    del args


def _by_position(one: int, /) -> None:
    del one


def _odd(one: threading.Thread) -> None:
    del one


def _nothing() -> None: ...


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_declare(_bare), "annotate the parameter 'value'"),
        (_declare(Desk.close), "annotate the parameter 'self'.*bound method"),
        (_declare(_starred), "'args' cannot be passed by name"),
        (_declare(_by_position), "'one' cannot be passed by name"),
        (_declare(_odd), "JSON cannot say"),
        (_declare(lambda: None), "'<lambda>': the name must be"),
        (_declare(_nothing, name="with blank"), "the name must be"),
        (_declare(_nothing, timeout_s=0), "timeout_s"),
        (_declare(_nothing, timeout_s=float("inf")), "timeout_s"),
        (_declare(_nothing, description=3), "description"),
        (_declare(_nothing, name=_nothing), "with brackets"),
        (_declare(Desk), "decorates functions"),
    ],
)
def test_a_wrong_declaration_says_what_to_do(make: Callable[[], object], message: str) -> None:
    """When it is made."""
    with pytest.raises(DeclarationError, match=message):
        make()


def test_a_list_of_tools_holds_tools() -> None:
    """A plain function is told what it lacks."""
    assert as_tool(look_up) is look_up
    with pytest.raises(DeclarationError, match="_nothing is no tool: decorate the function"):
        as_tool(_nothing)


def test_a_tool_can_be_called_as_the_function_it_is() -> None:
    """In tests above all."""
    assert isinstance(look_up, Tool)
    assert look_up(Place(city="Ulm"), "shop", ToolContext(), limit=1) == [Found("shop of default in Ulm", 1)]


def test_the_key_of_a_call_names_it() -> None:
    """The model's id comes last: it may hold anything."""
    assert CONTEXT.idempotency_key == "acme/c/t/1/0/call/1"


def test_what_is_known_of_a_tool_can_be_sent_to_another_process() -> None:
    """The code, which cannot, is not in it."""
    spec = look_up.spec()
    assert pickle.loads(pickle.dumps(spec)) == spec  # noqa: S301 - just written here
    assert (spec.name, spec.timeout_s) == ("look_up", 5.0)
