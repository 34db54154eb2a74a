"""The fold of one attempt's answer: what an `llm` entry adds to it, and what it lets out."""

from __future__ import annotations

from streams.gate import entries
from streams.gate.copies import changed
from streams.gate.state import Answer


def collect(answer: Answer, entry: entries.Llm) -> Answer:
    """Return `answer` with what `entry` brings and releases."""
    if entry.seq is not None:
        answer = changed(
            answer,
            text=answer.text.append(entry.text),
            half=entry.half,
            next_seq=entry.seq,
            early={seq: frame for seq, frame in answer.early.items() if seq >= entry.seq},
            tool_calls=answer.with_deltas(entry.tool_calls) if entry.tool_calls else answer.tool_calls,
            refusal=answer.refusal + entry.refusal,
            finish_reason=entry.finish_reason,
            usage=entry.usage or answer.usage,
        )
    if entry.early:
        early = {frame.seq: frame for frame in entry.early if frame.seq is not None}
        answer = changed(answer, early={**answer.early, **early})
    if entry.live is not None:
        start = len(answer.released)
        return changed(answer, released=answer.released.append(answer.text.tail(start)[: entry.live - start]))
    return release(answer, entry.release)


def release(answer: Answer, text: str) -> Answer:
    """Return `answer` with `text` let out, which a chain made of it."""
    return changed(answer, released=answer.released.append(text), verbatim=False) if text else answer
