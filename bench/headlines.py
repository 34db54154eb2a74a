"""The few ratios that say where turngate stands, out of all that were measured: one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench import gate, hops, journal, latency, throughput, workers
from bench.figures import Report


@dataclass(frozen=True, slots=True)
class Headline:
    """A contender beside another one by one measure; `aim` is a bound for the ratio in words."""

    group: str
    measure: str
    contender: str
    beside: str
    aim: str


_SCANNER = gate.ONE
_AT_20_000 = "speed, answers of 20,000 characters"
_WORKER = workers.SCANNING
_QUIX = hops.QUIX.name
HEADLINES = (
    Headline("gate", _AT_20_000, _SCANNER, gate.RESCAN, "at least 800"),
    Headline("gate", _AT_20_000, _SCANNER, "Mastra regex filter", "at least 4"),
    Headline("gate", _AT_20_000, _SCANNER, "LiteLLM content filter", "at least 250"),
    Headline("gate", _AT_20_000, _SCANNER, "LangChain PII middleware", "more than 1"),
    Headline("gate", _AT_20_000, f"{_SCANNER}, by {gate.TOGETHER}", "NeMo rolling buffer, judge first", "more than 1"),
    Headline("gate", _AT_20_000, gate.GATE, gate.UNSCANNED, "at least 0.2"),
    Headline("throughput", throughput.SPEED.name, _WORKER, throughput.BASE, "at least 5"),
    Headline("throughput", throughput.SPEED.name, _WORKER, _QUIX, "towards 1"),
    Headline("throughput", throughput.PROCESSOR.name, _WORKER, throughput.BASE, "at most 0.2"),
    Headline("latency", "added time, median, 500 frames/s", _WORKER, latency.BASE, "at most 2"),
    Headline("latency", "added time, 99th percentile, 500 frames/s", _WORKER, _QUIX, "at most 1"),
    Headline("latency", "added time, median, 500 frames/s", _WORKER, throughput.BASE, "less than 1"),
    *(
        Headline(
            "journal", f"changelog of an answer of {length:,} characters", journal.OURS, journal.BOUND, "at most 1"
        )
        for length in journal.LENGTHS
    ),
    Headline("journal", f"changelog of {journal.AT_ONCE}", journal.OURS, journal.BOUND, "at most 1"),
)
HEADS = ("what", "turngate", "beside", "times", "aim")


def rows(report: Report) -> list[Sequence[str]]:
    """Return a row for each headline whose two contenders were measured, in the order of `HEADS`."""
    found: list[Sequence[str]] = []
    for one in HEADLINES:
        try:
            ratio = report.compare(one.group, one.measure, one.contender, one.beside)
        except LookupError:
            continue
        if ratio is not None:
            name = one.contender.removeprefix("turngate, ")
            found.append((f"{one.group}: {one.measure}", name, one.beside, f"{ratio:.3g}", one.aim))
    return found
