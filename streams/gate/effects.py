"""What a journal record causes to be published: a pure function of the state before it and the record (design §6.2).

Called with the same journal it gives the same records with the same bytes, which is what lets recovery publish again
whatever a dead worker may not have published.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from processors.outcomes import Report
from streams.gate import entries
from streams.gate.records import JournalRecord
from streams.gate.release import pieces
from streams.gate.state import Turn
from topics import names
from topics.content import Usage
from topics.names import Topic
from topics.records import (
    TERMINAL_KINDS,
    BlockedFrame,
    CancelCall,
    CancelledFrame,
    CompletedFrame,
    Decision,
    FailedFrame,
    Phase,
    PromptRequest,
    Record,
    RejectedFrame,
    ResetFrame,
    TerminalFrame,
    TextFrame,
    UsageRecord,
)

#: A provider that was cut off tells no usage; by the common rule of thumb a token is about four characters of text.
CHARS_PER_TOKEN = 4

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")

CallEnd = Literal["completed", "rejected", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Publish:
    """One record to publish on `topic`, in the turn's partition, under the thread's key."""

    topic: Topic
    record: Record

    @property
    def terminal(self) -> bool:
        """Whether this ends the turn for its reader, so that everything before it must be confirmed first."""
        return getattr(self.record, "kind", None) in TERMINAL_KINDS


def effects_of(before: Turn, record: JournalRecord, max_bytes: int) -> tuple[Publish, ...]:
    """Return what `record` publishes, in order, for a turn whose state was `before` it.

    `max_bytes` bounds one published text; a longer one goes out in several frames.
    """
    return tuple(_Effects(before, record, max_bytes))


class _Effects:
    """The effects of one record; iterating yields them in order."""

    def __init__(self, before: Turn, record: JournalRecord, max_bytes: int) -> None:
        self.turn = before
        self.record = record
        self.max_bytes = max_bytes

    def __iter__(self) -> Iterator[Publish]:
        entry = self.record.entry
        match entry:
            case entries.Started():
                yield from self._started(entry)
            case entries.PreProcessed():
                yield from self._pre_processed(entry)
            case entries.InputProcessed():
                yield from self._decisions("input", entry.reports)
                yield self._prompt(entry.step, self.turn.attempt)
            case entries.Llm():
                yield from self._llm(entry)
            case entries.OutputProcessed():
                yield from self._output_processed(entry)
            case entries.Failed():
                yield from self._decisions(entry.phase, entry.reports)
                yield from self._call_ends("failed")
                yield self._terminal(
                    FailedFrame(
                        **self._ids(),
                        error=entry.error,
                        phase=entry.phase,
                        processor=entry.processor,
                        message=entry.message,
                    )
                )
            case entries.Cancelled():
                yield from self._call_ends("cancelled")
                usage = self._usage() if self.turn.calling else None
                yield self._terminal(CancelledFrame(**self._ids(), usage=usage))
            case entries.Accepted() | entries.Closed():
                return

    # -- before the model ---------------------------------------------------------------------------------------------

    def _started(self, entry: entries.Started) -> Iterator[Publish]:
        """The first prompt, where no processor stands before it."""
        if not entry.pre and not entry.input:
            yield self._prompt(self.turn.step, self.turn.attempt)

    def _pre_processed(self, entry: entries.PreProcessed) -> Iterator[Publish]:
        yield from self._decisions("pre", entry.reports)
        if entry.blocked_by is not None:
            yield self._terminal(BlockedFrame(**self._ids(), response=entry.response, processor=entry.blocked_by))
        elif not self.turn.has_input:
            yield self._prompt(self.turn.step, self.turn.attempt)

    def _prompt(self, step: int, attempt: int) -> Publish:
        turn, request = self.turn, self.turn.request
        entry = self.record.entry
        if isinstance(entry, entries.InputProcessed):
            prompt = entry.prompt
        elif isinstance(entry, entries.PreProcessed):
            prompt = turn.with_(message=entry.message or turn.message).base_prompt()
        else:
            prompt = turn.prompt or turn.base_prompt()
        return Publish(
            names.PROMPTS,
            PromptRequest(
                **self._turn_ids(),
                step=step,
                attempt=attempt,
                partition=turn.partition,
                agent=request.agent,
                prompt=prompt,
                tools=request.tools,
                model=request.model,
                params=request.params,
                deadline_at=turn.deadline_at,
            ),
        )

    # -- the model's answer -------------------------------------------------------------------------------------------

    def _llm(self, entry: entries.Llm) -> Iterator[Publish]:
        yield from self._text(self._newly_released(entry))
        if entry.rejected is not None:
            yield from self._decisions("output", entry.reports)
            yield from self._call_ends("rejected")
            yield self._terminal(RejectedFrame(**self._ids(), processor=entry.rejected.processor))
        elif entry.failed is not None:
            yield from self._attempt_failed(entry.failed)
        elif entry.settled:
            yield from self._completed(entry, self._newly_released(entry))

    def _newly_released(self, entry: entries.Llm) -> str:
        if entry.live is None:
            return entry.release
        start = self.turn.released_offset
        return self.turn.answer.text.append(entry.text).tail(start)[: entry.live - start]

    def _attempt_failed(self, failure: entries.CallFailure) -> Iterator[Publish]:
        yield self._usage_record("failed", estimated=True)
        if failure.retry:
            attempt = self.turn.attempt + 1
            if self.turn.released_offset:
                yield self._released(ResetFrame(**{**self._ids(), "attempt": attempt}))
            yield self._prompt(self.turn.step, attempt)
        else:
            yield self._terminal(
                FailedFrame(
                    **self._ids(),
                    error="ModelFailedError",
                    phase="model",
                    message=f"the model call failed ({_kind(failure.error)}): the model runner's log says why",
                )
            )

    def _output_processed(self, entry: entries.OutputProcessed) -> Iterator[Publish]:
        yield from self._decisions("output", entry.reports)
        if entry.rejected is not None:
            yield self._usage_record("rejected")
            yield self._terminal(RejectedFrame(**self._ids(), processor=entry.rejected.processor))
            return
        yield from self._text(entry.tail)
        if entry.final:
            yield from self._completed(entry, entry.tail)

    # -- endings ------------------------------------------------------------------------------------------------------

    def _completed(self, entry: entries.Llm | entries.OutputProcessed, tail: str) -> Iterator[Publish]:
        """Usage and the terminal frame; `tail` is what this record adds to the step's text."""
        turn = self.turn
        reply = str(turn.settled) + str(turn.answer.released.append(tail))
        answer, tool_calls = turn.answer, turn.answer.tool_calls
        if isinstance(entry, entries.Llm):
            if turn.request.delivery == "final" and entry.live is None:
                reply = str(turn.settled) + str(answer.text.append(entry.text))
            tool_calls = answer.with_deltas(entry.tool_calls)
            refusal, usage = answer.refusal + entry.refusal, entry.usage or answer.usage
            finish_reason = entry.finish_reason or answer.finish_reason
        else:
            tool_calls, refusal, usage = entry.tool_calls, entry.refusal, answer.usage
            finish_reason = answer.finish_reason
        fits = len(orjson.dumps(reply)) <= self.max_bytes
        if turn.request.delivery == "final" and not fits:
            # The terminal frame cannot hold the reply, so its text goes before it after all.
            yield from self._frames(reply, 0)
        yield self._usage_record("completed", usage)
        yield self._terminal(
            CompletedFrame(
                **{**self._ids(), "offset": turn.released_offset + len(tail)},
                reply=reply if fits else None,
                length=len(reply),
                sha256=None if fits else hashlib.sha256(reply.encode()).hexdigest(),
                finish_reason=finish_reason or "stop",
                refusal=refusal or None,
                tool_calls=tool_calls,
                usage=usage,
            )
        )

    def _call_ends(self, outcome: CallEnd) -> Iterator[Publish]:
        """Stop a call that may still run, and record what it is thought to have cost."""
        turn = self.turn
        if turn.calling:
            yield Publish(
                names.CANCELS,
                CancelCall(**self._turn_ids(), step=turn.step, attempt=turn.attempt, partition=turn.partition),
            )
            yield self._usage_record(outcome, estimated=True)
        elif turn.answer.finish_reason is not None:
            yield self._usage_record(outcome)

    def _usage_record(self, outcome: CallEnd, usage: Usage | None = None, *, estimated: bool = False) -> Publish:
        turn = self.turn
        known = usage or turn.answer.usage
        user = turn.request.user
        return Publish(
            names.USAGE,
            UsageRecord(
                **self._turn_ids(),
                id=f"{turn.key}/{turn.step}/{turn.attempt}",
                step=turn.step,
                attempt=turn.attempt,
                agent=turn.request.agent,
                user_id=user.id if user else None,
                model=turn.request.model,
                usage=known or self._usage(),
                estimated=estimated or known is None,
                outcome=outcome,
                at=self.record.at,
            ),
        )

    def _usage(self) -> Usage:
        answer = self.turn.answer
        if answer.usage is not None:
            return answer.usage
        asked = (self.turn.prompt or self.turn.base_prompt()).model_dump(mode="json", exclude_none=True)
        prompt = _tokens(len(json.dumps(asked, ensure_ascii=False)))
        entry = self.record.entry
        now = len(entry.text) + len(entry.refusal) if isinstance(entry, entries.Llm) else 0
        completion = _tokens(len(answer.text) + len(answer.refusal) + now)
        return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)

    # -- frames -------------------------------------------------------------------------------------------------------

    def _text(self, text: str) -> Iterator[Publish]:
        if text and self.turn.request.delivery == "stream":
            yield from self._frames(text, self.turn.released_offset)

    def _frames(self, text: str, offset: int) -> Iterator[Publish]:
        for piece in pieces(text, self.max_bytes):
            yield self._released(TextFrame(**{**self._ids(), "offset": offset}, text=piece))
            offset += len(piece)

    def _decisions(self, phase: Phase | None, reports: Iterable[Report]) -> Iterator[Publish]:
        for report in reports:
            yield Publish(
                names.DECISIONS,
                Decision(
                    **self._turn_ids(),
                    step=self.turn.step,
                    attempt=self.turn.attempt,
                    phase=phase or "output",
                    processor=report.processor,
                    version=report.version,
                    verdict=report.verdict,
                    changes=report.changes,
                    time_ms=report.time_ms,
                    error=report.error,
                    reason=report.reason,
                    metadata=report.metadata,
                    at=self.record.at,
                ),
            )

    def _terminal(self, frame: TerminalFrame) -> Publish:
        return self._released(frame)

    def _released(self, frame: TerminalFrame | TextFrame | ResetFrame) -> Publish:
        return Publish(names.RELEASED_FRAMES, frame)

    def _turn_ids(self) -> dict[str, Any]:
        tenant, thread_id, turn_id = self.turn.key
        return {"tenant": tenant, "thread_id": thread_id, "turn_id": turn_id}

    def _ids(self) -> dict[str, Any]:
        return {
            **self._turn_ids(),
            "step": self.turn.step,
            "attempt": self.turn.attempt,
            # With `final` delivery nothing is shown before the end, and the end must not wait for it.
            "offset": self.turn.released_offset if self.turn.request.delivery == "stream" else 0,
        }


def _kind(error: str) -> str:
    """Return the name of a failure if it is one: a model server may write anything there, and readers see this."""
    return error if _NAME.fullmatch(error) else "unnamed"


def _tokens(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)
