"""How a chain of processors is run, as pure logic: what to call next, and what its answer means.

A chain is *opened* on a subject, which gives either an outcome (there is nobody to ask) or a *run*: who has answered so
far, and what the next member is to see. Whoever drives it calls that member, in whatever way and under whatever limit,
and lets the chain *take* what came of it, which gives the next run or the outcome:

    step = chain.open(subject)
    while isinstance(step, RUNS):
        step = chain.take(step, <call chain.member(step) with step.subject, step.context>, time_ms)

A run is plain data. It can be sent to another process and be gone on with there, after the one it was in has died. For
that, whoever only looks on builds the same chain of `Declaration`s, without the code.

The chains of messages and replies, which the failure policy has a say in, are in `processors.message_chains`.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar

from processors.contracts import Answer, IncomingMessage, Message, Prompt, Reply, ToolCallCheck, TurnContext
from processors.declare import LABELS, Declaration
from processors.errors import MalformedVerdictError
from processors.outcomes import (
    Allowed,
    Approved,
    Broken,
    Denied,
    Derived,
    InputOutcome,
    OutputOutcome,
    PostOutcome,
    PreOutcome,
    Refused,
    Report,
    ToolOutcome,
    Verdict,
)
from processors.plain import plain_messages, plain_prompt, plain_text
from processors.spending import Spending
from processors.verdicts import Allow, Deny, Pass, Reject, Replace

_log = logging.getLogger(__name__)

#: The longest reason that is kept, in code points: the journal and `decisions` are no place for an answer in disguise.
MAX_REASON = 1_000


@dataclass(frozen=True)
class Returned:
    """A processor answered `value`, whatever that is, and spent `spending`."""

    value: Any
    spending: Spending | None = None


@dataclass(frozen=True)
class Threw:
    """A processor gave no answer, and spent `spending`; `error` is the class name of the reason."""

    error: str
    spending: Spending | None = None


CallResult: TypeAlias = Returned | Threw


@dataclass(frozen=True)
class OutputRun:
    """A run of an output chain: the next member sees `subject`; each member before it left a report."""

    subject: Answer
    reports: tuple[Report, ...] = ()

    @property
    def context(self) -> TurnContext:
        """The turn the next member runs for."""
        return self.subject.context


@dataclass(frozen=True)
class InputRun:
    """A run of an input chain over `prompt`; each member before the next left a report.

    The first `history` messages of the prompt are from earlier turns. While `choosing`, the next member is the operator's
    own history, which sees those alone.
    """

    prompt: Prompt
    context: TurnContext
    reports: tuple[Report, ...] = ()
    history: int = 0
    choosing: bool = False

    @property
    def subject(self) -> Prompt | tuple[Message, ...]:
        """What the next member sees."""
        return self.prompt.messages[: self.history] if self.choosing else self.prompt


@dataclass(frozen=True)
class PreRun:
    """A run of a chain of pre-processors: the next member sees `subject`; each member before it left a report."""

    subject: IncomingMessage
    reports: tuple[Report, ...] = ()

    @property
    def context(self) -> TurnContext:
        """The turn the next member runs for."""
        return self.subject.context


@dataclass(frozen=True)
class GovernanceRun(PreRun):
    """The same of message rules."""


@dataclass(frozen=True)
class ToolRun:
    """A run of tool rules over one call: each sees `subject`; each member before the next left a report."""

    subject: ToolCallCheck
    reports: tuple[Report, ...] = ()

    @property
    def context(self) -> TurnContext:
        """The turn the next member runs for."""
        return self.subject.context


@dataclass(frozen=True)
class PostRun:
    """A run of a chain of post-processors: the next member sees `subject`; each member before it left a report."""

    subject: Reply
    reports: tuple[Report, ...] = ()

    @property
    def context(self) -> TurnContext:
        """The turn the next member runs for."""
        return self.subject.context


Run: TypeAlias = OutputRun | InputRun | PreRun | ToolRun | PostRun
Outcome: TypeAlias = OutputOutcome | InputOutcome | PreOutcome | ToolOutcome | PostOutcome
RUNS = (OutputRun, InputRun, PreRun, ToolRun, PostRun)

M = TypeVar("M", bound=Declaration)
R = TypeVar("R", OutputRun, InputRun, PreRun, ToolRun, PostRun)
S = TypeVar("S", bound=Run | Outcome)
O = TypeVar("O", OutputOutcome, InputOutcome, PreOutcome, ToolOutcome, PostOutcome)  # noqa: E741 - the outcome, in one letter as all of these


class Chain(ABC, Generic[M, R, O]):
    """The members of one kind in the order they run in, and what their answers mean.

    `M` is `Processor` where they are called, `Declaration` where they are only known.
    """

    def __init__(self, members: Sequence[M]) -> None:
        """Make a chain of `members`, in order."""
        self.members = tuple(members)

    def member(self, run: R) -> M:
        """Return who is to be called next."""
        return self._in_turn(run)[len(run.reports)]

    def take(self, run: R, result: CallResult, time_ms: float) -> R | O:
        """Return how the run goes on after its next member came to `result` in `time_ms` milliseconds."""
        step = self._answered(run, self.member(run), result, time_ms)
        return self._ended(step if result.spending is None else _charged(step, result.spending))

    def _answered(self, run: R, member: M, result: CallResult, time_ms: float) -> R | O:
        if isinstance(result, Threw):
            return self._failed(run, member, result.error, time_ms)
        try:
            return self._judge(run, member, result.value, time_ms)
        except MalformedVerdictError as error:
            _log.debug("processor %s failed: %s", member.name, error)
            return self._failed(run, member, type(error).__name__, time_ms)

    def _in_turn(self, run: R) -> tuple[M, ...]:  # noqa: ARG002 - some kinds choose by the run's agent
        """Return the members that take part in this run."""
        return self.members

    def _ended(self, step: R | O) -> R | O:
        """Return the outcome in place of a run that has nobody left to ask."""
        if isinstance(step, RUNS) and len(step.reports) == len(self._in_turn(step)):
            return self._outcome(step)
        return step

    @abstractmethod
    def _judge(self, run: R, member: M, value: object, time_ms: float) -> R | O:
        """Return what the member's answer makes of the run; raise `MalformedVerdictError` if it is none."""

    @abstractmethod
    def _failed(self, run: R, member: M, error: str, time_ms: float) -> R | O:
        """Return what the member's failure makes of the run."""

    @abstractmethod
    def _outcome(self, run: R) -> O:
        """Return what the run has come to once everybody has been asked."""


