"""Puts measured figures into the docs: `python -m bench.render [bench.json]`, after `make bench`.

The JSON is copied to `bench/results/figures.json`, and the part of `docs/benchmarks.md` between two marks is written anew
from it. A test compares the two, so that a figure cannot be changed in one of them alone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from bench import groups
from bench.figures import Report, from_json
from bench.processes import ROOT
from bench.run import DEFAULT_JSON
from bench.tables import as_markdown

PAGE = ROOT / "docs" / "benchmarks.md"
RESULTS = ROOT / "bench" / "results" / "figures.json"
BEGIN = "<!-- Written by `python -m bench.render`: change nothing from here on. -->"
END = "<!-- Until here. -->"


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
        raise ValueError(f"{PAGE.name} has lost the marks between which figures stand: put back {BEGIN!r} and {END!r}")
    return page[start : end + len(END)]


def why_not(report: Report) -> str | None:
    """Say why a report is nothing to show: a quick run, without peers, or some groups only; None where it is."""
    if "length" in report.settings:
        return "these are the figures of a quick run, which are noise"
    if "others" in report.settings:
        return "in these figures other projects were left out"
    missing = [name for name in groups.NAMES if name not in report.groups()]
    return f"these figures lack {', '.join(missing)}" if missing else None


def main(given: Sequence[str] | None = None) -> None:
    """Render a JSON file into the page, and keep it beside the measurements."""
    parser = argparse.ArgumentParser(prog="python -m bench.render", description=__doc__)
    parser.add_argument("json", type=Path, nargs="?", default=DEFAULT_JSON)
    parser.add_argument("--anyway", action="store_true", help="also those of a quick run, or of some groups only")
    asked = parser.parse_args(given)
    text = asked.json.read_text(encoding="utf-8")
    report = from_json(json.loads(text))
    reason = why_not(report)
    if reason is not None and not asked.anyway:
        raise SystemExit(f"{asked.json}: {reason}. Run `make bench`, or give --anyway.")
    page = PAGE.read_text(encoding="utf-8")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text, encoding="utf-8")
    PAGE.write_text(page.replace(shown(page), rendered(report)), encoding="utf-8")
    print(
        f"{PAGE.relative_to(ROOT)} shows the figures of {report.measured_at}; commit it with {RESULTS.relative_to(ROOT)}"
    )


if __name__ == "__main__":
    main()
