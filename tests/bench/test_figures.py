"""Figures: ratios are of one round, and JSON keeps all of it."""

from __future__ import annotations

import json

import pytest

from bench.figures import Absent, Figure, Measure, Report, from_json
from bench.tables import as_markdown, as_text, number

SPEED = Measure("speed", "frames/s")
TIME = Measure("time", "ms", "less")


def report(*figures: Figure, absent: tuple[Absent, ...] = ()) -> Report:
    """Return a report of these figures."""
    return Report("2030-01-02 03:04", {"cores": "2"}, {"broker": "embedded"}, figures, absent, {"g": 12.345678})


def test_a_ratio_is_the_median_of_the_rounds_ratios() -> None:
    """Not the ratio of the medians: a slow minute slows both."""
    slow = Figure("g", SPEED, "slow", (100.0, 10.0, 50.0), "slow")
    fast = Figure("g", SPEED, "fast", (200.0, 30.0, 500.0), "slow")
    found = report(slow, fast)
    assert found.ratio(fast) == 3.0
    assert fast.median / slow.median == 4.0
    assert found.ratio(slow) == 1.0


def test_rounds_that_were_not_side_by_side_have_no_ratio() -> None:
    """Whoever has other rounds than the base was measured at another time."""
    found = report(Figure("g", SPEED, "base", (1.0, 2.0)), Figure("g", SPEED, "one", (1.0,), "base"))
    with pytest.raises(LookupError, match="side by side"):
        found.ratio(found.figures[1])


def test_a_base_that_came_to_nothing_gives_no_ratio() -> None:
    """A processor time below the clock's resolution is no time to be compared with."""
    found = report(Figure("g", TIME, "base", (0.0,)), Figure("g", TIME, "one", (3.0,), "base"))
    assert found.ratio(found.figures[1]) is None
    assert "inf" not in as_text(found)


def test_a_base_is_of_the_same_group_and_measure() -> None:
    """A name that occurs twice is no base for another group."""
    found = report(Figure("other", SPEED, "base", (2.0,)), Figure("g", SPEED, "one", (1.0,), "base"))
    with pytest.raises(LookupError, match="g, speed: there is no figure of base"):
        found.ratio(found.figures[1])


def test_json_holds_everything_and_comes_back() -> None:
    """What is read is what was written, but for digits that mean nothing."""
    figures = (Figure("g", TIME, "base", (1.0, 4.0)), Figure("g", TIME, "one", (1.23456, 2.0), "base"))
    found = report(*figures, absent=(Absent("g", "nobody", "not installed"),))
    data = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert data["figures"][1]["ratio"] == 0.8673
    assert data["figures"][1]["median"] == 1.617
    again = from_json(data)
    assert again.figures[1].values == (1.235, 2.0)
    assert (again.absent, again.machine, again.settings) == (found.absent, found.machine, found.settings)
    assert from_json(again.as_json()) == again


def test_json_of_another_format_is_refused() -> None:
    """It says what to do."""
    with pytest.raises(ValueError, match="format 0, not 1: measure again"):
        from_json({"format": 0})


def test_the_table_names_contenders_ratios_and_who_was_absent() -> None:
    """One line each, under what was measured."""
    figures = (Figure("g", SPEED, "base", (1_000.0,), "base"), Figure("g", SPEED, "one", (12_345.0,), "base"))
    lines = as_text(report(*figures, absent=(Absent("g", "nobody", "not installed"),))).splitlines()
    assert lines[0] == "g: speed, frames/s, more is better"
    assert lines[1].split() == ["contender", "median", "rounds", "times", "base"]
    assert lines[3].split() == ["one", "12,300", "12,300", "12.3"]
    assert lines[-1] == "Absent from g: nobody (not installed)."


def test_the_page_has_a_row_for_whatever_there_is_more_of() -> None:
    """Contenders where there are many, measures where there are many of those."""
    many = [Figure("g", SPEED, name, (1.0,), "a") for name in ("a", "b", "c")]
    assert "| b | 1 (1x) |" in as_markdown(report(*many), {"g": "some"}).splitlines()
    measures = [Figure("h", Measure(name, "s", "less"), "a", (2.0,)) for name in ("x", "y")]
    page = as_markdown(report(*measures), {"h": "others"}).splitlines()
    assert "| x (s, less is better) | 2 |" in page
    assert page[2:5] == ["### H", "", "Others."]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.01234, "0.0123"), (1.0, "1"), (999.4, "999"), (1_234.0, "1,230"), (1_999_999.0, "2,000,000")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    """More would be noise."""
    assert number(value) == text
