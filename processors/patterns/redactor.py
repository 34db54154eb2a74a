"""Redaction by finders, on whole texts and on growing ones: the same text comes out, however it came in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from processors.contracts import Answer
from processors.declare import Incremental
from processors.patterns.folding import Folded, fold
from processors.patterns.settle import Finder, settle
from processors.verdicts import Replace

#: From this many held code points on, a growing text is looked at again only when it has grown by an eighth: a finding of
#: any length costs what it is long, and not its square.
_PATIENT_FROM = 2_048
_GROWTH = 8


@dataclass(frozen=True, slots=True)
class Rule:
    """What to look for, and what it is called in placeholders."""

    label: str
    finder: Finder


class Placeholders:
    """What stands in for findings: `[LABEL]`, or with `numbered` `[LABEL_1]`, where equal findings get equal numbers."""

    def __init__(self, template: str, *, numbered: bool) -> None:
        self._template = template
        self._numbered = numbered
        self._numbers: dict[tuple[str, str], int] = {}
        self._counts: dict[str, int] = {}

    def of(self, label: str, found: str) -> str:
        """Return what stands in for `found`, the text as a detector reads it."""
        if not self._numbered:
            return self._template.format(label=label)
        key = label, found.casefold()
        if key not in self._numbers:
            self._counts[label] = self._counts.get(label, 0) + 1
            self._numbers[key] = self._counts[label]
        return self._template.format(label=f"{label}_{self._numbers[key]}")


class RedactingScanner:
    """Reads one answer; `changes` counts what it replaced so far."""

    def __init__(self, rules: Sequence[Rule], placeholders: Placeholders, *, folds: bool) -> None:
        self._labels = [rule.label for rule in rules]
        self._finders = [rule.finder for rule in rules]
        self._placeholders = placeholders
        self._folds = folds
        self._held = ""
        self._settled = 0
        self._looked_at = 0
        self.changes = 0

    def feed(self, delta: str) -> str:
        """Take in what follows; return what is now certain."""
        self._held += delta
        waiting = len(self._held) - self._settled
        if waiting > _PATIENT_FROM and waiting < self._looked_at + self._looked_at // _GROWTH:
            return ""
        return self._read(ended=False)

    def finish(self) -> str:
        """Return the rest."""
        return self._read(ended=True)

    def _read(self, *, ended: bool) -> str:
        view = fold(self._held) if self._folds else Folded(self._held)
        start = view.forth(self._settled)
        findings, end = settle(self._finders, view.text, start, ended=ended)
        out: list[str] = []
        place = self._settled
        for one in findings:
            out.append(self._held[place : view.back(one.start)])
            out.append(self._placeholders.of(self._labels[one.finder], view.text[one.start : one.end]))
            place = view.back_end(one.end)
        settled = len(self._held) if ended else max(view.back(end), place)
        out.append(self._held[place:settled])
        self.changes += len(findings)
        self._forget_before(settled)
        return "".join(out)

    def _forget_before(self, settled: int) -> None:
        """Keep one character before what is unsettled: it is a neighbour of what may be found there."""
        kept = max(settled - 1, 0)
        self._held = self._held[kept:]
        self._settled = settled - kept
        self._looked_at = len(self._held) - self._settled


class Redactor:
    """An output processor that replaces what its rules find, and scans.

    On a prefix it answers with what is certain alone, so nothing more has to be held back for it. `folds` has it read
    through evasions: full-width and look-alike letters, combining marks, invisible characters.
    """

    kind = "output"
    incremental = Incremental(lookback_chars=0)

    def __init__(
        self,
        name: str,
        rules: Sequence[Rule],
        *,
        placeholder: str = "[{label}]",
        numbered: bool = False,
        folds: bool = True,
        version: str = "1",
        timeout_s: float = 30.0,
    ) -> None:
        self.name = name
        self.version = version
        self.timeout_s = timeout_s
        self._rules = tuple(rules)
        self._placeholders: Callable[[], Placeholders] = lambda: Placeholders(placeholder, numbered=numbered)
        self._folds = folds

    def process(self, answer: Answer) -> Replace:
        """Return the answer with everything found replaced."""
        scanner = self.open_scanner()
        text = scanner.feed(answer.text)
        if answer.complete:
            text += scanner.finish()
        return Replace(text, changes=scanner.changes)

    def open_scanner(self) -> RedactingScanner:
        """Return a scanner for one answer."""
        return RedactingScanner(self._rules, self._placeholders(), folds=self._folds)
