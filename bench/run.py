"""Measures every group and prints one table: `python -m bench`, which is what `make bench` does.

Each group has a broker of its own. Whoever cannot take part is named with the reason. The figures are also written as JSON,
from which `python -m bench.render` makes the page in `docs/`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench import groups
from bench.brokers import APACHE, EMBEDDED, broker, usual
from bench.figures import Report
from bench.machine import machine, versions
from bench.rounds import Findings, Setting
from bench.tables import as_text

DEFAULT_JSON = Path("bench.json")


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=groups.NAMES, help="this group alone; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="how often each contender is measured")
    parser.add_argument(
        "--quick", action="store_true", help="little of everything, to see that it works: no figures to keep"
    )
    parser.add_argument("--ours", action="store_true", help="leave other projects out")
    parser.add_argument(
        "--broker", help=f"{EMBEDDED}, {APACHE} or host:port; without it {APACHE} where this machine can run it"
    )
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON, help="where to write the figures")
    return parser.parse_args(given)


async def measure(
    names: Sequence[str], which: str, *, rounds: int, quick: bool, peers: bool
) -> tuple[Report, Findings]:
    """Measure groups, one after the other; return the report, and all that was found."""
    found, seconds = Findings(), dict[str, float]()
    at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    for name in names:
        group = groups.find(name)
        print(f"{name}: {groups.ABOUTS[name]}", flush=True)
        began = time.perf_counter()
        async with broker(which) as bootstrap:
            found.add(await group.measure(Setting(bootstrap, rounds, quick, peers, _say)))
        seconds[name] = time.perf_counter() - began
    settings = {"broker": which if which in {EMBEDDED, APACHE} else "one that ran already", "rounds": str(rounds)}
    settings |= {"length": "quick"} if quick else {}
    settings |= {} if peers else {"others": "left out"}
    settings |= {"versions": versions()}
    absent = (*found.absent, *found.failed)
    return Report(at, machine(), settings, tuple(found.figures), absent, seconds), found


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print the table and write the JSON; ends with status 1 if somebody who took part failed."""
    asked = arguments(given)
    # It tells every retry while a new topic has no leader yet.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    names = [name for name in groups.NAMES if asked.only is None or name in asked.only]
    which = asked.broker or usual()
    measuring = measure(names, which, rounds=asked.rounds, quick=asked.quick, peers=not asked.ours)
    report, found = asyncio.run(measuring)
    asked.json.write_text(json.dumps(report.as_json(), indent=1) + "\n", encoding="utf-8")
    print()
    print(as_text(report))
    print(f"written to {asked.json}; {sum(report.seconds.values()) / 60:.1f} minutes")
    sys.exit(1 if found.failed else 0)


def _say(line: str) -> None:
    print(line, flush=True)
