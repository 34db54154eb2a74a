"""What a journal record causes to be published: a pure function of the state before it and the record.

Called with the same journal it gives the same records with the same bytes, which is what lets recovery publish again
whatever a dead worker may not have published.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Literal, NamedTuple

import orjson

from processors.outcomes import Report
from streams.gate import entries, machine, steps
from streams.gate.costs import added
from streams.gate.decisions import decision_of
from streams.gate.prompts import prompt_of
from streams.gate.records import JournalRecord
from streams.gate.release import MAX_JSON_BYTES_PER_CHAR, pieces
from streams.gate.state import Phase, Turn
from streams.gate.usage import CallEnd, known_or_estimated, of_call, of_processors
from topics import names
from topics.content import Usage
from topics.names import Topic
from topics.records import (
    TERMINAL_KINDS,
    BlockedFrame,
    CancelCall,
    CancelledFrame,
    CompletedFrame,
    FailedFrame,
    PostprocessCompleteFrame,
    Record,
    RejectedFrame,
    ResetFrame,
    TerminalFrame,
    TextFrame,
    ToolCallRequest,
)
from topics.records import Phase as PhaseName
from topics.trusted import made

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")

#: What every text frame is made from: most records publish one.
_TEXT = TextFrame(thread_id="thread", turn_id="turn", text="").__dict__
_TEXT_SAYS = set(TextFrame.model_fields) - {"v", "kind"}


class Publish(NamedTuple):
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
    entry = record.entry
    if entries.brings_text_alone(entry):
        # Nearly every record, and nothing but text comes of it.
        text = _newly_released(before, entry)
        if not text or before.request.delivery != "stream":
            return ()
        if MAX_JSON_BYTES_PER_CHAR * len(text) + 2 <= max_bytes:
            return (Publish(names.RELEASED_FRAMES, _text_frame(before, text, before.released_offset)),)
    return tuple(_Effects(before, record, max_bytes))


def _newly_released(before: Turn, entry: entries.Llm) -> str:
    said = entry.__dict__
    live: int | None = said["live"]
    if live is None:
        release: str = said["release"]
        return release
    start = before.released_offset
    return before.answer.text.append(said["text"]).tail(start)[: live - start]


def _text_frame(turn: Turn, text: str, offset: int) -> TextFrame:
    """Return a frame of text, for which nothing needs to be checked."""
    asked = turn.request.__dict__
    fields = _TEXT.copy()
    fields["tenant"] = asked["tenant"]
    fields["thread_id"] = asked["thread_id"]
    fields["turn_id"] = asked["turn_id"]
    fields["step"] = turn.step
    fields["attempt"] = turn.attempt
    fields["offset"] = offset
    fields["text"] = text
    return made(TextFrame, fields, _TEXT_SAYS)


class _Effects:
    """The effects of one record; iterating yields them in order."""

    def __init__(self, before: Turn, record: JournalRecord, max_bytes: int) -> None:
        self.turn = before
        self.record = record
        self.max_bytes = max_bytes

    def __iter__(self) -> Iterator[Publish]:
        entry = self.record.entry
        for spent in of_processors(self.turn, self.record):
            yield Publish(names.USAGE, spent)
        match entry:
            case entries.PreProcessed():
                yield from self._seen(entry)
            case entries.InputProcessed():
                yield from self._decisions("input", entry.reports)
            case entries.Llm():
                yield from self._llm(entry)
            case entries.OutputProcessed():
                yield from self._output_processed(entry)
            case entries.CallsGoverned():
                yield from self._decisions("governance", entry.reports)
                yield from self._tool_calls()
            case entries.PostProcessed():
                yield from self._post_processed(entry)
            case entries.Failed():
                yield from self._decisions(entry.phase, entry.reports)
                yield from self._call_ends("failed")
                yield self._released(
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
                last = known_or_estimated(self.turn, self.record) if self.turn.calling else self.turn.answer.usage
                usage = added(self.turn.spent, last)
                yield self._released(CancelledFrame(**self._ids(), usage=usage))
            case _:
                pass
        if self._asks_the_model(entry):
            yield Publish(names.PROMPTS, prompt_of(self.after))

    @cached_property
    def after(self) -> Turn:
        """The turn's state after the record."""
        return machine.evolve(self.turn, self.record)

    # -- before the model ---------------------------------------------------------------------------------------------

    def _seen(self, entry: entries.PreProcessed) -> Iterator[Publish]:
        yield from self._decisions("governance" if isinstance(entry, entries.Governed) else "pre", entry.reports)
        if entry.blocked_by is not None:
            yield self._blocked(entry.blocked_by, entry.response)

    def _blocked(self, processor: str, response: str) -> Publish:
        unsaid = not response and self.turn.request.delivery == "final"
        code: Literal["preprocessor_blocked"] | None = "preprocessor_blocked" if unsaid else None
        return self._released(BlockedFrame(**self._ids(), response=response, processor=processor, code=code))

    def _asks_the_model(self, entry: entries.AnyEntry) -> bool:
        """Whether a model call begins with this record: nearly all `llm` records are about one that goes on."""
        if isinstance(entry, entries.Llm) and entry.failed is None and not entry.settled:
            return False
        if isinstance(entry, entries.Accepted | entries.Closed) or self.after.phase is not Phase.MODEL:
            return False
        before = self.turn
        same = (before.step, before.attempt) == (self.after.step, self.after.attempt)
        return not (same and before.phase is Phase.MODEL)

    # -- the model's answer -------------------------------------------------------------------------------------------

    def _llm(self, entry: entries.Llm) -> Iterator[Publish]:
        yield from self._text(_newly_released(self.turn, entry))
        if entry.rejected is not None:
            yield from self._decisions("output", entry.reports)
            yield from self._call_ends("rejected")
            yield self._released(RejectedFrame(**self._ids(), processor=entry.rejected.processor))
        elif entry.failed is not None:
            yield from self._attempt_failed(entry.failed)
        elif entry.settled:
            yield from self._step_settled()

    def _attempt_failed(self, failure: entries.CallFailure) -> Iterator[Publish]:
        yield self._usage_record("failed", estimated=True)
        if failure.retry:
            if self.turn.released_offset:
                yield self._released(ResetFrame(**{**self._ids(), "attempt": self.turn.attempt + 1}))
            return
        yield self._released(
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
            yield self._released(RejectedFrame(**self._ids(), processor=entry.rejected.processor))
            return
        yield from self._text(entry.tail)
        if entry.final:
            yield from self._step_settled()

    # -- after it -----------------------------------------------------------------------------------------------------

    def _step_settled(self) -> Iterator[Publish]:
        """What the step cost, and what follows it: tools, or the turn's end. Post-processors are waited for in silence."""
        after = self.after
        usage = after.answer.usage if after.step == self.turn.step else self._entry_usage()
        if after.over:
            yield from self._completed(usage)
            return
        yield self._usage_record("completed", usage)
        if after.phase is Phase.TOOLS:
            yield from self._tool_calls()

    def _entry_usage(self) -> Usage | None:
        entry = self.record.entry
        return (entry.usage if isinstance(entry, entries.Llm) else None) or self.turn.answer.usage

    def _tool_calls(self) -> Iterator[Publish]:
        after = self.after
        if after.phase is not Phase.TOOLS:
            return
        request = after.request
        for call in steps.pending(after):
            yield Publish(
                names.TOOL_CALLS,
                ToolCallRequest(
                    **self._turn_ids(),
                    step=after.step,
                    attempt=after.attempt,
                    partition=after.partition,
                    call=call,
                    agent=request.agent,
                    user=request.user,
                    deadline_at=min(after.deadline_at, after.progress_at + steps.patience_s(after, [call])),
                ),
            )

    def _post_processed(self, entry: entries.PostProcessed) -> Iterator[Publish]:
        yield from self._decisions("post", entry.reports)
        if entry.rejected is not None:
            yield self._released(RejectedFrame(**self._ids(), processor=entry.rejected.processor))
        elif entry.blocked_by is not None:
            yield self._blocked(entry.blocked_by, entry.response)
        else:
            if entry.text is not None and self.turn.request.delivery == "stream":
                yield self._released(PostprocessCompleteFrame(**{**self._ids(), "offset": 0}, text=entry.text))
            yield from self._completed()

    def _completed(self, usage: Usage | None = None) -> Iterator[Publish]:
        """The end of a turn that went well; before it the step's usage, unless that is recorded already."""
        turn = self.after
        final = turn.request.delivery == "final"
        reply = turn.reply if final and turn.reply is not None else turn.text
        fits = len(orjson.dumps(reply)) <= self.max_bytes
        if final and not fits:
            # The terminal frame cannot hold the reply, so its text goes before it after all.
            yield from self._frames(reply, 0)
        if self.turn.phase is not Phase.POST:
            yield self._usage_record("completed", usage)
        yield self._released(
            CompletedFrame(
                **{**self._ids(), "offset": turn.released_offset},
                reply=reply if fits else None,
                length=len(reply),
                sha256=None if fits else hashlib.sha256(reply.encode()).hexdigest(),
                finish_reason=turn.answer.finish_reason or "stop",
                refusal=turn.answer.refusal or None,
                # Tools that are run here are nobody else's business.
                tool_calls=() if turn.runs_tools else turn.answer.tool_calls,
                usage=added(turn.spent, turn.answer.usage),
            )
        )

    # -- what calls cost ----------------------------------------------------------------------------------------------

    def _call_ends(self, outcome: CallEnd) -> Iterator[Publish]:
        """Stop a call that may still run, and record what it is thought to have cost."""
        turn = self.turn
        if turn.calling or turn.phase is Phase.TOOLS:
            yield Publish(
                names.CANCELS,
                CancelCall(**self._turn_ids(), step=turn.step, attempt=turn.attempt, partition=turn.partition),
            )
        if turn.calling:
            yield self._usage_record(outcome, estimated=True)
        elif turn.phase is Phase.SETTLING:
            yield self._usage_record(outcome)

    def _usage_record(self, outcome: CallEnd, usage: Usage | None = None, *, estimated: bool = False) -> Publish:
        return Publish(names.USAGE, of_call(self.turn, self.record, outcome, usage, estimate=estimated))

    # -- frames -------------------------------------------------------------------------------------------------------

    def _text(self, text: str) -> Iterator[Publish]:
        if text and self.turn.request.delivery == "stream":
            yield from self._frames(text, self.turn.released_offset)

    def _frames(self, text: str, offset: int) -> Iterator[Publish]:
        for piece in pieces(text, self.max_bytes):
            yield self._released(_text_frame(self.turn, piece, offset))
            offset += len(piece)

    def _decisions(self, phase: PhaseName | None, reports: Iterable[Report]) -> Iterator[Publish]:
        for report in reports:
            yield Publish(names.DECISIONS, decision_of(self.turn, phase or "output", report, self.record.at))

    def _released(self, frame: TerminalFrame | TextFrame | ResetFrame | PostprocessCompleteFrame) -> Publish:
        if self.turn.chain_changed and frame.kind in TERMINAL_KINDS:
            frame = frame.model_copy(update={"chain_changed": True})
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
