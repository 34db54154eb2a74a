"""Lines of text with parts set off, written with a channel's marks where it would read them as such.

WhatsApp takes a mark for one only where no letter or digit stands outside of it, no white space inside, and within a line.
Where that does not hold, such as in the middle of a word, it would be shown as it is: it is left out, and the text stays.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from processors.builtin.markdown.style import MARKS, Mark, Style


class Run(NamedTuple):
    """Text that is set off alike. `verbatim` text has its marks already, or must have none."""

    text: str
    marks: frozenset[Mark] = frozenset()
    verbatim: bool = False


def lines_of(runs: Iterable[Run]) -> list[list[Run]]:
    """Return runs by line: none of them goes on over a line break."""
    lines: list[list[Run]] = [[]]
    for run in runs:
        first, *others = run.text.split("\n")
        lines[-1].append(run._replace(text=first))
        lines += ([run._replace(text=other)] for other in others)
    return lines


def written(runs: Sequence[Run], style: Style) -> str:
    """Return one line of runs with the marks of `style`."""
    return _written([run for run in runs if run.text], style, MARKS, "", "")


def _written(runs: Sequence[Run], style: Style, marks: Sequence[Mark], before: str, after: str) -> str:
    """Return runs that stand between the characters `before` and `after`, with those of `marks` that can be read."""
    if not marks:
        return "".join(run.text for run in runs)
    mark, *inner = marks
    groups = [
        (is_marked, list(group))
        for is_marked, group in itertools.groupby(runs, lambda run: mark in run.marks and not run.verbatim)
    ]
    out: list[str] = []
    for (is_marked, group), following in zip(groups, _starts(groups, after), strict=True):
        sign = style.mark(mark) if is_marked else ""
        text = "".join(run.text for run in group)
        left, right = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        outside = (left or before)[-1:] + (right or following)[:1]
        if sign and text.strip() and sign not in text and not any(char.isalnum() for char in outside):
            piece = f"{left}{sign}{_written(_stripped(group), style, inner, sign, sign)}{sign}{right}"
        else:
            piece = _written(group, style, inner, before, following)
        out.append(piece)
        before = piece[-1:] or before
    return "".join(out)


def _starts(groups: Sequence[tuple[bool, Sequence[Run]]], after: str) -> Iterator[str]:
    """Yield what each group is followed by: the first character of the next."""
    for _, group in groups[1:]:
        yield group[0].text[:1]
    if groups:
        yield after[:1]


def _stripped(runs: Sequence[Run]) -> list[Run]:
    """Return runs without the white space at both ends."""
    kept = list(runs)
    while kept and not kept[0].text.strip():
        del kept[0]
    while kept and not kept[-1].text.strip():
        del kept[-1]
    kept[0] = kept[0]._replace(text=kept[0].text.lstrip())
    kept[-1] = kept[-1]._replace(text=kept[-1].text.rstrip())
    return kept
