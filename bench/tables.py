"""A report as tables: for a terminal, and for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench import headlines
from bench.figures import Figure, Measure, Report

#: From here on, digits stand in groups and there are none behind the point.
_LARGE = 1_000
HEADS = ("contender", "median", "rounds", "ratio")
_BETTER = {"more": "more is better", "less": "less is better", "neither": ""}


def as_text(report: Report) -> str:
    """Return one table for a terminal, with a heading for each measure, and below it who was absent."""
    lines: list[str] = []
    rows = {key: [_row(report, figure) for figure in figures] for key, figures in _by_measure(report).items()}
    widths = [
        max((len(row[at]) for some in rows.values() for row in [HEADS, *some]), default=0) for at in range(len(HEADS))
    ]
    for (group, title, base), some in rows.items():
        lines += ["", f"{group}: {title}"]
        lines += ["  " + _line(row, widths) for row in [_heads(base), *some]]
    found = [headlines.HEADS, *headlines.rows(report)]
    if len(found) > 1:
        widths = [max(len(row[at]) for row in found) for at in range(len(headlines.HEADS))]
        lines += ["", "where turngate stands: medians of the rounds' ratios"]
        lines += ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in found]
    lines += ["", *_absences(report)]
    return "\n".join(lines).strip("\n")


def as_markdown(report: Report, abouts: Mapping[str, str]) -> str:
    """Return medians, and ratios in brackets, as sections of a page, one for each group; `abouts` says what each is about.

    A table has a row for each contender, or for each measure where there are more of those.
    """
    lines: list[str] = [_circumstances(report), ""]
    found = headlines.rows(report)
    if found:
        lines += [f"| {' | '.join(headlines.HEADS)} |", "|---|---|---|---:|---|"]
        lines += [f"| {' | '.join(row)} |" for row in found] + [""]
    for group in report.groups():
        figures = [figure for figure in report.figures if figure.group == group]
        if figures:
            about = abouts.get(group, "")
            lines += [
                f"### {group.capitalize()}",
                "",
                f"{about[:1].upper()}{about[1:]}.",
                "",
                *_matrix(report, figures),
                "",
            ]
    lines += _absences(report)
    return "\n".join(lines).rstrip("\n") + "\n"


def _matrix(report: Report, figures: Sequence[Figure]) -> list[str]:
    contenders = list(dict.fromkeys(figure.contender for figure in figures))
    measures = list(dict.fromkeys(figure.measure for figure in figures))
    cells = {(figure.contender, figure.measure): _cell(report, figure) for figure in figures}
    if len(measures) > len(contenders):
        heads = ["", *contenders]
        rows = [[_title(measure), *(cells.get((who, measure), "") for who in contenders)] for measure in measures]
    else:
        heads = ["", *map(_title, measures)]
        rows = [[who, *(cells.get((who, measure), "") for measure in measures)] for who in contenders]
    lines = [f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    bases: dict[str, list[str]] = {}
    for figure in figures:
        if figure.base is not None and figure.measure.name not in bases.setdefault(figure.base, []):
            bases[figure.base].append(figure.measure.name)
    notes = [f"times {base}" if len(bases) == 1 else f"times {base} ({'; '.join(of)})" for base, of in bases.items()]
    return [*lines, "", f"In brackets: {', '.join(notes)}."] if notes else lines


def _title(measure: Measure) -> str:
    better = {"more": ", more is better", "less": ", less is better", "neither": ""}[measure.better]
    return f"{measure.name} ({measure.unit}{better})"


def _cell(report: Report, figure: Figure) -> str:
    ratio = report.ratio(figure)
    return number(figure.median) + ("" if ratio is None else f" ({number(ratio)}x)")


def number(value: float) -> str:
    """Return a value with three digits, and those before the point in groups."""
    if value and abs(value) < _LARGE:
        return f"{value:.3g}"
    return f"{round(value, 3 - len(str(int(abs(value))))):,.0f}" if value else "0"


def _by_measure(report: Report) -> dict[tuple[str, str, str], list[Figure]]:
    found: dict[tuple[str, str, str], list[Figure]] = {}
    order = {name: place for place, name in enumerate(report.groups())}
    for figure in sorted(report.figures, key=lambda figure: order[figure.group]):
        better = _BETTER[figure.measure.better]
        title = ", ".join(filter(None, [figure.measure.name, figure.measure.unit, better]))
        bases = {one.base for one in report.figures if (one.group, one.measure) == (figure.group, figure.measure)}
        found.setdefault((figure.group, title, " or ".join(sorted(filter(None, bases)))), []).append(figure)
    return found


def _heads(base: str) -> tuple[str, ...]:
    return (*HEADS[:-1], f"times {base}") if base else (*HEADS[:-1], "")


def _row(report: Report, figure: Figure) -> tuple[str, ...]:
    ratio = report.ratio(figure)
    rounds = " ".join(number(value) for value in figure.values)
    return figure.contender, number(figure.median), rounds, "" if ratio is None else number(ratio)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    name, *rest = row
    cells = [name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest[:-1], widths[1:-1], strict=True))]
    return "  ".join([*cells, rest[-1]]).rstrip()


def _circumstances(report: Report) -> str:
    machine = ", ".join(f"{name} {value}" for name, value in report.machine.items())
    settings = ", ".join(f"{name} {value}" for name, value in report.settings.items())
    return f"Measured on {report.measured_at} UTC. Machine: {machine}. Run: {settings}."


def _absences(report: Report) -> list[str]:
    if not report.absent:
        return ["Nobody was absent."]
    return [f"Absent from {one.group}: {one.contender} ({one.why})." for one in report.absent]
