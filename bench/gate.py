"""What reading an answer costs, how long text is held, and who lets half a secret out: turngate beside others.

Run it as `python -m bench.gate [--chars 2000 20000 200000] [--rounds 3] [--mastra DIR] [--json FILE]`. Every contender
gets the same frames of four characters and the same three patterns; each round measures all of them, one after the other.
The tables give medians, of processor time, so that others at work on the machine do not count. Other projects take part
where the extra `bench` is installed, Mastra's filter where `npm install @mastra/core` was run in the folder DIR; the last
lines say who was absent. Some wait for many frames and read them at once: turngate's rows named `by 200` do the same, as a
worker does with all frames that wait. Nothing is judged by these figures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import platform
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from bench import gate_ours, gate_peers
from bench.gate_texts import frames_of, prose, secrets

Run: TypeAlias = Callable[[Sequence[str], gate_ours.Release, Callable[[int], None]], Awaitable[None]]

CHARS = (2_000, 20_000, 200_000)
#: Whoever reads an answer over and over is not asked for more than this.
MOST_FOR_RESCANS = 20_000
FLOW_CHARS = 20_000
SECRETS = 200
#: NeMo Guardrails' default: it gathers so many frames before it looks at them.
TOGETHER = 200
BASE = "turngate, scanners alone"
ONE = "turngate, one scanner alone"
GATE = "turngate, gate that scans"
UNSCANNED = "turngate, gate without a scan"
RESCAN = "growing-prefix rescan"


@dataclass
class Contender:
    """One way to gate a stream. `unjudged` says that text goes out before anybody has looked at it, by design."""

    name: str
    make: Callable[[], Run]
    most: int | None = None
    unjudged: bool = False
    seconds: dict[int, list[float]] = field(default_factory=dict)


def contenders(mastra: Path | None) -> list[Contender]:
    """Return who takes part; `mastra` is the folder of Mastra's package."""
    chain, one = gate_ours.redactors, gate_ours.one_redactor
    by_many = f"by {TOGETHER}"
    return [
        Contender(BASE, lambda: gate_ours.ScannersAlone(chain())),
        Contender(ONE, lambda: gate_ours.ScannersAlone(one())),
        Contender(f"{ONE}, {by_many}", lambda: gate_ours.ScannersAlone(one(), TOGETHER)),
        Contender("the loop alone", gate_ours.LoopAlone, unjudged=True),
        Contender(UNSCANNED, lambda: gate_ours.ThroughTheGate([]), unjudged=True),
        Contender(GATE, lambda: gate_ours.ThroughTheGate(chain())),
        Contender(f"{GATE}, {by_many}", lambda: gate_ours.ThroughTheGate(chain(), TOGETHER)),
        Contender("turngate, bytes to bytes", lambda: gate_ours.FromBytesToBytes(chain())),
        Contender(f"turngate, bytes to bytes, {by_many}", lambda: gate_ours.FromBytesToBytes(chain(), TOGETHER)),
        Contender(
            "turngate, gate by prefix passes",
            lambda: gate_ours.ThroughTheGate([gate_ours.OneMember(member) for member in one()]),
            most=MOST_FOR_RESCANS,
        ),
        Contender(RESCAN, gate_ours.RescansThePrefix, most=MOST_FOR_RESCANS),
        Contender(
            "NeMo rolling buffer, default", lambda: gate_peers.NemoRollingBuffer(stream_first=True), unjudged=True
        ),
        Contender("NeMo rolling buffer, judge first", lambda: gate_peers.NemoRollingBuffer(stream_first=False)),
        Contender(
            "NeMo rolling buffer, judge each frame first",
            lambda: gate_peers.NemoRollingBuffer(stream_first=False, chunk_size=1),
        ),
        Contender("LangChain PII middleware", gate_peers.LangChainRedaction),
        Contender("LiteLLM content filter", gate_peers.LiteLlmContentFilter, most=MOST_FOR_RESCANS),
        Contender("Mastra regex filter", lambda: gate_peers.MastraRegexFilter(mastra)),
    ]


@dataclass
class Watch:
    """What went in and came out over time. `held` is how much was in and not out, summed over `frames`."""

    arrived: int = 0
    frames: int = 0
    held: int = 0
    out: int = 0
    first: int | None = None
    text: list[str] = field(default_factory=list)

    def arrive(self, chars: int) -> None:
        """Count a frame, and what was still held when it came."""
        self.held += self.arrived - self.out
        self.frames += 1
        self.arrived += chars

    def release(self, text: str) -> None:
        """Take in what went out."""
        if text:
            self.first = self.arrived if self.first is None else self.first
            self.out += len(text)
            self.text.append(text)


async def _timed(run: Run, frames: Sequence[str]) -> float:
    _prepare(run, frames)
    started = time.process_time()
    await run(frames, _ignore, _ignore)
    here = time.process_time() - started
    # One that runs in a process of its own says itself what it took there.
    return getattr(run, "seconds", here)


def _prepare(run: Run, frames: Sequence[str]) -> None:
    if isinstance(run, gate_ours.ThroughTheGate):
        run.prepare(frames)


def _ignore(_: object) -> None:
    """Take a release, or a frame's length, at no cost."""


async def _watched(run: Run, text: str) -> Watch:
    watch = Watch()
    frames = frames_of(text)
    _prepare(run, frames)
    await run(frames, watch.release, watch.arrive)
    return watch


