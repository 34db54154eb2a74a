"""The fold of one attempt's answer: what an `llm` entry adds to it, and what it lets out."""

from __future__ import annotations

from typing import Any

from streams.gate import entries
from streams.gate.state import Answer
from topics.text import followed_by


def collect(answer: Answer, entry: entries.Llm) -> Answer:
    """Return `answer` with what `entry` brings and releases."""
    changes = {} if entry.seq is None else _brought(answer, entry)
    if entry.early:
        early = {frame.seq: frame for frame in entry.early if frame.seq is not None}
        changes["early"] = {**changes.get("early", answer.early), **early}
    if entry.live is not None:
        start = len(answer.released)
        text = changes.get("text", answer.text)
        changes["released"] = answer.released.append(text.tail(start)[: entry.live - start])
    elif entry.release:
        changes["released"] = answer.released.append(entry.release)
        changes["verbatim"] = False
    return answer.with_(**changes)


def with_text(answer: Answer, entry: entries.Llm) -> Answer:
    """Return what `collect` does, where no frame waits and `entry` brings text alone (`entries.brings_text_alone`)."""
    said = entry.__dict__
    text = answer.text.append(said["text"])
    live, out = said["live"], said["release"]
    if live is not None:
        start = answer.released.length
        released, verbatim = answer.released.append(text.tail(start)[: live - start]), answer.verbatim
    else:
        released, verbatim = answer.released.append(out), answer.verbatim and not out
    return answer.grown(text, said["seq"], released, verbatim=verbatim)


def _brought(answer: Answer, entry: entries.Llm) -> dict[str, Any]:
    """Return what the frames in `entry` change; most bring text and nothing else."""
    ended = entry.finish_reason is not None
    changes: dict[str, Any] = {
        "text": answer.text.append(entry.text),
        "half": entry.half,
        "next_seq": entry.seq,
        "finish_reason": entry.finish_reason,
    }
    if answer.early:
        changes["early"] = {seq: frame for seq, frame in answer.early.items() if seq >= (entry.seq or 0)}
    if entry.tool_calls or (ended and answer.tool_calls):
        changes["tool_calls"] = answer.with_deltas(entry.tool_calls, ended=ended)
    if entry.refusal or (ended and answer.refusal):
        changes["refusal"] = followed_by(answer.refusal, entry.refusal, ended=ended)
    if entry.usage is not None:
        changes["usage"] = entry.usage
    return changes


def release(answer: Answer, text: str) -> Answer:
    """Return `answer` with `text` let out, which a chain made of it."""
    return answer.with_(released=answer.released.append(text), verbatim=False) if text else answer
