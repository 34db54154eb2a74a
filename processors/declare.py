"""How a processor is declared: its decorators, and whatever else may stand in a list of them.

The decorators of governance are in `processors.rules`.

A decorated function stays what it was and can be called as such, in tests above all; it only carries its declaration.
An object whose class has a `name`, and a `process` or `execute` method, works as well as a function; whatever else a
decorator takes is then an attribute of that name.

A processor takes what its kind sees and, if it asks for a second argument, the `TurnContext` too. Sync or async.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from processors.declaration import (
    CONTROL_TIMEOUT_S,
    CONTROLS,
    KINDS,
    LABELS,
    PRIORITY,
    TIMEOUT_S,
    Declaration,
    Deriving,
    Incremental,
    Kind,
    OnFailure,
    Processor,
    decorator_of,
    default_timeout,
    list_of,
)
from processors.digests import code_digest, source_digest
from processors.errors import DeclarationError
from processors.scanner import OpenScanner

__all__ = [
    "CONTROLS",
    "CONTROL_TIMEOUT_S",
    "KINDS",
    "LABELS",
    "PRIORITY",
    "TIMEOUT_S",
    "Declaration",
    "Deriving",
    "F",
    "Incremental",
    "Kind",
    "OnFailure",
    "Processor",
    "as_deriving",
    "as_processor",
    "carried",
    "declaring",
    "decorator_of",
    "default_timeout",
    "described",
    "input_processor",
    "list_of",
    "output_processor",
    "post_processor",
    "pre_processor",
]

_CARRIED = "__turngate_declaration__"
_METHODS = ("process", "execute")

F = TypeVar("F", bound=Callable[..., Any])


def pre_processor(
    name: str,
    *,
    priority: float = PRIORITY,
    timeout_s: float = TIMEOUT_S,
    on_failure: OnFailure = "skip",
    agents: Iterable[str] | None = None,
    recent_turns_s: float | None = None,
    version: str | None = None,
) -> Callable[[F], F]:
    """Declare a function from an `IncomingMessage` to `Proceed` or `Block` as a pre-processor.

    Runs in ascending `priority`, at most `timeout_s` seconds, for the given `agents` only (None: all). `on_failure`
    says what becomes of the turn when it throws: by default it is skipped. With `recent_turns_s` the context's
    `recent_turns` holds the user's turns of so many seconds. `version` is by default a digest of the source.

    Raises:
        DeclarationError: an argument, or the function's signature, cannot be.
    """
    return declaring(
        "pre",
        name,
        version,
        priority=priority,
        timeout_s=timeout_s,
        on_failure=on_failure,
        agents=_agents(agents),
        recent_turns_s=recent_turns_s,
    )


def input_processor(name: str, *, timeout_s: float = CONTROL_TIMEOUT_S, version: str | None = None) -> Callable[[F], F]:
    """Declare a function from a `Prompt` to the `Prompt` that is to be sent instead as an input processor.

    Runs before every model call, at most `timeout_s` seconds. `version` is by default a digest of the source.

    Raises:
        DeclarationError: an argument, or the function's signature, cannot be.
    """
    return declaring("input", name, version, timeout_s=timeout_s)


def output_processor(
    name: str,
    *,
    incremental: Incremental | None = None,
    open_scanner: OpenScanner | None = None,
    linear_time: bool = False,
    timeout_s: float = CONTROL_TIMEOUT_S,
    version: str | None = None,
) -> Callable[[F], F]:
    """Declare a function from an `Answer` to `Pass`, `Replace` or `Reject` as an output processor.

    Judges every step's answer, at most `timeout_s` seconds each time. With `incremental` it judges prefixes too, and
    text is released while the model still writes. With `open_scanner` (`processors.scanner`) and `linear_time` too, and
    sooner: a chain whose members all scan reads the answer once. `linear_time` is your word that the scanner takes time
    linear in the answer and never waits, hangs or crashes: it runs within the turn worker, and nothing stops it there. A
    scanner without that word is not run. `version` is by default a digest of the source.

    Raises:
        DeclarationError: an argument, or the function's signature, cannot be.
    """
    return declaring(
        "output",
        name,
        version,
        timeout_s=timeout_s,
        incremental=incremental,
        scans=open_scanner is not None,
        open_scanner=open_scanner,
        linear_time=linear_time,
    )


def post_processor(
    name: str,
    *,
    priority: float = PRIORITY,
    timeout_s: float = TIMEOUT_S,
    on_failure: OnFailure = "skip",
    agents: Iterable[str] | None = None,
    version: str | None = None,
) -> Callable[[F], F]:
    """Declare a function from a `Reply` to `ModifiedResponse` as a post-processor; arguments as of `pre_processor`.

    Raises:
        DeclarationError: an argument, or the function's signature, cannot be.
    """
    return declaring(
        "post",
        name,
        version,
        priority=priority,
        timeout_s=timeout_s,
        on_failure=on_failure,
        agents=_agents(agents),
    )


def as_processor(member: object, kind: Kind) -> Processor:
    """Return the description of `member`, an entry of the list of `kind`.

    Args:
        member: a decorated function, a `Processor`, or an object with a `name` and a `process` or `execute` method.
        kind: what the list holds.

    Raises:
        DeclarationError: it is none of these, or of another kind.
    """
    found = carried(member)
    if found is not None:
        if found.kind != kind:
            raise DeclarationError(
                f"{found.name!r} is a processor of kind {found.kind!r} and cannot be in the list of kind {kind!r}: "
                f"move it to {list_of(found.kind)}"
            )
        if not inspect.ismethod(member):
            return found
        # A decorated method carries the declaration of its function, which knows nothing of the object.
        return replace(found, call=_normalised(member, f"{LABELS[kind]} {found.name!r}"))
    return _from_object(member, kind)


def carried(member: object) -> Processor | None:
    """Return the description that a decorator has left, if one has."""
    found = member if isinstance(member, Processor) else getattr(member, _CARRIED, None)
    return found if isinstance(found, Processor) else None


def as_deriving(kind: Deriving, function: Callable[..., Any]) -> Processor:
    """Return the description of a function of the operator's that derives a prompt: it is in no list, and named by kind.

    An object that is called may have a `timeout_s` and a `version`.

    Raises:
        DeclarationError: its signature, or one of these, cannot be.
    """
    source = function if inspect.isroutine(function) else type(function)
    version = getattr(function, "version", None)
    limit = getattr(function, "timeout_s", CONTROL_TIMEOUT_S)
    return described(kind, kind.replace("_", "-"), version, function, source=source, declared={"timeout_s": limit})


def declaring(kind: Kind, name: str, version: str | None, **declared: Any) -> Callable[[F], F]:
    """Return a decorator that checks and attaches the declaration and gives the function back.

    Raises:
        DeclarationError: an argument, or later the function's signature, cannot be.
    """
    if callable(name):
        raise DeclarationError(
            f'write @{decorator_of(kind)}(name="...") above {getattr(name, "__name__", "the function")}: a name is needed'
        )
    # Checked before there is a function, so that the error points at the line of the decorator.
    facts = {fact: value for fact, value in declared.items() if fact != "open_scanner"}
    Declaration(kind=kind, name=name, version=version or "0", **facts)

    def declare(function: F) -> F:
        if inspect.isclass(function):
            raise DeclarationError(
                f"@{decorator_of(kind)} decorates functions; give the class {function.__name__} a `name` attribute instead "
                "and list an instance of it"
            )
        if not callable(function):
            raise DeclarationError(f"@{decorator_of(kind)}({name!r}) must decorate a function")
        setattr(function, _CARRIED, described(kind, name, version, function, source=function, declared=declared))
        return function

    return declare


def _from_object(member: object, kind: Kind) -> Processor:
    """Describe an object that has a processor's attributes and a method that does the work."""
    if inspect.isclass(member):
        raise DeclarationError(f"{member.__name__} is a class: list an instance, {member.__name__}(...)")
    method = next((m for m in (getattr(member, name, None) for name in _METHODS) if callable(m)), None)
    name = getattr(member, "name", None)
    if method is None or name is None:
        label = getattr(member, "__qualname__", type(member).__qualname__)
        raise DeclarationError(
            f"{label} is no {LABELS[kind]}: decorate the function with @{decorator_of(kind)}(name=...), or list an "
            "object with a `name` and a `process` or `execute` method"
        )
    own_kind = getattr(member, "kind", kind)
    if own_kind != kind:
        raise DeclarationError(
            f"{name!r} is a processor of kind {own_kind!r} and cannot be in the list of kind {kind!r}"
        )
    declared: dict[str, Any] = {"timeout_s": getattr(member, "timeout_s", default_timeout(kind))}
    declared["priority"] = getattr(member, "priority", PRIORITY)
    declared["on_failure"] = getattr(member, "on_failure", "skip")
    declared["incremental"] = getattr(member, "incremental", None)
    declared["agents"] = _agents(getattr(member, "agents", None))
    declared["recent_turns_s"] = getattr(member, "recent_turns_s", None)
    declared["open_scanner"] = getattr(member, "open_scanner", None)
    declared["scans"] = declared["open_scanner"] is not None
    declared["linear_time"] = _vouched(member)
    version = getattr(member, "version", None)
    return described(kind, name, version, method, source=type(member), declared=declared)


