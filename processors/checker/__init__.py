"""The promise checker: whether a chain keeps, over many texts and all their splits, what its members declare.

A chain whose members declare `Incremental` or offer a scanner promises that no text it lets out early is contradicted by
what it makes of the whole answer. `check` looks for a split of a text that breaks this, and says how much has to be held
back for none to be found. It runs the chain in a process of its own, which it can end.
"""

from __future__ import annotations

from processors.checker.findings import CheckReport, Example, Finding, Kind, Level, Measure
from processors.checker.texts import Text, given_texts
from processors.checker.watch import CheckerError, Options, Progress, check

__all__ = [
    "CheckReport",
    "CheckerError",
    "Example",
    "Finding",
    "Kind",
    "Level",
    "Measure",
    "Options",
    "Progress",
    "Text",
    "check",
    "given_texts",
]
