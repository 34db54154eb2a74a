"""How a chain of processors is run, as pure logic: what to call next, and what its answer means.

A chain is *opened* on a subject, which gives either an outcome (there is nobody to ask) or a *run*: who has answered so
far, and what the next member is to see. Whoever drives it calls that member, in whatever way and under whatever limit,
and lets the chain *take* what came of it, which gives the next run or the outcome:

    step = chain.open(subject)
    while isinstance(step, RUNS):
        step = chain.take(step, <call chain.member(step) with step.subject, step.context>, time_ms)

A run is plain data. It can be sent to another process and be gone on with there, after the one it was in has died. For
that, whoever only looks on builds the same chain of `Declaration`s, without the code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar, cast

from processors.contracts import Answer, IncomingMessage, Part, Prompt, TurnContext
from processors.declare import Declaration
from processors.errors import MalformedVerdictError
from processors.outcomes import (
    Approved,
    Blocked,
    Broken,
    Derived,
    InputOutcome,
    OutputOutcome,
    PreOutcome,
    Proceeded,
    Refused,
    Report,
    Verdict,
)
from processors.plain import plain_prompt
from processors.policy import FailurePolicy
from processors.verdicts import Block, Pass, Proceed, Reject, Replace

#: The longest reason that is kept, in code points: the journal and `decisions` are no place for an answer in disguise.
MAX_REASON = 1_000


@dataclass(frozen=True)
class Returned:
    """A processor answered `value`, whatever that is."""

    value: Any


@dataclass(frozen=True)
class Threw:
    """A processor gave no answer; `error` is the class name of the reason."""

    error: str


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
    """A run of an input chain: the next member sees `subject`; each member before it left a report."""

    subject: Prompt
    context: TurnContext
    reports: tuple[Report, ...] = ()


@dataclass(frozen=True)
class PreRun:
    """A run of a chain of pre-processors: the next member sees `subject`; each member before it left a report."""

    subject: IncomingMessage
    reports: tuple[Report, ...] = ()

    @property
    def context(self) -> TurnContext:
        """The turn the next member runs for."""
        return self.subject.context


Run: TypeAlias = OutputRun | InputRun | PreRun
Outcome: TypeAlias = OutputOutcome | InputOutcome | PreOutcome
RUNS = (OutputRun, InputRun, PreRun)

M = TypeVar("M", bound=Declaration)
R = TypeVar("R", OutputRun, InputRun, PreRun)
O = TypeVar("O", OutputOutcome, InputOutcome, PreOutcome)  # noqa: E741 - the outcome, in one letter as all of these


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
        member = self.member(run)
        if isinstance(result, Returned):
            try:
                return self._ended(self._judge(run, member, result.value, time_ms))
            except MalformedVerdictError as error:
                result = Threw(type(error).__name__)
        return self._ended(self._failed(run, member, result.error, time_ms))

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
            return replace(run, reports=_add(run.reports, member, "pass", time_ms))
        if isinstance(value, Reject):
            return Refused(member.name, value.reason, _add(run.reports, member, "reject", time_ms, reason=value.reason))
        if not isinstance(value, Replace):
            raise MalformedVerdictError(f"an output processor answers Pass, Replace or Reject, not {_named(value)}")
        before = run.subject
        calls = before.tool_calls if value.tool_calls is None else tuple(value.tool_calls)
        changes = value.changes or int((value.text, calls) != (before.text, before.tool_calls))
        return OutputRun(
            replace(before, text=value.text, tool_calls=calls),
            _add(run.reports, member, "replace" if changes else "pass", time_ms, changes=changes),
        )

    def _failed(self, run: OutputRun, member: M, error: str, time_ms: float) -> OutputOutcome:
        return _broken(run.reports, member, error, time_ms)

    def _outcome(self, run: OutputRun) -> OutputOutcome:
        return Approved(run.subject.text, run.subject.tool_calls, run.reports)


class InputChain(Chain[M, InputRun, InputOutcome]):
    """Input processors: each sees the prompt that the one before it made."""

    def open(self, prompt: Prompt, context: TurnContext) -> InputRun | InputOutcome:
        """Begin with a prompt."""
        return self._ended(InputRun(prompt, context))

    def _judge(self, run: InputRun, member: M, value: object, time_ms: float) -> InputRun | InputOutcome:
        prompt = plain_prompt(value, "an input processor's answer")
        changes = _differences(run.subject, prompt)
        verdict: Verdict = "replace" if changes else "pass"
        return InputRun(prompt, run.context, _add(run.reports, member, verdict, time_ms, changes=changes))

    def _failed(self, run: InputRun, member: M, error: str, time_ms: float) -> InputOutcome:
        return _broken(run.reports, member, error, time_ms)

    def _outcome(self, run: InputRun) -> InputOutcome:
        return Derived(run.subject, run.reports)


class PreChain(Chain[M, PreRun, PreOutcome]):
    """Pre-processors of the turn's agent: each sees the message, and the metadata, that those before it made."""

    def __init__(self, members: Sequence[M], policy: FailurePolicy | None = None) -> None:
        """Make a chain of `members`, in order, whose failures are met with `policy`."""
        super().__init__(members)
        self.policy = policy or FailurePolicy()

    def open(self, incoming: IncomingMessage) -> PreRun | PreOutcome:
        """Begin with a user's message."""
        return self._ended(PreRun(incoming))

    def _in_turn(self, run: PreRun) -> tuple[M, ...]:
        return tuple(member for member in self.members if member.applies_to(run.context.agent))

    def _judge(self, run: PreRun, member: M, value: object, time_ms: float) -> PreRun | PreOutcome:
        before = run.subject
        if isinstance(value, Block):
            return Blocked(
                member.name,
                value.response or "",
                value.reason,
                {**before.metadata, **value.metadata},
                _add(run.reports, member, "block", time_ms, reason=value.reason, metadata=value.metadata),
            )
        if not isinstance(value, Proceed):
            raise MalformedVerdictError(f"a pre-processor answers Proceed or Block, not {_named(value)}")
        # A verdict holds its message as parts, whichever way it was given.
        message = before.message if value.message is None else cast("tuple[Part, ...]", value.message)
        metadata = {**before.metadata, **value.metadata}
        after = replace(before, message=message, metadata=metadata, context=replace(before.context, metadata=metadata))
        changes = int(message != before.message)
        return PreRun(after, _add(run.reports, member, "proceed", time_ms, changes=changes, metadata=value.metadata))

    def _failed(self, run: PreRun, member: M, error: str, time_ms: float) -> PreRun | PreOutcome:
        incoming = run.subject
        action = self.policy.action("pre", incoming.channel, member.on_failure)
        if action == "skip":
            return replace(run, reports=_add(run.reports, member, "skipped", time_ms, error=error))
        broken = _broken(run.reports, member, error, time_ms)
        if action == "fail":
            return broken
        response = self.policy.response(incoming.channel)
        return Blocked(member.name, response, error, dict(incoming.metadata), broken.reports)

    def _outcome(self, run: PreRun) -> PreOutcome:
        return Proceeded(run.subject.message, dict(run.subject.metadata), run.reports)


def _add(
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


def _broken(reports: tuple[Report, ...], member: Declaration, error: str, time_ms: float) -> Broken:
    """Return the outcome of a failure that may not be skipped."""
    return Broken(member.name, error, _add(reports, member, "failed", time_ms, error=error))


def _differences(before: Prompt, after: Prompt) -> int:
    """Count the entries of a prompt that differ: the system text, and each message."""
    pairs = sum(old != new for old, new in zip(before.messages, after.messages, strict=False))
    return pairs + abs(len(before.messages) - len(after.messages)) + (before.system != after.system)


def _named(value: object) -> str:
    """Return how an error speaks of what a processor answered: by type, never by value."""
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
