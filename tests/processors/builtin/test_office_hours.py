"""`office_hours`: when somebody is there, and what is said while nobody is."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors import Block, DeclarationError, Deps, IncomingMessage, Proceed
from processors.builtin import office_hours
from processors.builtin.office_hours import OfficeHours

BERLIN = ZoneInfo("Europe/Berlin")
WEEK = {"mon-thu": "09:00-12:00, 13:00-17:30", "fri": "09:00-15:00"}
HELLO = IncomingMessage(())


def at(time: str, week: dict[str, str] | None = None, **options: Any) -> OfficeHours:
    """Return a processor for which it is `time` in Berlin."""
    now = datetime.fromisoformat(time).replace(tzinfo=BERLIN)
    return office_hours("Europe/Berlin", week or WEEK, clock=lambda: now, **options)


def is_open(processor: OfficeHours) -> bool:
    """Tell whether a message gets through."""
    verdict = processor.process(HELLO)
    assert verdict.metadata["office_open"] is isinstance(verdict, Proceed)
    return isinstance(verdict, Proceed)


def opens(processor: OfficeHours) -> Any:
    """Return when it opens next, as the metadata says."""
    return processor.process(HELLO).metadata["office_opens_at"]


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("2026-03-02T08:59:59", False),  # a Monday
        ("2026-03-02T09:00:00", True),
        ("2026-03-02T11:59:59", True),
        ("2026-03-02T12:00:00", False),
        ("2026-03-02T13:00:00", True),
        ("2026-03-06T15:00:00", False),
        ("2026-03-07T10:00:00", False),
    ],
)
def test_hours_begin_with_their_first_minute_and_end_before_their_last(time: str, expected: bool) -> None:
    """By the clock on the wall of the zone."""
    assert is_open(at(time)) is expected


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("2026-03-02T12:30:00", "2026-03-02T13:00:00+01:00"),
        ("2026-03-02T18:00:00", "2026-03-03T09:00:00+01:00"),
        ("2026-03-06T15:00:00", "2026-03-09T09:00:00+01:00"),
        ("2026-03-28T12:00:00", "2026-03-30T09:00:00+02:00"),  # the clocks are changed in between
    ],
)
def test_the_next_opening_is_told(time: str, expected: str) -> None:
    """On the same day, the next, after the weekend, in summer time."""
    assert opens(at(time)) == expected


def test_the_clock_may_be_in_any_zone() -> None:
    """It is the time that counts."""
    now = datetime(2026, 3, 2, 8, 30, tzinfo=UTC)
    assert is_open(office_hours("Europe/Berlin", WEEK, clock=lambda: now))
    assert not is_open(office_hours("America/New_York", WEEK, clock=lambda: now))


def test_hours_may_go_on_past_midnight() -> None:
    """They belong to the day they begin on."""
    week = {"fri": "22:00-02:00", "sat": "00:00-24:00"}
    assert [is_open(at(f"2026-03-0{time}", week)) for time in ("6T01:00", "6T23:00", "8T00:00", "8T01:00")] == [
        False,
        True,
        False,
        False,
    ]
    assert is_open(at("2026-03-07T01:30", {"fri": "22:00-02:00"}))
    assert not is_open(at("2026-03-07T02:00", {"fri": "22:00-02:00"}))


@pytest.mark.parametrize("holidays", [["2026-03-03"], ["03-03"], [date(2026, 3, 3)], lambda day: day.day == 3])
def test_it_is_closed_on_holidays(holidays: Any) -> None:
    """Named by date, for every year, or by a function; the next opening knows them too."""
    assert not is_open(at("2026-03-03T10:00", holidays=holidays))
    assert opens(at("2026-03-02T18:00", holidays=holidays)) == "2026-03-04T09:00:00+01:00"
    assert is_open(at("2026-03-04T10:00", holidays=holidays))


def test_a_holiday_of_one_year_is_none_in_the_next() -> None:
    """Unlike one of every year."""
    assert is_open(at("2027-03-03T10:00", holidays=["2026-03-03"]))
    assert not is_open(at("2027-03-03T10:00", holidays=["03-03"]))


def test_special_hours_stand_above_all() -> None:
    """On a holiday, or in place of the day's own."""
    special = {"2026-12-24": "09:00-11:00", date(2026, 12, 28): ""}
    options: dict[str, Any] = {"special": special, "holidays": ["12-24"]}
    assert is_open(at("2026-12-24T10:00", **options))
    assert not is_open(at("2026-12-24T11:30", **options))
    assert not is_open(at("2026-12-28T10:00", **options))


