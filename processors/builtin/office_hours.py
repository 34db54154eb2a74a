"""Office hours: what becomes of messages while nobody is there, and what others are told about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Unpack
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from processors.builtin.placed import Placed, Placing
from processors.builtin.week import Span, read_week
from processors.contracts import IncomingMessage
from processors.errors import DeclarationError
from processors.verdicts import Block, Proceed

#: Metadata for the processors after this one: whether somebody is there, and when somebody is again (ISO 8601, or null).
OPEN = "office_open"
OPENS_AT = "office_opens_at"
#: How far the next opening is looked for: who is closed for longer has other things to say.
_LOOK_AHEAD_DAYS = 370

Clock = Callable[[], datetime]
Closed = Callable[[date], bool]


class OfficeHours(Placed):
    """A pre-processor that knows when somebody is there."""

    kind = "pre"

    def __init__(
        self,
        hours: Hours,
        reply: str | None,
        clock: Clock,
        placing: Placing,
        *told: object,
    ) -> None:
        super().__init__("office-hours", placing, *told, priority=40)
        self._hours = hours
        self._reply = reply
        self._clock = clock

    def process(self, _incoming: IncomingMessage) -> Proceed | Block:
        """Let the message go on with what is known of the office, or answer it while that is closed."""
        now = self._clock()
        if self._hours.open_at(now):
            return Proceed(metadata={OPEN: True})
        opens = self._hours.opens_after(now)
        metadata = {OPEN: False, OPENS_AT: opens.isoformat() if opens is not None else None}
        if self._reply is None:
            return Proceed(metadata=metadata)
        return Block(said(self._reply, opens), reason="outside office hours", metadata=metadata)


class Hours:
    """A week of opening hours in a time zone, and the days on which they do not hold."""

    def __init__(
        self,
        zone: ZoneInfo,
        week: tuple[tuple[Span, ...], ...],
        special: Mapping[date, tuple[Span, ...]],
        closed: Closed,
    ) -> None:
        self._zone = zone
        self._week = week
        self._special = special
        self._closed = closed

    def open_at(self, now: datetime) -> bool:
        """Tell whether it is open at an aware time."""
        local = now.astimezone(self._zone)
        wall, today = local.replace(tzinfo=None), local.date()
        # Hours of yesterday may reach into today.
        return any(
            span.start_on(day) <= wall < span.end_on(day)
            for day in (today - timedelta(days=1), today)
            for span in self._of(day)
        )

    def opens_after(self, now: datetime) -> datetime | None:
        """Return when it opens next after an aware time at which it is closed, in its own zone; None if not in a year."""
        today = now.astimezone(self._zone).date()
        for ahead in range(_LOOK_AHEAD_DAYS):
            day = today + timedelta(days=ahead)
            starts = (span.start_on(day).replace(tzinfo=self._zone) for span in self._of(day))
            coming = [start for start in starts if start.astimezone(UTC) > now.astimezone(UTC)]
            if coming:
                return min(coming)
        return None

    def _of(self, day: date) -> tuple[Span, ...]:
        if day in self._special:
            return self._special[day]
        return () if self._closed(day) else self._week[day.weekday()]


def office_hours(
    timezone: str,
    week: Mapping[str, str],
    *,
    holidays: Iterable[date | str] | Closed = (),
    special: Mapping[date | str, str] | None = None,
    reply: str | None = "We are closed now. We are back on {opens:%A, %d %B, at %H:%M}.",
    clock: Clock | None = None,
    **placing: Unpack[Placing],
) -> OfficeHours:
    """Return a pre-processor that answers with `reply` while the office is closed.

    It leaves `office_open` and `office_opens_at` in the metadata, either way.

    Args:
        timezone: an IANA name, `Europe/Berlin`.
        week: hours by day: `{"mon-thu": "09:00-12:00, 13:00-17:30", "fri": "09:00-15:00"}`. Days that are not named are
            closed. Hours may go on past midnight (`22:00-02:00`), and belong to the day they begin on.
        holidays: days on which it is closed: dates, ISO texts (`2026-12-25`, or `12-25` for every year), or a function
            from a date to a bool.
        special: days with hours of their own, on which nothing else counts: `{"2026-12-24": "09:00-12:00"}`.
        reply: `{opens}` stands for when it opens next; a format may follow, as for `datetime.strftime`. Where it does not
            open within a year, the channel's default text is said. None lets every message go on, with the metadata.
        clock: what tells the time, aware of its zone; for tests.
        placing: `name`, `priority` (40), `on_failure`, `agents`, `timeout_s`, `version`.

    Raises:
        DeclarationError: an argument cannot be.
    """
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError):
        raise DeclarationError(
            f"office_hours: there is no time zone {timezone!r} here: write an IANA name such as Europe/Berlin, and install "
            "the package tzdata where the system has no time zones"
        ) from None
    table = read_week(week)
    if not any(table):
        raise DeclarationError("office_hours: week has no hours at all: leave the processor out, or name some")
    days, every_year, function = _days(holidays)
    hours_of = {_day(day): read_week({"mon": hours})[0] for day, hours in (special or {}).items()}

    def closed(day: date) -> bool:
        return day in days or (day.month, day.day) in every_year or (function is not None and function(day))

    if reply is not None:
        _check(reply)
    dates = sorted(map(str, days)), sorted(every_year), {str(day): hours for day, hours in hours_of.items()}
    hours = Hours(zone, table, hours_of, closed)
    return OfficeHours(hours, reply, clock or _now, placing, timezone, table, dates, function, reply)


def said(reply: str, opens: datetime | None) -> str:
    """Return a reply that may speak of when it `opens`: nothing at all if it does and nobody knows."""
    if opens is None and "{opens" in reply:
        return ""
    return reply.format(opens=opens)


def _check(reply: str) -> None:
    try:
        reply.format(opens=datetime(2026, 1, 1, tzinfo=UTC))
    except (KeyError, IndexError, ValueError, AttributeError):
        raise DeclarationError("office_hours: reply may hold {opens} and nothing else in braces") from None


def _now() -> datetime:
    return datetime.now(UTC)


def _days(given: Iterable[date | str] | Closed) -> tuple[frozenset[date], frozenset[tuple[int, int]], Closed | None]:
    """Return the days of one year, those of every year, and the function, of which one may be given."""
    if callable(given):
        return frozenset(), frozenset(), given
    if isinstance(given, str):
        raise DeclarationError(f"office_hours: holidays must be a list: write holidays=[{given!r}]")
    once: set[date] = set()
    always: set[tuple[int, int]] = set()
    for day in given:
        if isinstance(day, str) and len(day) == len("12-25"):
            # In a leap year, so that the 29th of February is a day.
            found = _day(f"2024-{day}")
            always.add((found.month, found.day))
        else:
            once.add(_day(day))
    return frozenset(once), frozenset(always), None


def _day(given: date | str) -> date:
    if isinstance(given, date):
        return given.date() if isinstance(given, datetime) else given
    try:
        return date.fromisoformat(given)
    except (ValueError, TypeError):
        raise DeclarationError(
            f"office_hours: {given!r} is no day: write 2026-12-25, or 12-25 for every year"
        ) from None
