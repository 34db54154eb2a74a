"""The promise checker, and how its findings are told."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from processors import Deps, load_deps
from processors.checker import CheckerError, CheckReport, Example, Finding, Measure, Options, Text, check, given_texts
from processors.checker import Progress as Told
from streams.brokers.leash import die_with_parent
from streams.cli import output, session
from streams.cli.failures import FAILED, OK, CommandError

#: What is shown of a text, in characters: the end of what comes first, the beginning of what follows.
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Request:
    """What was typed: `chain` is module:attribute, or the name of a member of `deps`; the rest is as for `Options`."""

    chain: str
    corpus: str | None = None
    window: Literal["widest", "sum"] | None = None
    show: bool | None = None
    seed: int = 0
    limit_s: float = 5.0
    budget_s: float = 120.0
    deps: str | None = None


def run(request: Request, *, as_json: bool) -> int:
    """Check a chain, print what was found, and return the exit status.

    Raises:
        CommandError: the corpus cannot be read (names the line, and nothing of what it says), or no chain is named.
        DepsError: the chain cannot be loaded, or has no member of that name.
    """
    settings = session.begin({"deps": request.deps})
    spec, only = request.chain, None
    if ":" not in request.chain:
        if settings.deps is None:
            raise CommandError(
                "name a chain as module:attribute, or say with TURNGATE_DEPS or --deps where the processor of that name is"
            )
        spec, only = settings.deps, request.chain
    options = Options(
        texts=_corpus(request.corpus),
        window=request.window,
        only=only,
        seed=request.seed,
        limit_s=request.limit_s,
        budget_s=request.budget_s,
    )
    try:
        with _progress() as progress:
            report = check(_loader(spec), options, progress)
    except CheckerError as error:
        raise CommandError(str(error), FAILED) from None
    tell = _tell_json if as_json else _tell
    tell(report, request)
    return OK if report.ok else FAILED


def _loader(spec: str) -> Callable[[], Deps]:
    """Return what loads the chain, in the checking process: the operator's code never runs in this one."""
    owner = os.getpid()

    def load() -> Deps:
        die_with_parent(owner)
        return load_deps(spec, paths=(Path.cwd(),))

    return load


def _corpus(source: str | None) -> list[Text]:
    if source is None:
        return []
    try:
        raw = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read {source}: {error.strerror}") from None
    return parse_corpus(raw, "stdin" if source == "-" else source)


def parse_corpus(raw: bytes, name: str) -> list[Text]:
    """Return the texts in JSON Lines `raw`, numbered by line; blank lines count but say nothing.

    Raises:
        CommandError: a line is neither a text nor an object with a `text`; names `name` and the line's number, from 1.
    """
    texts: list[Text] = []
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if not line.strip():
            continue
        wrong = CommandError(f"{name}, line {number}: write a JSON text, or an object with a `text`, in UTF-8")
        try:
            found = json.loads(line.decode())
        except (ValueError, RecursionError):
            raise wrong from None
        text = found.get("text") if isinstance(found, dict) else found
        if not isinstance(text, str):
            raise wrong
        (one,) = given_texts([text])
        texts.append(Text(one.source, number, one.text))
    return texts


