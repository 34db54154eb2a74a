"""Redaction by finders, on whole texts and on growing ones: the same text comes out, however it came in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from processors.contracts import Answer
from processors.declare import Incremental
from processors.patterns.folding import Folded, fold, last_read
from processors.patterns.settle import Finder, Finding, settle
from processors.verdicts import Replace

#: From this many held code points on, a growing text is looked at again only when it has grown by an eighth: a finding of
#: any length costs what it is long, and not its square.
_PATIENT_FROM = 2_048
_GROWTH = 8
#: So many characters before what is unsettled are kept, as neighbours of what may be found there: a finder may look back
#: no further.
CONTEXT = 8


@dataclass(frozen=True, slots=True)
class Rule:
    """What to look for, and what it is called in placeholders.

    Given a finding's text, `named` returns the label where it depends on what was found, and `part` from where to where
    it is to be replaced: the rest stays. Findings of one label are numbered as one if `same` makes the same of them.
    """

    label: str
    finder: Finder
    named: Callable[[str], str] | None = None
    part: Callable[[str], tuple[int, int]] | None = None
    same: Callable[[str], str] = str.casefold


class Placeholders:
    """What stands in for findings: `[LABEL]`, or with `numbered` `[LABEL_1]`, where equal findings get equal numbers."""

    def __init__(self, template: str, *, numbered: bool) -> None:
        self._template = template
        self._numbered = numbered
        self._numbers: dict[tuple[str, str], int] = {}
        self._counts: dict[str, int] = {}

    def of(self, label: str, found: str) -> str:
        """Return what stands in for `found`, a finding reduced to what makes it the same as others."""
        if not self._numbered:
            return self._template.format(label=label)
        key = label, found
        if key not in self._numbers:
            self._counts[label] = self._counts.get(label, 0) + 1
            self._numbers[key] = self._counts[label]
        return self._template.format(label=f"{label}_{self._numbers[key]}")


class RedactingScanner:
    """Reads one answer; `changes` counts what it replaced so far."""

    def __init__(self, rules: Sequence[Rule], placeholders: Placeholders, *, folds: bool) -> None:
        self._rules = rules
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
        place = reached = self._settled
        for one in findings:
            first, last, placeholder = self._replacement(one, view.text[one.start : one.end])
            out += (self._held[place : view.back(first)], placeholder)
            place, reached = view.back_end(last), view.back_end(one.end)
        settled = len(self._held) if ended else max(view.back(end), reached)
        out.append(self._held[place:settled])
        self.changes += len(findings)
        self._forget_before(settled)
        return "".join(out)

    def _replacement(self, one: Finding, found: str) -> tuple[int, int, str]:
        """Return from where to where of the text as it is read a placeholder stands, and the placeholder."""
        rule = self._rules[one.finder]
        first, last = rule.part(found) if rule.part else (0, len(found))
        label = rule.named(found) if rule.named else rule.label
        return one.start + first, one.start + last, self._placeholders.of(label, rule.same(found[first:last]))

    def _forget_before(self, settled: int) -> None:
        """Keep some characters before what is unsettled, of those that a detector reads."""
        kept = self._held[max(settled - CONTEXT, 0) : settled]
        if self._folds and not kept.isascii():
            kept = last_read(self._held, settled, CONTEXT)
        self._held = kept + self._held[settled:]
        self._settled = len(kept)
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
