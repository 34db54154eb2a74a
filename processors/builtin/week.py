"""A weekly table of hours, as people write it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from processors.errors import DeclarationError

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MINUTES_A_DAY = 24 * 60
_HOURS = re.compile(r"(\d{1,2}):(\d{2})\s*[-\u2013]\s*(\d{1,2}):(\d{2})")


@dataclass(frozen=True, slots=True)
class Span:
    """From one time of a day to another, in minutes since its midnight; `end` is over 1,440 on the day after."""

    start: int
    end: int

    def start_on(self, day: date) -> datetime:
        """Return when it begins, by the clock on the wall."""
        return _at(day, self.start)

    def end_on(self, day: date) -> datetime:
        """Return when it ends, by the clock on the wall."""
        return _at(day, self.end)


def read_week(week: Mapping[str, str]) -> tuple[tuple[Span, ...], ...]:
    """Return the hours of each day, Monday first.

    Raises:
        DeclarationError: a day or its hours cannot be read, or a day is named twice.
    """
    if not isinstance(week, Mapping):
        raise DeclarationError('office_hours: week must be hours by day, {"mon-fri": "09:00-17:00"}')
    table: list[tuple[Span, ...] | None] = [None] * len(DAYS)
    for days, hours in week.items():
        spans = _spans(hours)
        for day in _days(days):
            if table[day] is not None:
                raise DeclarationError(f"office_hours: {DAYS[day]} is named twice")
            table[day] = spans
    return tuple(spans or () for spans in table)


def _days(given: str) -> list[int]:
    found: list[int] = []
    for part in given.lower().split(","):
        first, dash, last = (name.strip()[:3] for name in part.replace("\u2013", "-").partition("-"))
        if first not in DAYS or (dash and last not in DAYS):
            raise DeclarationError(f"office_hours: {given!r} names no days: write mon, mon-fri, or sat, sun")
        start = DAYS.index(first)
        length = (DAYS.index(last) - start) % len(DAYS) if dash else 0
        found += ((start + ahead) % len(DAYS) for ahead in range(length + 1))
    return found


def _spans(given: str) -> tuple[Span, ...]:
    return tuple(sorted((_span(part) for part in given.split(",") if part.strip()), key=lambda span: span.start))


def _span(given: str) -> Span:
    match = _HOURS.fullmatch(given.strip())
    start, end = (_minutes(match[hour], match[hour + 1]) for hour in (1, 3)) if match else (-1, -1)
    if not (0 <= start < _MINUTES_A_DAY and 0 <= end <= _MINUTES_A_DAY) or start == end:
        raise DeclarationError(
            f"office_hours: {given.strip()!r} are no hours: write 09:00-17:00, 00:00-24:00 for a day"
        )
    return Span(start, end if end > start else end + _MINUTES_A_DAY)


def _minutes(hours: str, minutes: str) -> int:
    return int(hours) * 60 + int(minutes) if int(minutes) < 60 else -1  # noqa: PLR2004 - minutes of an hour


def _at(day: date, minutes: int) -> datetime:
    return datetime.combine(day, time()) + timedelta(minutes=minutes)
