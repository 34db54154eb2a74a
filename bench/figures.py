"""Figures as every measurement gives them: one value per round, and ratios to a base measured in the same round.

A machine that is busy with other things slows everything down that runs in the same minute. A ratio of two values of one
round says something about what was measured; the values themselves say something about the machine.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Better: TypeAlias = Literal["more", "less", "neither"]

#: Goes up when the JSON changes so that an older reader would misread it.
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured, in which unit, and which way is better."""

    name: str
    unit: str
    better: Better = "more"


@dataclass(frozen=True, slots=True)
class Figure:
    """What one contender came to, round by round.

    `base` names the contender of the same group and measure that it is compared with; None where that says nothing. Its
    values are of the same rounds, in the same order.
    """

    group: str
    measure: Measure
    contender: str
    values: tuple[float, ...]
    base: str | None = None

    @property
    def median(self) -> float:
        """The middle of the rounds. Raises `statistics.StatisticsError` without any."""
        return statistics.median(self.values)


@dataclass(frozen=True, slots=True)
class Absent:
    """Who could not take part in which group, and why; `why` says what to do about it."""

    group: str
    contender: str
    why: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one run measured.

    `measured_at` is in UTC, `YYYY-MM-DD HH:MM`; `machine` and `settings` say where and how, each a short text by name;
    `seconds` is how long each group took.
    """

    measured_at: str
    machine: Mapping[str, str]
    settings: Mapping[str, str]
    figures: tuple[Figure, ...]
    absent: tuple[Absent, ...] = ()
    seconds: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def ratio(self, figure: Figure) -> float | None:
        """Return the median of the figure's values, each divided by its base's of the same round.

        None without a base, or where that came to nothing once. Raises as `compare` does.
        """
        if figure.base is None:
            return None
        return self.compare(figure.group, figure.measure.name, figure.contender, figure.base)

    def compare(self, group: str, measure: str, contender: str, beside: str) -> float | None:
        """Return the median of a contender's values, each divided by another one's of the same round.

        None where the other one's came to nothing once.

        Raises:
            LookupError: one of them has no figure, or the two have other rounds.
        """
        mine, theirs = (self.find(group, measure, name) for name in (contender, beside))
        if len(mine.values) != len(theirs.values):
            raise LookupError(
                f"{group}, {measure}: {contender} has {len(mine.values)} rounds, and {beside} has {len(theirs.values)}: "
                "measure them side by side"
            )
        if not all(theirs.values):
            return None
        return statistics.median(one / other for one, other in zip(mine.values, theirs.values, strict=True))

    def find(self, group: str, measure: str, contender: str) -> Figure:
        """Return one figure. Raises `LookupError` if there is none of these names."""
        for figure in self.figures:
            if (figure.group, figure.measure.name, figure.contender) == (group, measure, contender):
                return figure
        raise LookupError(f"{group}, {measure}: there is no figure of {contender}")

    def groups(self) -> list[str]:
        """Return the names of the groups, in the order in which they were measured."""
        named = [*(figure.group for figure in self.figures), *(one.group for one in self.absent)]
        return list(dict.fromkeys(named))

    def as_json(self) -> dict[str, Any]:
        """Return it as what JSON can hold; medians and ratios are in it for those who only read."""
        figures = [
            dataclasses.asdict(figure)
            | {"median": rounded(figure.median), "ratio": _rounded_or_none(self.ratio(figure))}
            | {"values": [rounded(value) for value in figure.values]}
            for figure in self.figures
        ]
        return {
            "format": FORMAT,
            "measured_at": self.measured_at,
            "machine": dict(self.machine),
            "settings": dict(self.settings),
            "seconds": {name: rounded(value) for name, value in self.seconds.items()},
            "figures": figures,
            "absent": [dataclasses.asdict(one) for one in self.absent],
        }


def from_json(data: Mapping[str, Any]) -> Report:
    """Return the report that `Report.as_json` gave.

    Raises:
        ValueError: it is of another format.
    """
    if data.get("format") != FORMAT:
        raise ValueError(
            f"these figures are of format {data.get('format')}, not {FORMAT}: measure again with `make bench`"
        )
    return Report(
        measured_at=data["measured_at"],
        machine=data["machine"],
        settings=data["settings"],
        seconds=data["seconds"],
        figures=tuple(
            Figure(one["group"], Measure(**one["measure"]), one["contender"], tuple(one["values"]), one["base"])
            for one in data["figures"]
        ),
        absent=tuple(Absent(**one) for one in data["absent"]),
    )


def rounded(value: float) -> float:
    """Return a value with as many digits as mean something: four."""
    return float(f"{value:.4g}")


def _rounded_or_none(value: float | None) -> float | None:
    return None if value is None else rounded(value)
