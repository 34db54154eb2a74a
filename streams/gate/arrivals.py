"""What follows from frames that arrive: text for the buffer, what of it goes out at once, and the end of an attempt."""

from __future__ import annotations

from collections.abc import Sequence

from streams.gate import entries, events, frames
from streams.gate.answers import collect
from streams.gate.attempts import attempt_failed
from streams.gate.entries import AnyEntry
from streams.gate.limits import excess
from streams.gate.policy import Policy
from streams.gate.release import MAX_JSON_BYTES_PER_CHAR, pieces, releasable
from streams.gate.scan import AnswerScan
from streams.gate.state import Answer, Turn
from streams.gate.steps import settled_live
from topics.graphemes import safe_length
from topics.trusted import like


def grown(turn: Turn, event: events.Frames, policy: Policy, scan: AnswerScan | None) -> Sequence[entries.Llm]:
    """Return what `arrived` does where frames bring what nearly all do: text that follows what is there, and nothing else.

    No entries if it cannot tell at once. This is done for every frame, so nothing is made twice here.
    """
    step, attempt, answer = turn.step, turn.attempt, turn.answer
    text = frames.text_alone(answer, event.frames, step=step, attempt=attempt, max_bytes=policy.max_record_bytes)
    if text is None or answer.refusal or answer.tool_calls:
        return ()
    if answer.text.length + len(text) > policy.max_answer_chars:
        return ()
    seq = answer.next_seq + len(event.frames)
    final = turn.request.delivery == "final"
    if policy.mode == "live":
        if final or not answer.verbatim:
            return ()
        return (entries.of_text(step, attempt, seq, text, live=_live_to(answer, text, ended=False)),)
    if scan is None or final:
        return (entries.of_text(step, attempt, seq, text),)
    release = scan.release(answer, text)
    if _fit(text, release, policy):
        return (entries.of_text(step, attempt, seq, text, release=release),)
    return (entries.of_text(step, attempt, seq, text), *releases(turn, release, policy))


def arrived(
    turn: Turn, event: events.Frames, now: float, policy: Policy, scan: AnswerScan | None
) -> Sequence[AnyEntry]:
    """Return the entries that follow from frames: at most one failure, or what they add and what of it goes out."""
    step, attempt = turn.step, turn.attempt
    current = [frame for frame in event.frames if frame.step == step and frame.attempt == attempt]
    if not current:
        return ()
    arrival = frames.plan(turn.answer, current, step=step, attempt=attempt, max_bytes=policy.max_record_bytes)
    if arrival.error is not None:
        return (*arrival.entries, attempt_failed(turn, arrival.error, now, policy))
    answer = turn.answer
    made: list[AnyEntry] = []
    for entry in arrival.entries:
        for gated in _gated(turn, answer, entry, policy, scan):
            made.append(gated)
            answer = collect(answer, gated)
    too_much = excess(answer, policy)
    if too_much is not None:
        return (too_much,)
    if made and isinstance(last := made[-1], entries.Llm) and last.settled and answer.tool_calls:
        made[-1] = settled_live(turn, answer, last)
    return made


def _gated(
    turn: Turn, answer: Answer, entry: entries.Llm, policy: Policy, scan: AnswerScan | None
) -> Sequence[entries.Llm]:
    """Return `entry` with what goes out at once, if the answer is gated in a way that needs no pass."""
    if policy.mode == "live":
        return _live(turn, answer, entry, policy)
    if scan is None or entry.seq is None or turn.request.delivery == "final":
        return (entry,)
    release = scan.release(answer, entry.text)
    if _fit(entry.text, release, policy):
        return (like(entry, release=release) if release else entry,)
    return (entry, *releases(turn, release, policy))


def _fit(text: str, release: str, policy: Policy) -> bool:
    """Return whether a release surely fits into the record of the text that it follows from."""
    return not release or len(text) + len(release) <= policy.max_record_bytes // MAX_JSON_BYTES_PER_CHAR


def releases(turn: Turn, text: str, policy: Policy) -> list[entries.Llm]:
    """Return `text` as releases in records of their own."""
    return [
        entries.Llm(step=turn.step, attempt=turn.attempt, release=piece)
        for piece in pieces(text, policy.max_record_bytes)
    ]


def _live(turn: Turn, answer: Answer, entry: entries.Llm, policy: Policy) -> Sequence[entries.Llm]:
    """Return `entry` with what goes out at once, since no chain is declared."""
    ended = entry.finish_reason is not None
    if turn.request.delivery == "final" and not answer.released and answer.verbatim:
        return (like(entry, settled=ended),)
    if answer.verbatim:
        return (like(entry, live=_live_to(answer, entry.text, ended=ended), settled=ended),)
    # A chain that is gone has let out text of its own; what follows it is spelt out, in records of its own.
    tail = releasable(str(answer.text.append(entry.text)), str(answer.released), 0, ended=ended)
    if tail is None or not (tail or ended):
        return (entry,)
    spelt = releases(turn, tail, policy)
    spelt[-1] = like(spelt[-1], settled=ended)
    return (entry, *spelt)


def _live_to(answer: Answer, text: str, *, ended: bool) -> int:
    """Return how much of the answer may be out once `text` follows it, where no chain is declared."""
    start = len(answer.released)
    waiting = answer.text.tail(start) + text
    return start + safe_length(waiting, len(waiting), ended=ended)