async def timed(
    chars: Sequence[int], rounds: int, taking_part: Sequence[Contender]
) -> tuple[list[tuple[Contender, Run]], dict[str, str]]:
    """Time every contender that is installed; return those, with their seconds, and by name why the others are absent."""
    ready: list[tuple[Contender, Run]] = []
    absent: dict[str, str] = {}
    warm = frames_of(prose(min(chars)))
    for contender in taking_part:
        try:
            run = contender.make()
            await _timed(run, warm)
        except ImportError as error:
            absent[contender.name] = f"not installed: {error.name}"
        except Exception as error:  # noqa: BLE001 - another version of a peer must not take everybody's figures along
            absent[contender.name] = f"failed: {type(error).__name__}: {error}"
        else:
            ready.append((contender, run))
    texts = {count: frames_of(prose(count)) for count in chars}
    for _ in range(rounds):
        for count, frames in texts.items():
            for contender, run in ready:
                if contender.most is None or count <= contender.most:
                    contender.seconds.setdefault(count, []).append(await _timed(run, frames))
    return ready, absent


async def measure(chars: Sequence[int], rounds: int, mastra: Path | None) -> tuple[list[dict[str, object]], list[str]]:
    """Measure every contender that is installed; return one row of figures each, and who was absent."""
    ready, absent = await timed(chars, rounds, contenders(mastra))
    return [await row(contender, run) for contender, run in ready], [f"{name} ({why})" for name, why in absent.items()]


async def row(contender: Contender, run: Run, answers: int = SECRETS) -> dict[str, object]:
    """Return the figures of a contender that was timed, and of how it lets text flow; `answers` have a secret each."""
    seconds = {count: statistics.median(values) for count, values in contender.seconds.items()}
    least, most = min(seconds), max(seconds)
    growth = math.log(seconds[most] / seconds[least]) / math.log(most / least) if most > least else None
    flow = await _watched(run, prose(FLOW_CHARS))
    leaks = 0
    for answer in secrets(answers):
        leaks += answer.leaks_in("".join((await _watched(run, answer.text)).text))
    return {
        "name": contender.name,
        "chars_per_second": {str(count): round(count / value) for count, value in seconds.items()},
        "growth_exponent": None if growth is None else round(growth, 2),
        "growth_up_to_chars": most,
        "first_release_after_chars": flow.first,
        "mean_held_chars": round(flow.held / flow.frames, 1),
        "leaked_answers": leaks,
        "answers_with_a_secret": answers,
        "released_unjudged": contender.unjudged,
    }


def _print(rows: Sequence[dict[str, object]], chars: Sequence[int]) -> None:
    base = next(row for row in rows if row["name"] == BASE)
    heads = [
        *("contender", *(f"chars/s at {count:,}" for count in chars)),
        *("growth", "first after", "held", f"leaks, of {SECRETS}", "unjudged"),
    ]
    lines = [heads]
    for row in rows:
        speeds = row["chars_per_second"]
        own = base["chars_per_second"]
        if not isinstance(speeds, dict) or not isinstance(own, dict):
            raise TypeError("a row holds speeds by length")
        cells = [
            f"{speeds[str(count)]:,} ({_ratio(speeds[str(count)] / own[str(count)])})" if str(count) in speeds else "-"
            for count in chars
        ]
        figures = ("growth_exponent", "first_release_after_chars", "mean_held_chars", "leaked_answers")
        unjudged = "yes" if row["released_unjudged"] else "no"
        lines.append([str(row["name"]), *cells, *(str(row[figure]) for figure in figures), unjudged])
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print(f"in brackets: times as fast as '{BASE}'; medians; lengths in characters")
    print()
    _print_ratios(rows, MOST_FOR_RESCANS if MOST_FOR_RESCANS in chars else min(chars))


def _print_ratios(rows: Sequence[dict[str, object]], count: int) -> None:
    """Print how many times as fast turngate's ways are as what they are compared with, and the gate as one that scans."""
    speeds = {str(row["name"]): _speed(row, count) for row in rows}
    ours = [name for name in speeds if name.startswith("turngate")]
    others = [UNSCANNED, *(name for name in speeds if not name.startswith("turngate"))]
    print(f"times as fast per frame, at {count:,} characters:")
    for other in others:
        ratios = ", ".join(f"{name.removeprefix('turngate, ')} {_ratio(speeds[name] / speeds[other])}" for name in ours)
        print(f"  as {other}: {ratios}")


def _speed(row: dict[str, object], count: int) -> float:
    speeds = row["chars_per_second"]
    if not isinstance(speeds, dict):
        raise TypeError("a row holds speeds by length")
    return float(speeds[str(count)])


def _ratio(value: float) -> str:
    return f"{value:.3g}x"


def main() -> None:
    """Parse the arguments, measure, print the table, and write it as JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chars", type=int, nargs="+", default=list(CHARS), help="lengths of the answers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mastra", type=Path, help="the folder in which @mastra/core was installed")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    chars = sorted(arguments.chars)
    rows, absent = asyncio.run(measure(chars, arguments.rounds, arguments.mastra))
    _print(rows, chars)
    print("absent: " + ("; ".join(absent) or "nobody"))
    if arguments.json:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
        report = {"measured_at": int(time.time()), "machine": machine, "rounds": arguments.rounds}
        report |= {"contenders": rows, "absent": absent}
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
