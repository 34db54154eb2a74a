"""Puts measured figures into the docs: `python -m bench.render [bench.json]`, after `make bench`.

Each page has its groups, the part between two marks that is written anew from their figures, and a JSON file beside the
measurements with the same figures. A test compares the two, so that a figure cannot be changed in one of them alone. A page
of whose groups the JSON has none stays as it is.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import groups
from bench.figures import Report, from_json
from bench.processes import ROOT
from bench.run import DEFAULT_JSON
from bench.tables import as_markdown

PAGE = ROOT / "docs" / "benchmarks.md"
RESULTS = ROOT / "bench" / "results" / "figures.json"
SCALING = ("scale",)
#: The groups that `PAGE` shows.
USUAL = tuple(name for name in groups.NAMES if name not in SCALING)
BEGIN = "<!-- Written by `python -m bench.render`: change nothing from here on. -->"
END = "<!-- Until here. -->"


@dataclass(frozen=True, slots=True)
class Place:
    """A page, the file with its figures, and the groups that it shows."""

    page: Path
    results: Path
    groups: tuple[str, ...]


PLACES = (
    Place(PAGE, RESULTS, USUAL),
    Place(ROOT / "docs" / "scaling.md", ROOT / "bench" / "results" / "scaling.json", SCALING),
)


def rendered(report: Report) -> str:
    """Return the part of the page that shows a report."""
    abouts = {name: groups.ABOUTS[name] for name in groups.NAMES}
    return f"{BEGIN}\n\n{as_markdown(report, abouts)}\n{END}"


def shown(page: str) -> str:
    """Return the part of the page that was written by this module.

    Raises:
        ValueError: the marks are gone.
    """
    start, end = page.find(BEGIN), page.find(END)
    if start < 0 or end < start:
        raise ValueError(f"the page has lost the marks between which figures stand: put back {BEGIN!r} and {END!r}")
    return page[start : end + len(END)]


def part(report: Report, names: Collection[str]) -> Report:
    """Return what a report says of some groups."""
    return dataclasses.replace(
        report,
        figures=tuple(one for one in report.figures if one.group in names),
        absent=tuple(one for one in report.absent if one.group in names),
        seconds={name: took for name, took in report.seconds.items() if name in names},
    )


def why_not(report: Report, names: Sequence[str] = USUAL) -> str | None:
    """Say why a report is nothing to show: a quick run, without peers, or not all of these groups; None where it is."""
    if "length" in report.settings:
        return "these are the figures of a quick run, which are noise"
    if "others" in report.settings:
        return "in these figures other projects were left out"
    missing = [name for name in names if name not in report.groups()]
    return f"these figures lack {', '.join(missing)}" if missing else None


def main(given: Sequence[str] | None = None) -> None:
    """Render a JSON file into the page, and keep it beside the measurements."""
    parser = argparse.ArgumentParser(prog="python -m bench.render", description=__doc__)
    parser.add_argument("json", type=Path, nargs="?", default=DEFAULT_JSON)
    parser.add_argument("--anyway", action="store_true", help="also those of a quick run, or of some groups only")
    asked = parser.parse_args(given)
    report = from_json(json.loads(asked.json.read_text(encoding="utf-8")))
    measured = [(place, part(report, place.groups)) for place in PLACES if set(place.groups) & set(report.groups())]
    for place, of_it in measured:
        reason = why_not(of_it, place.groups)
        if reason is not None and not asked.anyway:
            raise SystemExit(f"{asked.json}, for {place.page.name}: {reason}. Run `make bench`, or give --anyway.")
    for place, of_it in measured:
        page = place.page.read_text(encoding="utf-8")
        place.results.parent.mkdir(exist_ok=True)
        place.results.write_text(json.dumps(of_it.as_json(), indent=1) + "\n", encoding="utf-8")
        place.page.write_text(page.replace(shown(page), rendered(of_it)), encoding="utf-8")
        print(
            f"{place.page.relative_to(ROOT)} shows the figures of {report.measured_at}; commit it with "
            f"{place.results.relative_to(ROOT)}"
        )


if __name__ == "__main__":
    main()
