"""The page of figures shows exactly those of the JSON beside the measurements."""

from __future__ import annotations

import json

import pytest

from bench import groups, render
from bench.figures import Figure, Measure, Report, from_json
from bench.headlines import HEADLINES, rows
from tests.docs.markdown import sections


def report(*names: str, settings: dict[str, str] | None = None) -> Report:
    """Return a report with a figure for each group."""
    figures = tuple(Figure(name, Measure("speed", "1/s"), "one", (1.0,)) for name in names)
    return Report("2030-01-02 03:04", {}, settings or {}, figures)


@pytest.mark.parametrize("place", render.PLACES, ids=lambda place: place.page.name)
def test_the_page_shows_the_kept_figures(place: render.Place) -> None:
    """Neither can be changed alone: `python -m bench.render` writes both."""
    kept = from_json(json.loads(place.results.read_text(encoding="utf-8")))
    assert render.shown(place.page.read_text(encoding="utf-8")) == render.rendered(kept)


@pytest.mark.parametrize("place", render.PLACES, ids=lambda place: place.page.name)
def test_the_kept_figures_are_of_a_whole_run(place: render.Place) -> None:
    """All the page's groups, three rounds or more, and neither a quick run nor one without peers."""
    kept = from_json(json.loads(place.results.read_text(encoding="utf-8")))
    assert render.why_not(kept, place.groups) is None
    assert int(kept.settings["rounds"]) >= 3


def test_each_group_has_one_page() -> None:
    """Or its figures would stand in two places, or in none."""
    assert sorted(name for place in render.PLACES for name in place.groups) == sorted(groups.NAMES)


def test_a_part_of_a_report_is_of_its_groups_alone() -> None:
    """With what was said of the machine."""
    whole = report("gate", "scale", settings={"rounds": "3"})
    part = render.part(whole, ["scale"])
    assert part.groups() == ["scale"]
    assert part.settings == whole.settings


def test_every_headline_is_of_contenders_that_there_are() -> None:
    """Each has its ratio on the page, unless one of the two was absent."""
    kept = from_json(json.loads(render.RESULTS.read_text(encoding="utf-8")))
    absent = {one.contender for one in kept.absent}
    wanted = [one for one in HEADLINES if not absent & {one.contender, one.beside}]
    assert len(rows(kept)) == len(wanted)
    assert wanted


def test_every_group_is_on_the_page() -> None:
    """With who takes part and how it is measured."""
    rows = sections(render.PAGE)["What is measured"].rows
    assert [row["group"] for row in rows] == list(groups.NAMES)
    assert list(groups.ABOUTS) == list(groups.NAMES)


def test_figures_of_a_quick_run_or_of_some_groups_are_not_for_the_page() -> None:
    """They are refused with the reason."""
    assert "lack" in (render.why_not(report("gate")) or "")
    assert "quick" in (render.why_not(report(*groups.NAMES, settings={"length": "quick"})) or "")
    assert render.why_not(report(*groups.NAMES)) is None


def test_a_page_without_its_marks_is_left_alone() -> None:
    """It says what to put back."""
    with pytest.raises(ValueError, match="put back"):
        render.shown("nothing")
