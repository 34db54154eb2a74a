"""What a reader at a position is sent next: a pure function of what has been released.

There is no queue for a reader: whoever is slow finds more text at once, and text that was taken back before it was sent is
never sent. So what a reader costs does not depend on how slow it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from streams.gateway.ids import Position
from topics.fold import TurnView
from topics.records import PostprocessCompleteFrame, ReleasedFrame, ResetFrame, TextFrame

#: The most code points in one event.
MAX_EVENT_CHARS = 16_384


class Event(NamedTuple):
    """One frame for a reader, and where the reader is once it has it."""

    frame: ReleasedFrame
    after: Position

    @property
    def last(self) -> bool:
        """Whether nothing comes after it."""
        return self.after.stage == "e"


def next_event(view: TurnView, at: Position, *, shown: bool = True) -> Event | None:
    """Return what a reader of `view` at `at` is sent next, or None if it has to wait.

    `shown` says whether text of the turn was ever released before its end; without, there is only the ending, as `final`
    delivery has it. Frames are those of the wire; their offsets are where the reader is, and not how they came.
    """
    if at.stage == "e":
        return None
    where: dict[str, Any] = view.turn._asdict()
    if shown:
        event = _next_text(view, at, where)
        if event is not None:
            return event
        at = _at_end(view, at)
    if view.postprocessed is not None and at.stage == "t":
        last = max(view.steps, default=0)
        frame = PostprocessCompleteFrame(
            **where, step=last, attempt=_attempt(view, last), offset=0, text=view.postprocessed
        )
        return Event(frame, at._replace(stage="p"))
    if view.terminal is not None:
        return Event(view.terminal, at._replace(stage="e"))
    return None


def _next_text(view: TurnView, at: Position, where: dict[str, Any]) -> Event | None:
    for number in sorted(number for number in view.steps if number >= at.step):
        step = view.steps[number]
        if number > at.step:
            at = at._replace(step=number, attempt=step.attempt, offset=0)
        if step.attempt > at.attempt:
            had = at.offset
            at = at._replace(attempt=step.attempt, offset=0)
            if had:
                return Event(ResetFrame(**where, step=number, attempt=step.attempt), at)
        if step.attempt == at.attempt and len(step.text) > at.offset:
            text = step.text[at.offset : at.offset + MAX_EVENT_CHARS]
            frame = TextFrame(**where, step=number, attempt=step.attempt, offset=at.offset, text=text)
            return Event(frame, at._replace(offset=at.offset + len(text)))
    return None


def _at_end(view: TurnView, at: Position) -> Position:
    """Return where a reader is who has all text there is."""
    last = max(view.steps, default=0)
    if last <= at.step:
        return at
    return at._replace(step=last, attempt=_attempt(view, last), offset=len(view.steps[last].text))


def _attempt(view: TurnView, number: int) -> int:
    step = view.steps.get(number)
    return step.attempt if step is not None else 0