class OutputChain(Chain[M, OutputRun, OutputOutcome]):
    """Output processors: each sees what the one before it made of the answer."""

    def open(self, answer: Answer) -> OutputRun | OutputOutcome:
        """Begin with an answer, or a prefix of one."""
        return self._ended(OutputRun(answer))

    def _judge(self, run: OutputRun, member: M, value: object, time_ms: float) -> OutputRun | OutputOutcome:
        if isinstance(value, Pass):
            return replace(run, reports=added(run.reports, member, "pass", time_ms))
        if isinstance(value, Reject):
            return Refused(
                member.name, value.reason, added(run.reports, member, "reject", time_ms, reason=value.reason)
            )
        if not isinstance(value, Replace):
            raise MalformedVerdictError(f"an output processor answers Pass, Replace or Reject, not {named(value)}")
        before = run.subject
        calls = before.tool_calls if value.tool_calls is None else tuple(value.tool_calls)
        changes = value.changes or int((value.text, calls) != (before.text, before.tool_calls))
        return OutputRun(
            replace(before, text=value.text, tool_calls=calls),
            added(run.reports, member, "replace" if changes else "pass", time_ms, changes=changes),
        )

    def _failed(self, run: OutputRun, member: M, error: str, time_ms: float) -> OutputOutcome:
        return broken(run.reports, member, error, time_ms)

    def _outcome(self, run: OutputRun) -> OutputOutcome:
        return Approved(run.subject.text, run.subject.tool_calls, run.reports)


