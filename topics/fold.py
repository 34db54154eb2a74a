"""What a reader makes of released frames: a pure fold (`docs/wire.md`).

Frames of one turn may come twice, cut differently, or out of order: a worker that takes over repeats what its
predecessor may already have published. `fold` turns any such sequence into the same text:

* A text goes at its offset in its step. What is already there is dropped; what lies past the end waits.
* A frame of a higher attempt starts its step empty, with or without a `reset`; one of a lower attempt is ignored.
* The terminal frame takes effect once the text is complete, and nothing changes after it. Complete means:
  `completed` with `reply`: at once, because the reply is the whole text, whatever of it came as text frames (none,
  with `final` delivery). `completed` without: when the text has `length` and `sha256`. Any other ending: when its
  step's text reaches the frame's `offset` (0, where the writer leaves it out, is at once).
* Characters that differ from those already there are never merged: the view becomes `contradicted`.

On a partition read in order, a contradiction is final. Where frames may also overtake each other between steps, it can
be one that a frame still on its way resolves: `contradicted` is then true for a while, and the fold still ends right.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from topics.records import (
    BlockedFrame,
    CompletedFrame,
    PostprocessCompleteFrame,
    ReleasedFrame,
    ResetFrame,
    TerminalFrame,
    TextFrame,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from topics.ids import TurnKey


@dataclass(frozen=True, slots=True)
class StepText:
    """The text of one step's latest attempt; `waiting` holds (offset, text) of what lies past its end.

    `contradicted` says that a text of this attempt disagreed with what was there; the step then stays as it is.
    """

    attempt: int = 0
    text: str = ""
    waiting: tuple[tuple[int, str], ...] = ()
    contradicted: bool = False

    def place(self, offset: int, text: str) -> StepText:
        """Return the step with `text` at `offset`, and behind it whatever had waited for it."""
        whole = self.text
        late: list[tuple[int, str]] = []
        for start, piece in sorted({*self.waiting, (offset, text)}):
            if start > len(whole):
                late.append((start, piece))
                continue
            known = whole[start : start + len(piece)]
            if self.contradicted or not piece.startswith(known):
                return replace(self, contradicted=True)
            whole += piece[len(known) :]
        return replace(self, text=whole, waiting=tuple(late))


@dataclass(frozen=True, slots=True)
class TurnView:
    """What a reader knows about one turn; start with `TurnView(turn)`.

    `steps` maps a step's number to its text. `pending` is the terminal frame as it came, `terminal` the same once it
    has taken effect. `news` is what the last frame changed, as frames in order to show: texts without what was there
    before, a `reset` only where text is to be dropped (also where the wire had none), the terminal frame at most once.
    `disputed` says that two endings, or two post-processed texts, disagree.
    """

    turn: TurnKey
    steps: Mapping[int, StepText] = field(default_factory=dict)
    postprocessed: str | None = None
    pending: TerminalFrame | None = None
    terminal: TerminalFrame | None = None
    news: tuple[ReleasedFrame, ...] = ()
    disputed: bool = False

    @property
    def text(self) -> str:
        """The released text of all steps, in the order of steps."""
        return "".join(self.steps[number].text for number in sorted(self.steps))

    @property
    def reply(self) -> str:
        """What to show the user: the post-processed text, or a block's response, or else the released text."""
        if self.postprocessed is not None:
            return self.postprocessed
        return self.terminal.response if isinstance(self.terminal, BlockedFrame) else self.text

    @property
    def new_text(self) -> str:
        """The text that the last frame added: print it, after clearing what was printed if `restarted`."""
        return "".join(frame.text for frame in self.news if isinstance(frame, TextFrame))

    @property
    def restarted(self) -> bool:
        """Whether the last frame dropped text of its step."""
        return any(isinstance(frame, ResetFrame) for frame in self.news)

    @property
    def closed(self) -> bool:
        """Whether the terminal frame has taken effect; nothing changes after that."""
        return self.terminal is not None

    @property
    def contradicted(self) -> bool:
        """Whether frames disagree: different characters at one place, two endings, a text that is not the reply's."""
        end = self.pending
        if self.disputed or any(step.contradicted for step in self.steps.values()):
            return True
        # A complete text would have closed the turn, so one that is long enough and did not is a different text.
        return (
            isinstance(end, CompletedFrame)
            and not self.closed
            and (end.reply is not None or len(self.text) >= end.length)
        )


def fold(view: TurnView, frame: ReleasedFrame) -> TurnView:
    """Return `view` after `frame`; one of another turn, or after the end, changes nothing."""
    view = replace(view, news=()) if view.news else view
    if view.closed or frame.turn != view.turn:
        return view
    step = view.steps.get(frame.step, StepText())
    if frame.attempt > step.attempt:
        step = StepText(frame.attempt)
        view = _put(view, frame.step, step)
    if isinstance(frame, TextFrame):
        if frame.attempt == step.attempt:
            view = _put(view, frame.step, step.place(frame.offset, frame.text))
    elif isinstance(frame, PostprocessCompleteFrame):
        if view.postprocessed is None:
            view = replace(view, postprocessed=frame.text, news=(*view.news, frame))
        view = replace(view, disputed=view.disputed or view.postprocessed != frame.text)
    elif not isinstance(frame, ResetFrame):
        end = view.pending or frame
        view = replace(view, pending=end, disputed=view.disputed or end != frame)
    return _close(view)


def _put(view: TurnView, number: int, step: StepText, *, show: bool = True) -> TurnView:
    """Replace step `number`, and say in `news` what a reader has to drop and to add."""
    before = view.steps.get(number, StepText())
    where: dict[str, Any] = {**view.turn._asdict(), "step": number, "attempt": step.attempt}
    news = list(view.news)
    known = len(before.text)
    if step.attempt > before.attempt and known:
        news.append(ResetFrame(**where))
    if show and len(step.text) > known:
        news.append(TextFrame(**where, offset=known, text=step.text[known:]))
    return replace(view, steps={**view.steps, number: step}, news=tuple(news))


def _close(view: TurnView) -> TurnView:
    """Let the pending terminal frame take effect if the text is complete."""
    end = view.pending
    if end is None:
        return view
    if not isinstance(end, CompletedFrame):
        complete = len(view.steps.get(end.step, StepText()).text) >= end.offset
    elif view.disputed or any(step.contradicted for step in view.steps.values()):
        complete = False
    elif end.reply is not None:
        view, complete = _complete_from_reply(view, end, end.reply)
    else:
        text = view.text
        complete = len(text) == end.length and end.sha256 in {None, sha256(text.encode()).hexdigest()}
    return replace(view, terminal=end, news=(*view.news, end)) if complete else view


def _complete_from_reply(view: TurnView, end: CompletedFrame, reply: str) -> tuple[TurnView, bool]:
    """Take from `reply` what is not there yet, unless it disagrees with what is.

    The rest is shown as a text only to a reader who has been shown text before: with `final` delivery the terminal
    frame is all there is to see.
    """
    known = view.text
    last = max([end.step, *view.steps])
    step = view.steps.get(last, StepText(end.attempt))
    whole = step.text + reply[len(known) :]
    filled = step.place(0, whole)
    waiting = any(other.waiting for number, other in view.steps.items() if number != last)
    if not reply.startswith(known) or waiting or filled.waiting or filled.text != whole:
        return view, False
    return _put(view, last, filled, show=known != "" or view.restarted), True