@contextmanager
def _progress() -> Iterator[Told | None]:
    """Draw on stderr how far it has come, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    # Drawn when told, not by a thread: the check forks.
    drawn = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[calls]:,} calls"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    task = drawn.add_task("loading", total=None, calls=0)

    def told(done: int, total: int, doing: str, calls: int) -> None:
        drawn.update(task, completed=done, total=total or None, description=output.shown(doing), calls=calls)
        drawn.refresh()

    with drawn:
        yield told


def _tell(report: CheckReport, request: Request) -> None:
    """Print what was found for people."""
    rows = [_row(measure, measure.processor or "") for measure in report.members]
    if report.chain is not None:
        rows.append(_row(report.chain, "the chain"))
    output.table(("processor", "held back", "smallest that holds", "scanner"), rows)
    output.line(f"released: {_MODES[report.mode]}")
    for finding in report.findings:
        output.line(f"{finding.level}: {finding.processor or 'the chain'}: {finding.message} [{finding.kind}]")
        if finding.example is not None:
            output.line(f"  split: {finding.example.places}")
            if _may_show(finding.example, request):
                output.line(f"  {_content(finding.example)}")
    counts = ", ".join(f"{count} {level}{'' if count == 1 else 's'}" for level, count in _counts(report).items())
    output.line(
        f"{'holds' if report.ok else 'broken'}: {counts}; {report.texts} texts of {report.characters:,} characters, "
        f"{report.calls:,} calls"
    )


_MODES = {
    "live": "as it comes, there are no output processors",
    "whole": "when the answer is complete",
    "incremental": "prefix by prefix",
    "scan": "by scanners",
}


def _row(measure: Measure, name: str) -> tuple[object, ...]:
    held = "all" if measure.declared is None else measure.declared
    if measure.unbounded:
        smallest: object = "none"
    else:
        smallest = "unknown" if measure.smallest is None else measure.smallest
    return name, "by scanner" if measure.declared is None and measure.scans else held, smallest, _yes(measure.scans)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _content(example: Example) -> str:
    """Return an example's texts in one line, cut where they are long."""
    before = "\u2026" * (len(example.head) > _SHOWN) + example.head[-_SHOWN:]
    said = f"{_quoted(before)} | {_quoted(_cut(example.tail))}"
    if example.released is not None and example.settled is not None:
        differ = next(
            (at for at, (one, two) in enumerate(zip(example.released, example.settled, strict=False)) if one != two),
            min(len(example.released), len(example.settled)),
        )
        start = max(0, differ - _SHOWN // 2)
        lead = "\u2026" * (start > 0)
        said += f"  out: {_quoted(lead + _cut(example.released[start:]))}"
        said += f"  settled: {_quoted(lead + _cut(example.settled[start:]))}"
    return said


def _cut(text: str) -> str:
    return text[:_SHOWN] + "\u2026" * (len(text) > _SHOWN)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _may_show(example: Example, request: Request) -> bool:
    return example.text.source != "corpus" if request.show is None else request.show


def _counts(report: CheckReport) -> dict[str, int]:
    return {level: sum(finding.level == level for finding in report.findings) for level in ("error", "warning", "note")}


def _tell_json(report: CheckReport, request: Request) -> None:
    """Print a line for each finding, and a summary."""
    for finding in report.findings:
        output.json_line(_finding(finding, request))
    output.json_line(
        {
            "ok": report.ok,
            "mode": report.mode,
            "members": [_measure(measure) for measure in report.members],
            "chain": _measure(report.chain) if report.chain is not None else None,
            "needs_sum": report.needs_sum,
            "texts": report.texts,
            "characters": report.characters,
            "calls": report.calls,
            "seed": request.seed,
            **{f"{level}s": count for level, count in _counts(report).items()},
        }
    )


def _finding(finding: Finding, request: Request) -> dict[str, Any]:
    return {
        "finding": finding.kind,
        "level": finding.level,
        "processor": finding.processor,
        "message": finding.message,
        "declared": finding.declared,
        "needed": finding.needed,
        "example": _example(finding.example, request) if finding.example is not None else None,
    }


def _example(example: Example, request: Request) -> dict[str, Any]:
    placed: dict[str, Any] = {
        "source": example.text.source,
        "text": example.text.number,
        "start": example.start,
        "split": example.split,
        "end": example.end,
        "repeats": [{"at": one.at, "size": one.size, "times": one.times} for one in example.text.repeats],
    }
    if _may_show(example, request):
        placed |= {
            "head": example.head,
            "tail": example.tail,
            "released": example.released,
            "settled": example.settled,
        }
    return placed


def _measure(measure: Measure) -> dict[str, Any]:
    return {
        "processor": measure.processor,
        "declared": measure.declared,
        "smallest": measure.smallest,
        "unbounded": measure.unbounded,
        "scans": measure.scans,
    }