def _vouched(member: object) -> bool:
    """Return what `linear_time` says of a member's scanner; said of one scanner, it says nothing of a subclass's other."""
    holders = [getattr(member, "__dict__", {}), *map(vars, type(member).__mro__)]
    said, scanner = (
        next((place for place, holder in enumerate(holders) if name in holder), len(holders))
        for name in ("linear_time", "open_scanner")
    )
    vouched: bool = getattr(member, "linear_time", False) if said <= scanner else False
    return vouched


def described(
    kind: Kind | Deriving,
    name: str,
    version: str | None,
    function: Callable[..., Any],
    *,
    source: object,
    declared: dict[str, Any],
) -> Processor:
    """Return the description of `function` with what is `declared`; the version is by default a digest of `source`.

    Raises:
        DeclarationError: what is declared, or the function's signature, cannot be.
    """
    return Processor(
        kind=kind,
        name=name,
        version=version if version is not None else source_digest(source),
        is_async=_is_async(function),
        call=_normalised(function, f"{LABELS[kind]} {name!r}"),
        digest=code_digest(source),
        **declared,
    )


def _agents(agents: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return the names of agents in a fixed order; a bare text would otherwise be taken for its letters."""
    if agents is None:
        return None
    if isinstance(agents, str):
        raise DeclarationError(f"agents must be a list of names: write agents=[{agents!r}]")
    return tuple(sorted(agents))


def _is_async(function: Callable[..., Any]) -> bool:
    """Tell whether calling `function` gives something to await."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _normalised(function: Callable[..., Any], label: str) -> Callable[[Any, Any], Any]:
    """Return `function` as a callable of subject and context, whichever of the two shapes it has."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return lambda subject, _context: function(subject)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    star = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    takes = "its function must take what it judges and, if it likes, a second argument for the TurnContext"
    if not positional and not star:
        raise DeclarationError(f"{label}: {takes}; it takes no positional argument")
    if any(p.default is p.empty for p in positional[2:]) or any(
        p.default is p.empty and p.name != "context" for p in by_name
    ):
        raise DeclarationError(f"{label}: {takes}; it asks for more")
    if len(positional) > 1 and (positional[1].default is inspect.Parameter.empty or positional[1].name == "context"):
        return function
    if any(p.name == "context" for p in by_name):
        return lambda subject, context: function(subject, context=context)
    return lambda subject, _context: function(subject)
