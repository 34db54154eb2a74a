"""What reading an answer costs, how long text is held, and who lets half a secret out: turngate beside others.

Run it as `python -m bench.gate [--chars 2000 20000 200000] [--rounds 3] [--json FILE]`. Every contender gets the same
frames of four characters and the same three patterns; each round measures all of them, one after the other. The table
gives medians, of processor time, so that others at work on the machine do not count. Other projects take part where the
extra `bench` is installed. Nothing is judged by these figures.
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
BASE = "turngate, scanners alone"


@dataclass
class Contender:
    """One way to gate a stream. `unjudged` says that text goes out before anybody has looked at it, by design."""

    name: str
    make: Callable[[], Run]
    most: int | None = None
    unjudged: bool = False
    seconds: dict[int, list[float]] = field(default_factory=dict)


CONTENDERS = [
    Contender(BASE, lambda: gate_ours.ScannersAlone(gate_ours.redactors())),
    Contender("turngate, one scanner alone", lambda: gate_ours.ScannersAlone(gate_ours.one_redactor())),
    Contender("turngate, gate without a scan", lambda: gate_ours.ThroughTheGate([]), unjudged=True),
    Contender("turngate, gate that scans", lambda: gate_ours.ThroughTheGate(gate_ours.redactors())),
    Contender("turngate, gate that scans, in one", lambda: gate_ours.ThroughTheGate(gate_ours.one_redactor())),
    Contender(
        "turngate, gate by prefix passes",
        lambda: gate_ours.ThroughTheGate([gate_ours.OneMember(one) for one in gate_ours.one_redactor()]),
        most=MOST_FOR_RESCANS,
    ),
    Contender("growing-prefix rescan", gate_ours.RescansThePrefix, most=MOST_FOR_RESCANS),
    Contender("NeMo rolling buffer, default", lambda: gate_peers.NemoRollingBuffer(stream_first=True), unjudged=True),
    Contender("NeMo rolling buffer, judge first", lambda: gate_peers.NemoRollingBuffer(stream_first=False)),
    Contender("LangChain PII middleware", gate_peers.LangChainRedaction),
    Contender("LiteLLM content filter", gate_peers.LiteLlmContentFilter, most=MOST_FOR_RESCANS),
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
    started = time.process_time()
    await run(frames, _ignore, _ignore)
    return time.process_time() - started


def _ignore(_: object) -> None:
    """Take a release, or a frame's length, at no cost."""


async def _watched(run: Run, text: str) -> Watch:
    watch = Watch()
    await run(frames_of(text), watch.release, watch.arrive)
    return watch


async def measure(chars: Sequence[int], rounds: int) -> list[dict[str, object]]:
    """Measure every contender that is installed; return one row of figures each."""
    ready: list[tuple[Contender, Run]] = []
    for contender in CONTENDERS:
        try:
            ready.append((contender, contender.make()))
        except ImportError as error:
            print(f"skipped: {contender.name} (not installed: {error.name})")
    texts = {count: frames_of(prose(count)) for count in chars}
    for _, run in ready:
        await run(texts[min(chars)], _ignore, _ignore)
    for _ in range(rounds):
        for count, frames in texts.items():
            for contender, run in ready:
                if contender.most is None or count <= contender.most:
                    contender.seconds.setdefault(count, []).append(await _timed(run, frames))
    return [await _row(contender, run) for contender, run in ready]


async def _row(contender: Contender, run: Run) -> dict[str, object]:
    seconds = {count: statistics.median(values) for count, values in contender.seconds.items()}
    least, most = min(seconds), max(seconds)
    growth = math.log(seconds[most] / seconds[least]) / math.log(most / least) if most > least else None
    flow = await _watched(run, prose(FLOW_CHARS))
    leaks = 0
    for answer in secrets(SECRETS):
        leaks += answer.leaks_in("".join((await _watched(run, answer.text)).text))
    return {
        "name": contender.name,
        "chars_per_second": {str(count): round(count / value) for count, value in seconds.items()},
        "growth_exponent": None if growth is None else round(growth, 2),
        "growth_up_to_chars": most,
        "first_release_after_chars": flow.first,
        "mean_held_chars": round(flow.held / flow.frames, 1),
        "leaked_answers": leaks,
        "answers_with_a_secret": SECRETS,
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


def _ratio(value: float) -> str:
    return f"{value:.3g}x"


def main() -> None:
    """Parse the arguments, measure, print the table, and write it as JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chars", type=int, nargs="+", default=list(CHARS), help="lengths of the answers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    chars = sorted(arguments.chars)
    rows = asyncio.run(measure(chars, arguments.rounds))
    _print(rows, chars)
    if arguments.json:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
        report = {"measured_at": int(time.time()), "machine": machine, "rounds": arguments.rounds, "contenders": rows}
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
