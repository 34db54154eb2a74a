"""Contenders side by side: round after round each is measured once, and each round begins with another one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from bench.figures import Absent, Figure, Measure

#: One measurement of one contender: a value for each measure.
Values: TypeAlias = Mapping[Measure, float]
Run: TypeAlias = Callable[[], Awaitable[Values]]


class AbsentError(Exception):
    """A contender cannot take part on this machine; the message says why, and what to do about it."""


class FailedError(Exception):
    """A contender took part and did not do its work; the message says what was seen."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How a group is to measure: on which broker, how often, how long, and whether others than turngate take part.

    `bootstrap` is `host:port`. `quick` is for seeing that everything works: its figures are noise.
    """

    bootstrap: str
    rounds: int = 3
    quick: bool = False
    peers: bool = True
    say: Callable[[str], None] = print


@dataclass(frozen=True, slots=True)
class Contender:
    """Somebody to measure. `base` is who it is compared with; a `peer` is another project's, or stands for one."""

    name: str
    run: Run
    base: str | None = None
    peer: bool = False


@dataclass(slots=True)
class Findings:
    """What a group found: figures, who could not take part, and who failed (an `Absent` with what was seen)."""

    figures: list[Figure] = field(default_factory=list)
    absent: list[Absent] = field(default_factory=list)
    failed: list[Absent] = field(default_factory=list)

    def add(self, other: Findings) -> None:
        """Take in what another measurement of the same group found."""
        self.figures += other.figures
        self.absent += other.absent
        self.failed += other.failed


async def side_by_side(
    group: str, contenders: Sequence[Contender], setting: Setting, *, limit_s: float = 180.0
) -> Findings:
    """Measure each contender once in each round; `limit_s` is what one measurement may take, in seconds.

    Whoever cannot take part, or fails once, is left out from there on and has no figure. Who is compared with somebody
    that has none is compared with nobody.
    """
    found = Findings()
    taking_part = [one for one in contenders if setting.peers or not one.peer]
    values: dict[str, list[Values]] = {one.name: [] for one in taking_part}
    for number in range(setting.rounds):
        for contender in rotated(taking_part, number):
            if contender.name not in values:
                continue
            began = time.perf_counter()
            try:
                async with asyncio.timeout(limit_s):
                    values[contender.name].append(await contender.run())
            except AbsentError as error:
                del values[contender.name]
                found.absent.append(Absent(group, contender.name, str(error)))
            except Exception as error:  # noqa: BLE001 - one that fails must not take the others' figures along
                del values[contender.name]
                found.failed.append(Absent(group, contender.name, f"failed: {type(error).__name__}: {error}"))
            took = time.perf_counter() - began
            setting.say(f"  {group}, round {number + 1} of {setting.rounds}: {contender.name}, {took:.0f} s")
    found.figures = figures_of(group, taking_part, values)
    return found


def figures_of(group: str, contenders: Iterable[Contender], values: Mapping[str, Sequence[Values]]) -> list[Figure]:
    """Return a figure for each measure of each contender that has values."""
    figures = []
    for one in contenders:
        rounds = values.get(one.name, ())
        for measure in rounds[0] if rounds else ():
            base = one.base if one.base and any(measure in some for some in values.get(one.base, ())) else None
            figures.append(Figure(group, measure, one.name, tuple(some[measure] for some in rounds), base))
    return figures


def rotated(contenders: Sequence[Contender], by: int) -> list[Contender]:
    """Return the contenders in another order for each round, so that none is always measured behind the same one."""
    start = by % len(contenders) if contenders else 0
    return [*contenders[start:], *contenders[:start]]
