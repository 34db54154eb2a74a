"""What an answer costs in the changelog, beside what it may cost at most: 2.5 bytes per byte, and 160 per record.

Run it as `python -m bench.journal [--broker embedded|apache|host:port] [--rounds N] [--quick]`. One answer after the other
is streamed through a turn worker with three redactors at some hundreds of frames a second, and then 200 turns at once as
fast as they come. Keys and values of all records of the journal are counted, tombstones included, before the log is cleaned.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from bench import load, workers
from bench.figures import Figure, Measure
from bench.frames import FRAME_BYTES, Frame, frame_of, interleaved
from bench.gate_texts import prose
from bench.groups import alone
from bench.rounds import Contender, Findings, Setting, Values, side_by_side
from bench.sizing import JOURNAL_PER_BYTE, JOURNAL_PER_RECORD
from bench.workers import Worker
from topics.ids import TurnKey

GROUP = "journal"
OURS = "turn worker, three redactors"
BOUND = f"bound: {JOURNAL_PER_BYTE:g} x answer + {JOURNAL_PER_RECORD} x records"
LENGTHS, QUICK_LENGTHS = (2_000, 20_000, 100_000), (500,)
TURNS, FRAMES = 200, 50
AT_ONCE = f"{TURNS} turns of {FRAMES} frames at once"
QUICK_TURNS, QUICK_FRAMES = 10, 10
_PAUSE_S = 0.003


async def costs(setting: Setting) -> Values:
    """Send the answers through one worker, and return the journal's bytes and records for each."""
    found: dict[Measure, float] = {}
    lengths = QUICK_LENGTHS if setting.quick else LENGTHS
    count, frames = (QUICK_TURNS, QUICK_FRAMES) if setting.quick else (TURNS, FRAMES)
    answers = [
        (f"an answer of {length:,} characters", one_answer(number, length)) for number, length in enumerate(lengths)
    ]
    many = list(interleaved(count, frames))
    async with (
        workers.worker(setting.bootstrap, workers.SCANNING_DEPS) as ours,
        load.producing(setting.bootstrap) as producer,
        load.reading(setting.bootstrap, ours.released) as reader,
    ):
        before = (0, 0)
        for name, answer in [*answers, (AT_ONCE if not setting.quick else "a few turns at once", many)]:
            await _send(ours, producer, reader, answer, pause_s=_PAUSE_S if answer is not many else 0.0)
            now = await workers.journal_size(setting.bootstrap, ours.names)
            records, size = now[0] - before[0], now[1] - before[1]
            before = now
            found[Measure(f"changelog of {name}", "bytes", "less")] = size
            found[Measure(f"changelog records of {name}", "records", "less")] = records
            found[Measure(f"changelog per answer byte, {name}", "bytes", "less")] = size / text_bytes(answer)
            found[_bound(name)] = JOURNAL_PER_BYTE * text_bytes(answer) + JOURNAL_PER_RECORD * records
    return found


def one_answer(number: int, chars: int) -> list[Frame]:
    """Return the frames of one answer of about so many characters, in a thread of its own."""
    turn = TurnKey("default", f"a-{number:03d}", f"u-{number:03d}")
    words = prose(chars + FRAME_BYTES)
    frames: list[Frame] = []
    place = 0
    while place < chars:
        frames.append(frame_of(turn, len(frames), words[place:]))
        place += len(frames[-1].text)
    return [*frames, frame_of(turn, len(frames), "", last=True)]


def text_bytes(frames: Sequence[Frame]) -> int:
    """Return the bytes of all texts."""
    return sum(len(frame.text.encode()) for frame in frames)


async def measure(setting: Setting) -> Findings:
    """Measure each round, and put the bound beside what was found."""
    found = await side_by_side(GROUP, [Contender(OURS, lambda: costs(setting), base=BOUND)], setting)
    return Findings(list(_beside_the_bound(found.figures)), found.absent, found.failed)


def _beside_the_bound(figures: Sequence[Figure]) -> list[Figure]:
    """Return the figures with the bound as a contender of its own, which was computed of the same rounds' records."""
    bounds = {figure.measure.name.removeprefix("bound of "): figure for figure in figures if _is_bound(figure)}
    out: list[Figure] = []
    for figure in figures:
        if _is_bound(figure):
            continue
        bound = bounds.get(figure.measure.name)
        if bound is None:
            out.append(figure)
        else:
            out.append(Figure(GROUP, figure.measure, BOUND, bound.values, BOUND))
            out.append(Figure(GROUP, figure.measure, OURS, figure.values, BOUND))
    return out


def _bound(name: str) -> Measure:
    return Measure(f"bound of changelog of {name}", "bytes", "less")


def _is_bound(figure: Figure) -> bool:
    return figure.measure.name.startswith("bound of ")


async def _send(
    ours: Worker, producer: AIOKafkaProducer, reader: AIOKafkaConsumer, frames: Sequence[Frame], *, pause_s: float
) -> None:
    """Open the turns of `frames`, send those, and wait until all turns have ended."""
    turns = list(dict.fromkeys(frame.turn for frame in frames))
    await ours.open_turns(turns)
    for frame in frames:
        await producer.send(ours.frames, frame.value, key=frame.key, partition=frame.partition)
        if pause_s:
            await asyncio.sleep(pause_s)
    await load.wait_for(reader, len(turns), ours.process, lambda record: workers.ends(record.value))


if __name__ == "__main__":
    alone(GROUP)
