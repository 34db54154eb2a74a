"""What a processor is, apart from how it is declared: the one description that everything else works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from processors.checks import MAX_NAME, is_name, is_number
from processors.errors import DeclarationError
from processors.scanner import OpenScanner

Kind: TypeAlias = Literal["governance", "pre", "input", "tool_rule", "output", "post"]
#: What derives a prompt before the input processors see it. At most one of each, and declared without a decorator.
Deriving: TypeAlias = Literal["history", "prompt_builder"]
OnFailure: TypeAlias = Literal["skip", "fail", "block"]

KINDS: tuple[Kind, ...] = ("governance", "pre", "input", "output", "tool_rule", "post")
#: The kinds that are controls: they apply to every agent, and their failure fails the turn.
CONTROLS: frozenset[Kind] = frozenset({"governance", "input", "output", "tool_rule"})
#: What errors call a member of each kind.
LABELS: Mapping[Kind | Deriving, str] = MappingProxyType(
    {
        "governance": "message rule",
        "pre": "pre-processor",
        "input": "input processor",
        "output": "output processor",
        "tool_rule": "tool rule",
        "post": "post-processor",
        "history": "history",
        "prompt_builder": "prompt builder",
    }
)
ON_FAILURE: tuple[OnFailure, ...] = ("skip", "fail", "block")

CONTROL_TIMEOUT_S = 30.0
TIMEOUT_S = 180.0
PRIORITY = 100.0

_SCOPED = ("pre", "post")
_MESSAGES = ("governance", "pre")


@dataclass(frozen=True)
class Incremental:
    """The output processor can judge a text before it is complete.

    What it answers for a longer text repeats what it answered for a shorter one, but for the last `lookback_chars`
    characters of that answer: those are held back until more has come. 0 holds back nothing.
    """

    lookback_chars: int = 64

    def __post_init__(self) -> None:
        if type(self.lookback_chars) is not int or self.lookback_chars < 0:
            raise DeclarationError("Incremental: lookback_chars must be an int, 0 or more")


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """All there is to know about a processor but its code. Can be sent to another process.

    `timeout_s` is the limit of one run in seconds. `priority`, `on_failure` and `agents` (None is all) concern pre- and
    post-processors only, `incremental` and `scans` (it offers a scanner) output processors only. `linear_time` vouches for
    that scanner: it may run where nothing could interrupt it. What sees messages may ask for `recent_turns_s`: how far
    back, in seconds, the turns go that its `TurnContext.recent_turns` holds. `digest` tells the code, and what it was
    configured with, from other code of the same name and version.
    """

    kind: Kind | Deriving
    name: str
    version: str = "0"
    is_async: bool = False
    timeout_s: float = TIMEOUT_S
    priority: float = PRIORITY
    on_failure: OnFailure = "skip"
    incremental: Incremental | None = None
    agents: tuple[str, ...] | None = None
    scans: bool = False
    linear_time: bool = False
    recent_turns_s: float | None = None
    digest: str = ""

    def __post_init__(self) -> None:
        problem = _problem(self)
        if problem is not None:
            raise DeclarationError(f"{LABELS.get(self.kind, self.kind)} {self.name!r}: {problem}")

    @property
    def ref(self) -> str:
        """What the processor is called where versions of all kinds are listed: `kind/name@version`."""
        return f"{self.kind}/{self.name}@{self.version}"

    def applies_to(self, agent: str) -> bool:
        """Tell whether the processor runs in turns of `agent`."""
        return self.agents is None or agent in self.agents


@dataclass(frozen=True, kw_only=True)
class Processor(Declaration):
    """A processor ready to run: `call(subject, context)` returns its answer, or an awaitable of it if `is_async`.

    `open_scanner`, where there is one, opens a scanner for one answer (`processors.scanner`).
    """

    call: Callable[[Any, Any], Any] = field(compare=False, repr=False)
    open_scanner: OpenScanner | None = field(default=None, compare=False, repr=False)

    def declaration(self) -> Declaration:
        """Return what is declared, without the code."""
        return Declaration(
            kind=self.kind,
            name=self.name,
            version=self.version,
            is_async=self.is_async,
            timeout_s=self.timeout_s,
            priority=self.priority,
            on_failure=self.on_failure,
            incremental=self.incremental,
            agents=self.agents,
            scans=self.scans,
            linear_time=self.linear_time,
            recent_turns_s=self.recent_turns_s,
            digest=self.digest,
        )


def list_of(kind: Kind | Deriving) -> str:
    """Return the argument of `Deps` that takes members of `kind`."""
    if kind in ("governance", "tool_rule"):
        return "governance"
    return kind if kind in ("history", "prompt_builder") else f"{kind}_processors"


def decorator_of(kind: Kind) -> str:
    """Return the name of the decorator that declares members of `kind`."""
    if kind == "governance":
        return "message_rule"
    return kind if kind == "tool_rule" else f"{kind}_processor"


def default_timeout(kind: Kind) -> float:
    """Return the limit of a processor that names none, in seconds: short for what runs on every model call."""
    return CONTROL_TIMEOUT_S if kind in ("input", "output") else TIMEOUT_S


def _problem(declared: Declaration) -> str | None:
    """Return what is wrong with a declaration, or None."""
    scoped = declared.kind in _SCOPED
    checks: tuple[tuple[bool, str], ...] = (
        (declared.kind in LABELS, f"the kind must be one of {', '.join(KINDS)}"),
        (is_name(declared.name), f"the name must be a text of 1 to {MAX_NAME} printable characters"),
        (is_name(declared.version), f"the version must be a text of 1 to {MAX_NAME} printable characters"),
        (is_number(declared.timeout_s) and declared.timeout_s > 0, "timeout_s must be a number of seconds above 0"),
        (is_number(declared.priority), "priority must be a finite number"),
        (declared.on_failure in ON_FAILURE, f"on_failure must be one of {', '.join(ON_FAILURE)}"),
        (
            declared.agents is None or all(isinstance(agent, str) for agent in declared.agents),
            "agents must be a list of names, or None for all",
        ),
        (
            declared.incremental is None or isinstance(declared.incremental, Incremental),
            "incremental must be Incremental(...) or None",
        ),
        (declared.incremental is None or declared.kind == "output", "only output processors can be incremental"),
        (not declared.scans or declared.kind == "output", "only output processors can scan"),
        (isinstance(declared.linear_time, bool), "linear_time must be True or False"),
        (not declared.linear_time or declared.scans, "linear_time is said of a scanner: give it open_scanner as well"),
        (
            declared.recent_turns_s is None or (is_number(declared.recent_turns_s) and declared.recent_turns_s > 0),
            "recent_turns_s must be a number of seconds above 0, or None",
        ),
        (
            declared.recent_turns_s is None or declared.kind in _MESSAGES,
            "only message rules and pre-processors can ask for recent turns",
        ),
        (scoped or declared.agents is None, "a control applies to every agent and cannot be scoped"),
        (
            scoped or declared.on_failure == "skip",
            "on_failure has no place on a control: its failure always fails the turn",
        ),
    )
    return next((problem for right, problem in checks if not right), None)
