"""Recorded traffic through a candidate chain beside the active one, and how the differences are told."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from processors import deploying
from processors.board import Board, Plan, key_of, plan_of
from processors.catalogue import load
from processors.effective import effective
from streams.backtest import Difference, Gated, Recorded, Side, Tally, answers_of, compare
from streams.chains import ProcessChainRunner
from streams.cli import output, session
from streams.cli.failures import FAILED, OK, CommandError
from streams.cli.work.gate import parse_frames
from streams.gate.scan import Scanner
from streams.settings import Settings

_AROUND = 30


@dataclass(frozen=True, slots=True)
class Request:
    """What was typed: `chain` is module:attribute, or NAME@VERSION of a pushed version; `frames` a file or a topic."""

    chain: str
    frames: str
    against: str | None
    sample: int
    show: bool
    broker: str | None


@dataclass(frozen=True, slots=True)
class _Chain:
    """Where a chain is: the code, and the plan on top of it."""

    deps: str | None
    sources: tuple[str, ...]
    plan: Plan


def run(request: Request, *, as_json: bool) -> int:
    """Send recorded answers through both chains, print what came of it, and return the exit status.

    Raises:
        CommandError: the frames cannot be read, or there are none.
        DepsError: a chain cannot be loaded.
    """
    settings = session.begin({"broker": request.broker})
    from_file = request.frames == "-" or Path(request.frames).is_file()
    return asyncio.run(_run(request, settings, from_file=from_file, as_json=as_json))


async def _run(request: Request, settings: Settings, *, from_file: bool, as_json: bool) -> int:
    board = Board() if from_file and ":" in request.chain else await _board(settings)
    answers, left_out = _from_file(request.frames) if from_file else await _from_topic(request.frames, settings)
    if not answers:
        raise CommandError(f"{request.frames}: there is no complete answer in it")
    deployed = _Chain(settings.deps, settings.processors, plan_of(board.choices.values()))
    active = _Chain(request.against, (), Plan()) if request.against is not None else deployed
    candidate = _candidate(request.chain, deployed, board)
    differences: list[Difference] = []
    async with _side(active) as first, _side(candidate) as second:
        with _progress(len(answers)) as step:
            for answer in answers:
                found = await compare(answer, first, second)
                differences += [found] if found is not None else []
                step()
        _tell(request, first.tally, second.tally, differences, answers, left_out, as_json=as_json)
        return FAILED if second.tally.violations or second.tally.failed else OK


def _candidate(chain: str, deployed: _Chain, board: Board) -> _Chain:
    if ":" in chain:
        return _Chain(chain, (), Plan())
    name, _, version = chain.rpartition("@")
    if not name:
        raise CommandError(f"{chain}: name a chain as module:attribute, or a pushed version as NAME@VERSION")
    pushed = deploying.pushed(board, deploying.processor_called(board, (), name), version)
    record = deploying.deploy(board, pushed, deploying.Signed("backtest", 0.0))
    after = board.after(key_of(record), record, board.offset)
    return _Chain(deployed.deps, deployed.sources, plan_of(after.choices.values()))


@asynccontextmanager
async def _side(chain: _Chain) -> AsyncIterator[Side]:
    runner = ProcessChainRunner(chain.deps, sources=chain.sources, workers=1, paths=(Path.cwd(),))
    await runner.start()
    try:
        chains = await runner.install(chain.plan)
        yield Side(chains, chains.manifest, _scanner(chain) if chains.manifest.release_mode == "scan" else None)
    finally:
        await runner.stop()


def _scanner(chain: _Chain) -> Callable[[], Scanner] | None:
    deps, catalogue = load(chain.deps, chain.sources, paths=(Path.cwd(),))
    return effective(deps, catalogue, chain.plan).scanners()


async def _board(settings: Settings) -> Board:
    from streams.deployments.registry import Registry  # noqa: PLC0415 - Kafka's client takes a while to import

    connection, topic_names = session.connect(settings)
    return (await Registry(connection, topic_names, time.time).read()).board


async def _from_topic(name: str, settings: Settings) -> tuple[list[Recorded], int]:
    from aiokafka import TopicPartition  # noqa: PLC0415 - the same

    from topics import codec, names  # noqa: PLC0415 - the same
    from topics.admin import TopicAdmin  # noqa: PLC0415 - the same
    from topics.errors import WireError  # noqa: PLC0415 - the same
    from topics.snapshots import to_the_end  # noqa: PLC0415 - the same

    connection, topic_names = session.connect(settings)
    known = await TopicAdmin(connection, topic_names).describe()
    full = name if name in known else topic_names.prefix + name
    if full not in known:
        raise CommandError(f"{name}: neither a file nor a topic of this pipeline; its recorded answers are on `frames`")
    found, unreadable = [], 0
    async with connection.consumer() as consumer:
        places = [TopicPartition(full, number) for number in range(known[full].partitions)]
        async for one in to_the_end(connection, consumer, places):
            try:
                found.append(codec.decode(one.value, names.MODEL_FRAME).model_dump(mode="json", exclude_none=True))
            except WireError:
                unreadable += 1
    answers, left_out = answers_of(found)
    return answers, left_out + unreadable


def _from_file(name: str) -> tuple[list[Recorded], int]:
    """Return the answers in JSON Lines: frames with a turn's ids, arrays of frames, or the frames of one answer."""
    try:
        raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror}") from None
    answers: list[Recorded] = []
    of_turns: list[dict[str, Any]] = []
    loose: list[bytes] = []
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            given = json.loads(line)
        except (ValueError, RecursionError):
            raise CommandError(f"{name}, line {number}: this is not JSON in UTF-8") from None
        if isinstance(given, list):
            lines = b"\n".join(json.dumps(one).encode() for one in given)
            answers.append(Recorded(f"line {number}", tuple(parse_frames(lines, f"{name}, line {number}"))))
        elif isinstance(given, dict) and "turn_id" in given:
            of_turns.append(given)
        else:
            loose.append(line)
    if loose:
        answers.append(Recorded("answer", tuple(parse_frames(b"\n".join(loose), name))))
    more, left_out = answers_of(of_turns)
    return [*answers, *more], left_out


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """Draw on stderr how far it has come, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    columns = (TextColumn("answers"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task("answers", total=total)
        yield lambda: drawn.advance(task)


def _tell(
    request: Request,
    active: Tally,
    candidate: Tally,
    differences: list[Difference],
    answers: list[Recorded],
    left_out: int,
    *,
    as_json: bool,
) -> None:
    shown = differences[: request.sample]
    if as_json:
        for one in shown:
            output.json_line(_row(one, show=request.show))
        counts = {"answers": len(answers), "left_out": left_out, "different": len(differences)}
        output.json_line({**counts, "active": _counts(active), "candidate": _counts(candidate)})
        return
    sides = (_counts(active), _counts(candidate))
    rows = [(_WORDS[name], *(_cell(side[name]) for side in sides)) for name in _WORDS]
    output.table(("", "active", "candidate"), rows)
    output.line(f"{output.count(len(answers), 'answer')}, {len(differences)} with a difference, {left_out} left out.")
    for one in shown:
        row = _row(one, show=request.show)
        output.line(
            f"{row['answer']}: {row['active']['outcome']} -> {row['candidate']['outcome']}, from {row['at']} on"
        )
        if request.show:
            output.line(f"  active:    {json.dumps(row['active']['text'], ensure_ascii=False)}")
            output.line(f"  candidate: {json.dumps(row['candidate']['text'], ensure_ascii=False)}")
    if shown and not request.show:
        output.note("Texts are hidden: --show shows where they differ.")


_WORDS = {
    "completed": "completed",
    "changed": "of these changed",
    "rejected": "rejected",
    "failed": "failed",
    "violations": "promise not kept",
    "us_per_char": "µs per character",
    "by": "ended by",
}


def _counts(tally: Tally) -> dict[str, Any]:
    return {
        "completed": tally.completed,
        "changed": tally.changed,
        "rejected": tally.rejected,
        "failed": tally.failed,
        "violations": tally.violations,
        "us_per_char": round(tally.us_per_char, 3),
        "by": tally.by,
    }


def _cell(value: object) -> str:
    return ", ".join(f"{name} {count}" for name, count in value.items()) if isinstance(value, dict) else str(value)


def _row(one: Difference, *, show: bool) -> dict[str, Any]:
    sides = {"active": _side_of(one.active, one.at, show=show), "candidate": _side_of(one.candidate, one.at, show=show)}
    return {"answer": one.answer.name, "at": one.at, **sides}


def _side_of(gated: Gated, at: int | None, *, show: bool) -> dict[str, Any]:
    end = gated.end
    row: dict[str, Any] = {"outcome": end.outcome, "length": len(end.text), "processor": end.processor}
    if show:
        place = at or 0
        row["text"] = end.text[max(0, place - _AROUND) : place + _AROUND]
    return row
