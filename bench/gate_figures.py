"""The figures of `bench.gate` as one of the groups of `python -m bench`."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import gate
from bench.figures import Absent, Figure, Measure
from bench.rounds import Findings, Setting

GROUP = "gate"
QUICK_CHARS = (500, 2_000)
QUICK_SECRETS = 10
#: What the names of other projects' contenders begin with.
PEERS = ("NeMo", "LangChain", "LiteLLM", "Mastra")
#: Where `make bench` installs Mastra's package.
MASTRA = Path(sys.prefix) / "mastra"
GROWTH = Measure("growth of the time with the length", "exponent", "less")
_FLOW = (
    ("first_release_after_chars", Measure("first release", "characters read", "less")),
    ("mean_held_chars", Measure("text held, mean", "characters", "less")),
    ("leaked_answers", Measure("answers with a leak, of those with a secret", "%", "less")),
)


async def measure(setting: Setting) -> Findings:
    """Measure every contender that is installed."""
    chars = QUICK_CHARS if setting.quick else gate.CHARS
    everyone = gate.contenders(MASTRA if MASTRA.is_dir() else None)
    ours = [one for one in everyone if setting.peers or not one.name.startswith(PEERS)]
    ready, absent = await gate.timed(chars, setting.rounds, ours)
    found = Findings(absent=[Absent(GROUP, name, why) for name, why in absent.items()])
    for count in chars:
        found.figures += _speeds(count, [one for one, _ in ready])
    for one, _ in ready:
        exponents = _exponents(one)
        found.figures += [Figure(GROUP, GROWTH, one.name, exponents)] if exponents else []
    answers = QUICK_SECRETS if setting.quick else gate.SECRETS
    rows = [await gate.row(contender, run, answers) for contender, run in ready]
    for row in rows:
        row["leaked_answers"] = int(str(row["leaked_answers"])) * 100 / answers
    for name, what in _FLOW:
        numbers = [(str(row["name"]), row[name]) for row in rows]
        # What never happened has no figure.
        found.figures += [
            Figure(GROUP, what, who, (float(one),)) for who, one in numbers if isinstance(one, int | float)
        ]
    return found


def _speeds(count: int, contenders: Sequence[gate.Contender]) -> list[Figure]:
    measured = Measure(f"speed, answers of {count:,} characters", "characters/s")
    there = [one for one in contenders if count in one.seconds]
    base = gate.RESCAN if any(one.name == gate.RESCAN for one in there) else gate.BASE
    return [
        Figure(GROUP, measured, one.name, tuple(count / took for took in one.seconds[count]), base) for one in there
    ]


def _exponents(contender: gate.Contender) -> tuple[float, ...]:
    least, most = min(contender.seconds), max(contender.seconds)
    rounds = zip(contender.seconds[least], contender.seconds[most], strict=True)
    return tuple(math.log(long / short) / math.log(most / least) for short, long in rounds) if most > least else ()
