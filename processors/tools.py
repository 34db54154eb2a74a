"""Tools that the operator offers to models: functions, what is said of them to the model, and how one is called.

A tool is described to the model by a JSON Schema that is derived from the function's annotated parameters. The arguments
of a call are the JSON text that the model wrote (and the output chain passed): they are checked against the annotations
before the function sees any of them.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, to_json

from processors.checks import is_number
from processors.errors import DeclarationError, ToolArgumentsError, ToolResultError
from processors.threaded import in_thread
from topics.content import ToolDefinition, User
from topics.text import well_formed

TOOL_TIMEOUT_S = 30.0

#: What model providers take for the name of a function.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MAX_PROBLEMS = 10


@dataclass(frozen=True)
class ToolContext:
    """The call that a tool runs for: a parameter annotated with this class is given it, and no model sees it.

    `step` and `attempt` count from 0; `call_id` is the id that the model gave the call.
    """

    tenant: str = "default"
    thread_id: str = "thread"
    turn_id: str = "turn"
    step: int = 0
    attempt: int = 0
    call_id: str = "call"
    agent: str = "default"
    user: User | None = None

    @property
    def idempotency_key(self) -> str:
        """A text that is the same whenever this very call is made again, and for no other call.

        A tool that writes or pays passes it on. None of its parts but the last may contain a slash.
        """
        return f"{self.tenant}/{self.thread_id}/{self.turn_id}/{self.step}/{self.attempt}/{self.call_id}"


@dataclass(frozen=True)
class ToolSpec:
    """A tool without its code: what models are told of it, and its limit in seconds. Can be sent to another process.

    One that is not `is_async` may block, and is given a process to itself.
    """

    definition: ToolDefinition
    timeout_s: float = TOOL_TIMEOUT_S
    is_async: bool = False

    @property
    def name(self) -> str:
        """What models call it by."""
        return self.definition.name


@dataclass(frozen=True)
class Tool:
    """A function that models may call, made by `@tool()`. Calling it as such calls the function, as in a test.

    `timeout_s` is the limit of one call in seconds; whoever runs tools holds them to it.
    """

    definition: ToolDefinition
    timeout_s: float
    is_async: bool
    function: Callable[..., Any] = field(compare=False, repr=False)
    arguments_model: type[BaseModel] = field(compare=False, repr=False)
    context_names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What models call it by."""
        return self.definition.name

    def spec(self) -> ToolSpec:
        """Return what there is to know of it, without the code."""
        return ToolSpec(self.definition, self.timeout_s, self.is_async)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, unchecked."""
        return self.function(*args, **kwargs)

    async def call(self, arguments: str, context: ToolContext) -> str:
        """Call the tool as a model asks for it, without any limit; a sync function runs in a thread of its own.

        Args:
            arguments: the JSON text that the model wrote; nothing at all stands for no arguments.
            context: which call it is.

        Returns:
            What goes back to the model: a text as it is, anything else as JSON.

        Raises:
            ToolArgumentsError: the arguments are not what the tool takes; `for_model` tells the model what is wrong.
            ToolResultError: the result cannot be said in JSON, or the function tried to end the process instead.
            Exception: whatever the function raises.
            CancelledError: this call was cancelled.
        """
        given = self._checked(arguments) | dict.fromkeys(self.context_names, context)
        task = asyncio.current_task()
        cancels = task.cancelling() if task is not None else 0
        try:
            if self.is_async:
                return self._text(await self.function(**given))
            return self._text(await in_thread(f"tool {self.name}", lambda: self.function(**given)))
        except (asyncio.CancelledError, SystemExit, KeyboardInterrupt) as error:
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > cancels:
                raise
            raise ToolResultError(f"tool {self.name!r} gave no result: it raised {type(error).__name__}") from error

    def _checked(self, arguments: str) -> dict[str, Any]:
        """Return the arguments by name, as the annotations want them."""
        try:
            model = self.arguments_model.model_validate_json(arguments.strip() or "{}")
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            said = "; ".join(_problem(one) for one in found[:_MAX_PROBLEMS])
            # Not `from error`: what pydantic says may quote the arguments, and a traceback is read by operators.
            raise ToolArgumentsError(
                f"tool {self.name!r}: the model's arguments are not what the tool takes ({len(found)} problems)",
                for_model=f"The arguments of {self.name} cannot be used. {said}",
            ) from None
        fields = type(model).model_fields
        return {str(fields[name].alias): getattr(model, name) for name in model.model_fields_set}

    def _text(self, result: object) -> str:
        """Return a result as it goes to the model."""
        if isinstance(result, str):
            return str(well_formed(str.__str__(result)))
        try:
            return to_json(result, inf_nan_mode="null").decode()
        except (PydanticSerializationError, ValueError, RecursionError):
            raise ToolResultError(
                f"tool {self.name!r}: its result of type {type(result).__name__} cannot be said in JSON: "
                "return a text, or JSON values"
            ) from None


def tool(
    name: str | None = None, description: str | None = None, timeout_s: float = TOOL_TIMEOUT_S
) -> Callable[[Callable[..., Any]], Tool]:
    """Declare a function, sync or async, with annotated parameters as a tool.

    Models know it by `name` (that of the function by default: 1 to 64 of A-Z a-z 0-9 _ -) and `description` (its
    docstring by default). `Annotated[str, Field(description=...)]` of pydantic describes a parameter. A parameter
    annotated `ToolContext` is passed in. One call may take `timeout_s` seconds.

    Raises:
        DeclarationError: an argument, or the function's signature, cannot be.
    """
    if callable(name):
        raise DeclarationError("write @tool() with brackets above a function")
    if not is_number(timeout_s) or timeout_s <= 0:
        raise DeclarationError("@tool: timeout_s must be a number of seconds above 0")

    def declare(function: Callable[..., Any]) -> Tool:
        if inspect.isclass(function):
            raise DeclarationError(f"@tool() decorates functions, and {function.__name__} is a class")
        called = name if name is not None else getattr(function, "__name__", "")
        if not isinstance(called, str) or _NAME.fullmatch(called) is None:
            raise DeclarationError(f"tool {called!r}: the name must be 1 to 64 of the characters A-Z a-z 0-9 _ -")
        said = description if description is not None else inspect.getdoc(function)
        if said is not None and not isinstance(said, str):
            raise DeclarationError(f"tool {called!r}: the description must be a text")
        model, contexts = _parameters(function, called)
        return Tool(
            definition=ToolDefinition(name=called, description=said or None, parameters=_schema(model, called)),
            timeout_s=float(timeout_s),
            is_async=inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__),
            function=function,
            arguments_model=model,
            context_names=contexts,
        )

    return declare


def as_tool(obj: object) -> Tool:
    """Return `obj`, an entry of a list of tools, as the tool it is.

    Raises:
        DeclarationError: it is none.
    """
    if isinstance(obj, Tool):
        return obj
    label = getattr(obj, "__qualname__", type(obj).__qualname__)
    raise DeclarationError(f"{label} is no tool: decorate the function with @tool()")


class _Untitled(GenerateJsonSchema):
    """JSON Schema without a title for each parameter: it would repeat the name, in every prompt."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - of no parameter
        return False