class InputChain(Chain[M, InputRun, InputOutcome]):
    """What derives a prompt: the operator's own history and prompt builder, where there are any, then input processors.

    The history chooses among the messages of earlier turns; each other member sees the prompt that the one before it
    made.
    """

    def __init__(self, members: Sequence[M], derivation: Sequence[M] = ()) -> None:
        """Make a chain of input processors, in order, and of what comes before them: the history first, if any."""
        super().__init__((*derivation, *members))

    def open(self, prompt: Prompt, context: TurnContext, *, history: int = 0) -> InputRun | InputOutcome:
        """Begin with a prompt whose first `history` messages are from earlier turns."""
        choosing = bool(self.members) and self.members[0].kind == "history"
        return self._ended(InputRun(prompt, context, history=history, choosing=choosing))

    def _judge(self, run: InputRun, member: M, value: object, time_ms: float) -> InputRun | InputOutcome:
        prompt = _derived(run, member, value)
        changes = _differences(run.prompt, prompt)
        verdict: Verdict = "replace" if changes else "pass"
        return InputRun(prompt, run.context, added(run.reports, member, verdict, time_ms, changes=changes))

    def _failed(self, run: InputRun, member: M, error: str, time_ms: float) -> InputOutcome:
        return broken(run.reports, member, error, time_ms)

    def _outcome(self, run: InputRun) -> InputOutcome:
        return Derived(run.prompt, run.reports)


class ToolRuleChain(Chain[M, ToolRun, ToolOutcome]):
    """Tool rules: all must allow the call, and the first that does not has the last word."""

    def open(self, check: ToolCallCheck) -> ToolRun | ToolOutcome:
        """Begin with a call."""
        return self._ended(ToolRun(check))

    def _judge(self, run: ToolRun, member: M, value: object, time_ms: float) -> ToolRun | ToolOutcome:
        if isinstance(value, Deny):
            return Denied(member.name, value.reason, added(run.reports, member, "reject", time_ms, reason=value.reason))
        if not isinstance(value, Allow):
            raise MalformedVerdictError(f"a tool rule answers Allow or Deny, not {named(value)}")
        return replace(run, reports=added(run.reports, member, "pass", time_ms))

    def _failed(self, run: ToolRun, member: M, error: str, time_ms: float) -> ToolOutcome:
        return broken(run.reports, member, error, time_ms)

    def _outcome(self, run: ToolRun) -> ToolOutcome:
        return Allowed(run.reports)


def added(
    reports: tuple[Report, ...],
    member: Declaration,
    verdict: Verdict,
    time_ms: float,
    *,
    changes: int = 0,
    error: str | None = None,
    reason: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> tuple[Report, ...]:
    """Return the reports with one more. A reason is cut where it stops being one."""
    said = reason[:MAX_REASON] if reason else None
    took = round(time_ms, 3)
    one = Report(member.name, member.version, verdict, changes, took, error, said, dict(metadata) if metadata else None)
    return (*reports, one)


def _charged(step: S, spending: Spending) -> S:
    """Return a run, or an outcome, whose last report says what its processor spent."""
    *before, last = step.reports
    return replace(step, reports=(*before, replace(last, usage=spending.usage, model=spending.model)))


def broken(reports: tuple[Report, ...], member: Declaration, error: str, time_ms: float) -> Broken:
    """Return the outcome of a failure that may not be skipped."""
    return Broken(member.name, error, added(reports, member, "failed", time_ms, error=error))


def _derived(run: InputRun, member: Declaration, value: object) -> Prompt:
    """Return the prompt that a member's answer makes of the run's."""
    before = run.prompt
    if run.choosing:
        chosen = plain_messages(value, "a history's answer")
        return before.model_copy(update={"messages": (*chosen, *before.messages[run.history :])})
    if member.kind == "prompt_builder" and isinstance(value, str):
        text = plain_text(value, "a prompt builder's answer")
        system = "\n\n".join(part for part in (before.system, text) if part)
        return before.model_copy(update={"system": system or before.system})
    return plain_prompt(value, f"the answer of {LABELS[member.kind]} {member.name!r}")


def _differences(before: Prompt, after: Prompt) -> int:
    """Count the entries of a prompt that differ: the system text, and each message."""
    pairs = sum(old != new for old, new in zip(before.messages, after.messages, strict=False))
    return pairs + abs(len(before.messages) - len(after.messages)) + (before.system != after.system)


def named(value: object) -> str:
    """Return how an error speaks of what a processor answered: by type, never by value."""
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
