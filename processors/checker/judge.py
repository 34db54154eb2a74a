"""Calling a chain here and now, again and again, and letting a watcher in another process see how it goes."""

from __future__ import annotations

import asyncio
import mmap
import struct
import time
from collections.abc import Sequence
from typing import TypeAlias

from processors.calling import call_async, call_sync
from processors.chain import OutputChain, OutputRun
from processors.contracts import Answer, TurnContext
from processors.declare import Processor
from processors.outcomes import Approved, OutputOutcome, Refused

#: What a chain says, as far as readers are concerned: what became of the text, and the text or who or what ended it.
Said: TypeAlias = tuple[str, str]

PLAIN = TurnContext()
_LAYOUT = struct.Struct("QQQQ")


class Meter:
    """Shared memory in which a checking process leaves where it is, and shows that it goes on."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _LAYOUT.size)
        self._beats = 0
        self._calls = 0
        self._text = 0
        self._length = 0
        self._until = float("inf")

    def read(self) -> tuple[int, int, int]:
        """Return how many calls have begun, and of the last one the index of the text and the length of what it saw."""
        _, calls, text, length = _LAYOUT.unpack_from(self._memory)
        return calls, text, length

    def beats(self) -> int:
        """Return a number that has changed if anything went on since it was read last."""
        return int(_LAYOUT.unpack_from(self._memory)[0])

    def begin(self, budget_s: float) -> None:
        """Begin a stage that is to end within `budget_s` seconds."""
        self._until = time.monotonic() + budget_s

    def at_text(self, index: int) -> None:
        """Say that the calls from now on are about text `index` of the list."""
        self._text = index

    def call(self, length: int) -> None:
        """Say that a call begins, which sees `length` code points."""
        self._calls += 1
        self._length = length
        self.beat()

    def beat(self) -> None:
        """Show that something goes on."""
        self._beats += 1
        _LAYOUT.pack_into(self._memory, 0, self._beats, self._calls, self._text, self._length)

    def resume(self) -> None:
        """Go on counting where an earlier process came to."""
        self._beats, self._calls, _, _ = _LAYOUT.unpack_from(self._memory)

    @property
    def out_of_time(self) -> bool:
        """Whether the stage has used up its time."""
        return time.monotonic() > self._until


class Judge:
    """A chain of output processors, as a function of texts.

    Sync members run in the calling thread, async ones on a loop of this judge. No limit is enforced here.
    """

    def __init__(self, members: Sequence[Processor], meter: Meter) -> None:
        self._chain = OutputChain(tuple(members))
        self._meter = meter
        self._loop = asyncio.new_event_loop() if any(member.is_async for member in members) else None

    def __call__(self, text: str, *, complete: bool, context: TurnContext = PLAIN) -> OutputOutcome:
        """Return what the chain makes of a whole answer, or of the beginning of one."""
        self._meter.call(len(text))
        answer = Answer(
            text=text,
            step=context.step,
            attempt=context.attempt,
            finish_reason="stop" if complete else None,
            complete=complete,
            context=context,
        )
        step = self._chain.open(answer)
        while isinstance(step, OutputRun):
            member = self._chain.member(step)
            if self._loop is not None and member.is_async:
                result = self._loop.run_until_complete(call_async(member, step.subject, step.context))
            else:
                result = call_sync(member, step.subject, step.context)
            step = self._chain.take(step, result, 0.0)
        return step

    def settled(self, text: str) -> str | None:
        """Return what `text` as a whole answer is settled as; None if it is not."""
        outcome = self(text, complete=True)
        return outcome.text if isinstance(outcome, Approved) else None


def said(outcome: OutputOutcome) -> Said:
    """Return what an outcome says to readers; a rejection's reason is not among it."""
    if isinstance(outcome, Approved):
        return "approved", outcome.text
    if isinstance(outcome, Refused):
        return "refused", outcome.processor
    return "broken", outcome.error


class Memo(Judge):
    """A judge that remembers: for looking again and again at pieces of a few short texts."""

    def __init__(self, members: Sequence[Processor], meter: Meter) -> None:
        super().__init__(members, meter)
        self._known: dict[tuple[str, bool], OutputOutcome] = {}

    def __call__(self, text: str, *, complete: bool, context: TurnContext = PLAIN) -> OutputOutcome:
        """Return what the chain makes of a text, or made of it when it was asked first."""
        if context is not PLAIN:
            return super().__call__(text, complete=complete, context=context)
        self._meter.beat()
        known = self._known.get((text, complete))
        if known is None:
            known = self._known[text, complete] = super().__call__(text, complete=complete)
        return known