def _parameters(function: Callable[..., Any], called: str) -> tuple[type[BaseModel], tuple[str, ...]]:
    """Return what checks a function's arguments, and the names of the parameters that are given the context."""
    parameters = inspect.signature(function).parameters
    hints = _hints(function, called)
    contexts = tuple(name for name in parameters if hints.get(name) is ToolContext)
    fields: dict[str, Any] = {}
    for position, (name, parameter) in enumerate(parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise DeclarationError(
                f"tool {called!r}: {name!r} cannot be passed by name: no *args, **kwargs or positional-only parameters"
            )
        if name in contexts:
            continue
        if name not in hints:
            raise DeclarationError(
                f"tool {called!r}: annotate the parameter {name!r}: models are told the type of each "
                "(make a tool of a bound method with tool()(thing.method))"
            )
        default = ... if parameter.default is parameter.empty else parameter.default
        # Names of parameters may be names that pydantic keeps for itself, so they are aliases here.
        fields[f"p{position}"] = (hints[name], Field(default, alias=name))
    try:
        model = create_model(
            "Arguments",
            __config__=ConfigDict(extra="forbid", hide_input_in_errors=True, arbitrary_types_allowed=False),
            **fields,
        )
    except (PydanticUserError, TypeError) as error:
        raise DeclarationError(f"tool {called!r}: a parameter has a type that JSON cannot say: {error}") from error
    return model, contexts


def _hints(function: Callable[..., Any], called: str) -> dict[str, Any]:
    """Return the annotations of a function, evaluated."""
    # Objects with a `__call__` and bound methods have theirs elsewhere.
    owner = function if inspect.isroutine(function) else type(function).__call__
    try:
        return typing.get_type_hints(inspect.unwrap(owner), include_extras=True)
    except Exception as error:
        raise DeclarationError(
            f"tool {called!r}: an annotation cannot be evaluated: {error}. Types must be importable at the module's top."
        ) from error


def _schema(model: type[BaseModel], called: str) -> dict[str, Any]:
    """Return the JSON Schema of a tool's parameters."""
    try:
        schema = model.model_json_schema(schema_generator=_Untitled)
    except PydanticUserError as error:
        raise DeclarationError(f"tool {called!r}: a parameter has a type that JSON cannot say: {error}") from error
    return {"properties": {}, **{key: value for key, value in schema.items() if key != "title"}}


def _problem(found: Mapping[str, Any]) -> str:
    """Return one of pydantic's findings as a sentence for the model."""
    place = ".".join(str(part) for part in found["loc"])
    return f"{place}: {found['msg']}" if place else str(found["msg"])
