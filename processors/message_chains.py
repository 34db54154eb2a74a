"""How the chains of messages and replies are run: of message rules, of pre-processors and of post-processors.

They take runs and outcomes as `processors.chain` says. What becomes of a failure is for `processors.policy` to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from processors.chain import Chain, GovernanceRun, M, PostRun, PreRun, added, broken, named
from processors.contracts import IncomingMessage, Part, Reply
from processors.declare import LABELS
from processors.errors import MalformedVerdictError
from processors.outcomes import Blocked, Modified, PostOutcome, PreOutcome, Proceeded
from processors.policy import FailurePolicy
from processors.verdicts import Block, ModifiedResponse, Proceed


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
                added(run.reports, member, "block", time_ms, reason=value.reason, metadata=value.metadata),
            )
        if not isinstance(value, Proceed):
            raise MalformedVerdictError(f"a {LABELS[member.kind]} answers Proceed or Block, not {named(value)}")
        # A verdict holds its message as parts, whichever way it was given.
        message = before.message if value.message is None else cast("tuple[Part, ...]", value.message)
        metadata = {**before.metadata, **value.metadata}
        after = replace(before, message=message, metadata=metadata, context=replace(before.context, metadata=metadata))
        changes = int(message != before.message)
        reports = added(run.reports, member, "proceed", time_ms, changes=changes, metadata=value.metadata)
        return replace(run, subject=after, reports=reports)

    def _failed(self, run: PreRun, member: M, error: str, time_ms: float) -> PreRun | PreOutcome:
        incoming = run.subject
        action = self.policy.action("pre", incoming.channel, member.on_failure)
        if action == "skip":
            return replace(run, reports=added(run.reports, member, "skipped", time_ms, error=error))
        failure = broken(run.reports, member, error, time_ms)
        if action == "fail":
            return failure
        response = self.policy.response(incoming.channel)
        return Blocked(member.name, response, error, dict(incoming.metadata), failure.reports)

    def _outcome(self, run: PreRun) -> PreOutcome:
        return Proceeded(run.subject.message, dict(run.subject.metadata), run.reports)


class GovernanceChain(PreChain[M]):
    """Message rules: as pre-processors, but for every agent, and a failure always breaks the chain."""

    def open(self, incoming: IncomingMessage) -> PreRun | PreOutcome:
        """Begin with a user's message."""
        return self._ended(GovernanceRun(incoming))

    def _failed(self, run: PreRun, member: M, error: str, time_ms: float) -> PreRun | PreOutcome:
        return broken(run.reports, member, error, time_ms)


class PostChain(Chain[M, PostRun, PostOutcome]):
    """Post-processors of the turn's agent: each sees the reply as the one before it made it."""

    def __init__(self, members: Sequence[M], policy: FailurePolicy | None = None) -> None:
        """Make a chain of `members`, in order, whose failures are met with `policy`."""
        super().__init__(members)
        self.policy = policy or FailurePolicy()

    def open(self, reply: Reply) -> PostRun | PostOutcome:
        """Begin with a finished reply."""
        return self._ended(PostRun(reply))

    def _in_turn(self, run: PostRun) -> tuple[M, ...]:
        return tuple(member for member in self.members if member.applies_to(run.context.agent))

    def _judge(self, run: PostRun, member: M, value: object, time_ms: float) -> PostRun | PostOutcome:
        if not isinstance(value, ModifiedResponse):
            raise MalformedVerdictError(f"a post-processor answers ModifiedResponse, not {named(value)}")
        changes = int(value.text != run.subject.text)
        reports = added(run.reports, member, "replace" if changes else "pass", time_ms, changes=changes)
        return PostRun(replace(run.subject, text=value.text), reports)

    def _failed(self, run: PostRun, member: M, error: str, time_ms: float) -> PostRun | PostOutcome:
        reply = run.subject
        action = self.policy.action("post", reply.channel, member.on_failure)
        if action == "skip":
            return replace(run, reports=added(run.reports, member, "skipped", time_ms, error=error))
        failure = broken(run.reports, member, error, time_ms)
        if action == "fail":
            return failure
        response = self.policy.response(reply.channel)
        return Blocked(member.name, response, error, dict(reply.metadata), failure.reports)

    def _outcome(self, run: PostRun) -> PostOutcome:
        return Modified(run.subject.text, dict(run.subject.metadata), run.reports)