def test_the_reply_can_say_when() -> None:
    """In the office's own zone, in any format."""
    verdict = at("2026-03-06T20:00", reply="Back {opens:%d.%m. %H:%M}.").process(HELLO)
    assert isinstance(verdict, Block)
    assert verdict.response == "Back 09.03. 09:00."


def test_without_a_reply_the_message_goes_on() -> None:
    """And later processors know."""
    verdict = at("2026-03-07T20:00", reply=None).process(HELLO)
    assert verdict == Proceed(metadata={"office_open": False, "office_opens_at": "2026-03-09T09:00:00+01:00"})


def test_an_office_that_does_not_open_again_says_the_channels_default() -> None:
    """Rather than to fail, and be skipped."""
    verdict = at("2026-03-02T10:00", holidays=lambda _: True).process(HELLO)
    assert isinstance(verdict, Block)
    assert (verdict.response, verdict.metadata["office_opens_at"]) == ("", None)
    still = at("2026-03-02T10:00", holidays=lambda _: True, reply="Closed for good.").process(HELLO)
    assert isinstance(still, Block)
    assert still.response == "Closed for good."


@given(st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)))  # noqa: DTZ001 - in any zone
def test_it_is_open_when_it_said_that_it_would_open(now: datetime) -> None:
    """And closed right before."""
    processor = at(now.isoformat(), holidays=["05-01"])
    if not is_open(processor):
        told = datetime.fromisoformat(opens(processor))
        assert told > now.replace(tzinfo=BERLIN)
        assert is_open(office_hours("Europe/Berlin", WEEK, holidays=["05-01"], clock=lambda: told))
        before = told - timedelta(seconds=1)
        assert not is_open(office_hours("Europe/Berlin", WEEK, holidays=["05-01"], clock=lambda: before))


def test_the_version_tells_one_configuration_from_another() -> None:
    """Its dates too."""
    told = [
        at("2026-03-02T10:00", **options).version for options in ({}, {"holidays": ["2026-03-03"]}, {"reply": None})
    ]
    again = at("2026-03-09T10:00").version
    assert told[0] == again
    assert len({*told, at("2026-03-02T10:00", holidays=["2026-03-04"]).version}) == 4


def test_it_goes_before_what_asks_for_people() -> None:
    """In the order of a Deps."""
    deps = Deps(pre_processors=[at("2026-03-02T10:00", agents=["desk"])])
    assert [(one.name, one.priority, one.agents) for one in deps.pre_processors] == [("office-hours", 40, ("desk",))]


@pytest.mark.parametrize(
    ("timezone", "week", "options", "said"),
    [
        ("Europe/Nowhere", WEEK, {}, "IANA"),
        ("../etc", WEEK, {}, "IANA"),
        ("Europe/Berlin", {}, {}, "no hours at all"),
        ("Europe/Berlin", {"mon": ""}, {}, "no hours at all"),
        ("Europe/Berlin", {"someday": "09:00-10:00"}, {}, "names no days"),
        ("Europe/Berlin", {"mon": "9-10"}, {}, "are no hours"),
        ("Europe/Berlin", {"mon": "09:60-10:00"}, {}, "are no hours"),
        ("Europe/Berlin", {"mon": "24:00-25:00"}, {}, "are no hours"),
        ("Europe/Berlin", {"mon": "09:00-10:00", "mon-wed": "09:00-10:00"}, {}, "named twice"),
        ("Europe/Berlin", WEEK, {"holidays": "2026-01-01"}, "must be a list"),
        ("Europe/Berlin", WEEK, {"holidays": ["2026-13-01"]}, "is no day"),
        ("Europe/Berlin", WEEK, {"reply": "Back at {time}"}, "may hold {opens}"),
        ("Europe/Berlin", WEEK, {"priorty": 3}, "no argument 'priorty'"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_declared(
    timezone: str, week: dict[str, str], options: dict[str, Any], said: str
) -> None:
    """And the error says what to write."""
    with pytest.raises(DeclarationError, match=said):
        office_hours(timezone, week, **options)
