"""One answer from a file through a chain, without a broker."""

from __future__ import annotations

import asyncio
import difflib
import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from processors import Manifest, load_deps
from processors.errors import ProcessorCrashedError, ProcessorTimeoutError
from streams.chains import ProcessChainRunner
from streams.cli import output, session
from streams.cli.failures import FAILED, OK, CommandError
from streams.gate.policy import Policy
from streams.gate_run import FrameInputError, GateEnd, GateRun, read_frames
from streams.models.script import ScriptItem
from topics.records import ModelFrame

Frame = str | Mapping[str, Any]

_LONGEST_NAME: Final = 40
#: What an object may have: a scripted answer can be gated as it is, though delays and the like mean nothing here.
_FIELDS: Final = frozenset(ModelFrame.model_fields) | frozenset(ScriptItem.model_fields)


def run(chain: str, source: str, window: Literal["widest", "sum"] | None, *, as_json: bool) -> int:
    """Gate the answer in `source`, print what is released and how it ends, and return the exit status.

    Raises:
        CommandError: `source` cannot be read as frames; names the line, and nothing of what it says.
        DepsError: `chain` cannot be loaded.
    """
    session.begin()
    frames = parse_frames(_read(source), "stdin" if source == "-" else source)
    end = asyncio.run(_gate(chain, frames, window, as_json=as_json))
    if as_json:
        output.json_line(
            {
                "outcome": end.outcome,
                "text": end.text,
                "error": end.error,
                "processor": end.processor,
                "reason": end.reason,
            }
        )
    else:
        details = [f"{output.count(len(end.text), 'character')} released", end.error, end.processor, end.reason]
        output.line(f"{end.outcome}: " + " · ".join(detail for detail in details if detail is not None))
        if _threw(end) and not logging.getLogger().isEnabledFor(logging.DEBUG):
            output.note("turngate: TURNGATE_LOG_LEVEL=debug shows where it failed, and may show message text.")
    return OK if end.outcome == "completed" else FAILED


async def _gate(chain: str, frames: list[Frame], window: Literal["widest", "sum"] | None, *, as_json: bool) -> GateEnd:
    # In a process of its own, so that a pattern without end fails the answer and does not hang the command.
    chains = ProcessChainRunner(chain, workers=1, paths=(Path.cwd(),))
    await chains.start()
    try:
        manifest = chains.manifest if window is None else replace(chains.manifest, window=window)
        _say_what_is_left_out(manifest)
        scanners = load_deps(chain, paths=(Path.cwd(),)).scanners() if manifest.release_mode == "scan" else None
        gating = GateRun(chains, Policy(mode=manifest.release_mode, window=manifest.window_chars), scanners)
        async for text in gating.feed(frames):
            if as_json:
                output.json_line({"release": text})
            else:
                output.line(f"release {json.dumps(text, ensure_ascii=False)}")
    finally:
        await chains.stop()
    if gating.end is None:
        raise RuntimeError("the gate let an answer end without an outcome")
    return gating.end


def _threw(end: GateEnd) -> bool:
    """Whether a processor failed by itself: of one that was ended there is nothing more to show."""
    ended = (ProcessorTimeoutError.__name__, ProcessorCrashedError.__name__)
    return end.error == "ProcessorFailedError" and not any(name in (end.reason or "") for name in ended)


def _say_what_is_left_out(manifest: Manifest) -> None:
    """Say on stderr what of the chain this command does not run, and that nothing judges the answer where that is so."""
    if not manifest.output:
        output.note("turngate: no output processor is declared, so the answer is released as it comes, unjudged.")
    chains = {
        "message rules": manifest.governance,
        "pre-processors": manifest.pre,
        "history and prompt builder": manifest.derivation,
        "input processors": manifest.input,
        "tool rules": manifest.tool_rule,
        "post-processors": manifest.post,
    }
    for kind, members in chains.items():
        if members:
            names = ", ".join(member.name for member in members)
            output.note(f"turngate: {kind} are not run here, only output processors are: {names}")


def parse_frames(raw: bytes, name: str) -> list[Frame]:
    """Return the frames in JSON Lines `raw`, a text or an object each; blank lines count but say nothing.

    Raises:
        CommandError: a line is neither, or its object has a field that frames do not have; names `name` and the line's
            number, counted from 1.
    """
    frames: list[Frame] = []
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        try:
            frame = json.loads(line.decode())
        except (ValueError, RecursionError):
            raise CommandError(f"{where}: this is not JSON in UTF-8; write a text or an object on each line") from None
        if not isinstance(frame, str | dict):
            raise CommandError(f"{where}: write a text or an object with a model frame's fields")
        if isinstance(frame, dict) and (unknown := sorted(frame.keys() - _FIELDS)):
            near = difflib.get_close_matches(unknown[0], _FIELDS, n=1)
            hint = f", did you mean {near[0]}?" if near else "; a frame is a text or an object with ModelFrame's fields"
            raise CommandError(f"{where}: a frame has no field {_short(unknown[0])}{hint}")
        try:
            read_frames([frame])
        except FrameInputError as error:
            raise CommandError(f"{where} {str(error).removeprefix('frame 0 ')}") from None
        frames.append(frame)
    return frames


def _short(name: str) -> str:
    """Return a field's name in quotes, cut where it is too long to be one."""
    return json.dumps(name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "...")


def _read(source: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read {source}: {error.strerror}") from None
