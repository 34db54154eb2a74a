"""Redaction by finders, on whole texts and on growing ones: the same text comes out, however it came in."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from processors.contracts import Answer
from processors.declare import Incremental
from processors.patterns.arguments import redact_arguments
from processors.patterns.automaton import Automaton, TooManyPositionsError
from processors.patterns.examples import example
from processors.patterns.fingerprint import fingerprint
from processors.patterns.folding import Folded, Unmasked, fold
from processors.patterns.following import Following
from processors.patterns.glance import Glance
from processors.patterns.ours import is_ours
from processors.patterns.pattern import Pattern
from processors.patterns.settle import Finder, Finding, settle
from processors.patterns.tree import Parsed
from processors.verdicts import Replace
from topics.content import ToolCall

#: From this many held code points on, a growing text is looked at again only when it has grown by an eighth: a finding of
#: any length costs what it is long, and not its square.
_PATIENT_FROM = 2_048
_GROWTH = 8


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


def is_vouched_for(rule: Rule) -> bool:
    """Return whether a rule runs in linear time: nothing is in it but turngate's own, or a finder that says so itself."""
    said = getattr(rule.finder, "linear_time", None)
    finds = is_ours(type(rule.finder)) if said is None else said is True
    return finds and all(is_ours(part) for part in (rule.named, rule.part, rule.same) if part is not None)


class Found(NamedTuple):
    """What a rule found in code points [`start`, `end`): `text` as its finder read it."""

    start: int
    end: int
    text: Folded
    rule: Rule


class Rules:
    """Rules ready to be looked for together, as often as needed. With `folds`, evasions are seen through."""

    def __init__(self, rules: Sequence[Rule], *, folds: bool) -> None:
        self._rules = rules
        self.folds = folds
        self._finders = [rule.finder for rule in rules]
        self._glance = Glance(self._finders)

    def settle(self, text: str, start: int, *, ended: bool) -> tuple[list[Found], int]:
        """Return what is found in `text` from `start` on, and up to where it is settled (`processors.patterns.settle`)."""
        view = fold(text) if self.folds else Folded(text)
        end = self._glance.settled_to(text, start, ended=ended)
        if end is not None and view.places is not None:
            folded_end = self._glance.settled_to(view.text, view.forth(start), ended=ended)
            end = None if folded_end is None else min(end, view.back(folded_end))
        if end is not None:
            return [], end
        finders = self._finders
        if view.places is not None:
            # Both readings count: what is written in a script of its own must not only be read as another.
            finders = [one for finder in finders for one in (Unmasked(finder, view), finder)]
        findings, end = settle(finders, text, start, ended=ended)
        return [self._found(text, one, folded=view.places is not None) for one in findings], end

    @cached_property
    def automaton(self) -> Automaton | None:
        """What the finders watch for as one automaton, if each of them says it and it is not too long."""
        watched = [_watched(finder) for finder in self._finders]
        patterns = [one for one in watched if one is not None]
        if len(patterns) < len(watched):
            return None
        try:
            return Automaton(patterns)
        except TooManyPositionsError:
            return None

    def examples(self, rng: random.Random) -> Iterator[str]:
        """Yield for each finder that says what it watches for a text of that kind."""
        for finder in self._finders:
            watched = _watched(finder)
            if watched is not None:
                yield example(watched.body, rng)

    def passes(self, text: str) -> bool:
        """Return whether nothing that is found begins in `text`, whatever stands before and behind it."""
        return (text.isascii() or not self.folds) and self._glance.passes(text)

    def _found(self, text: str, one: Finding, *, folded: bool) -> Found:
        found = text[one.start : one.end]
        if not folded:
            return Found(one.start, one.end, Folded(found), self._rules[one.finder])
        number, as_written = divmod(one.finder, 2)
        return Found(one.start, one.end, Folded(found) if as_written else fold(found), self._rules[number])


def _watched(finder: Finder) -> Parsed | None:
    # A class made of `Pattern` may find something else.
    watched = finder.parsed if type(finder) is Pattern else getattr(finder, "watched", None)
    return watched if isinstance(watched, Parsed) else None


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


class RedactingScanner(Following):
    """Reads one answer; `changes` counts what it replaced so far."""

    def __init__(self, rules: Rules, placeholders: Placeholders) -> None:
        super().__init__(rules.automaton, folds=rules.folds)
        self._rules = rules
        self._placeholders = placeholders
        self._looked_at = 0
        self.changes = 0

    def finish(self) -> str:
        """Return the rest."""
        return self._read(ended=True)

    def examples(self, rng: random.Random) -> Iterator[str]:
        """Yield texts of the kinds that this looks for."""
        return self._rules.examples(rng)

    def _feed(self, delta: str) -> str:
        if self._rules.automaton is not None:
            settled = self._follow(delta)
        else:
            settled = len(delta) if not self._length and self._rules.passes(delta) else None
        self._take(delta)
        if settled is not None:
            return self._let_go(settled)
        if self._length > _PATIENT_FROM and self._length < self._looked_at + self._looked_at // _GROWTH:
            return ""
        return self._read(ended=False)

    def _read(self, *, ended: bool) -> str:
        before = self._before()
        start = len(before)
        text = before + self._all_held()
        findings, end = self._rules.settle(text, start, ended=ended)
        out: list[str] = []
        place = start
        for one in findings:
            first, place_after, placeholder = self._replacement(one)
            out += (text[place:first], placeholder)
            place = place_after
        out.append(text[place:end])
        self.changes += len(findings)
        self._keep(text[start:end], text[end:])
        self._looked_at = self._length
        return "".join(out)

    def _replacement(self, one: Found) -> tuple[int, int, str]:
        """Return from where to where of the text a placeholder stands, and the placeholder."""
        rule, found = one.rule, one.text
        first, last = rule.part(found.text) if rule.part else (0, len(found.text))
        label = rule.named(found.text) if rule.named else rule.label
        placeholder = self._placeholders.of(label, rule.same(found.text[first:last]))
        if (first, last) == (0, len(found.text)):
            return one.start, one.end, placeholder
        return one.start + found.back(first), one.start + found.back_end(last), placeholder


class Redactor:
    """An output processor that replaces what its rules find, and scans.

    On a prefix it answers with what is certain alone, so nothing more has to be held back for it. `folds` has it read
    through evasions: full-width and look-alike letters, combining marks, invisible characters. `version` is by default a
    digest of all of this but the limit, so that decisions tell one configuration from another.
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
        version: str | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        self.name = name
        self.timeout_s = timeout_s
        self.rules = tuple(rules)
        self.version = fingerprint(self.rules, placeholder, numbered, folds) if version is None else version
        self._ready = Rules(self.rules, folds=folds)
        self._placeholders: Callable[[], Placeholders] = lambda: Placeholders(placeholder, numbered=numbered)
        self.linear_time = is_ours(type(self)) and all(is_vouched_for(rule) for rule in self.rules)

    def process(self, answer: Answer) -> Replace:
        """Return the answer with everything found replaced, in the arguments of its tool calls too."""
        placeholders = self._placeholders()
        scanner = RedactingScanner(self._ready, placeholders)
        text = scanner.feed(answer.text)
        if not answer.complete:
            return Replace(text, changes=scanner.changes)
        text += scanner.finish()
        changes = scanner.changes
        calls: list[ToolCall] = []
        for call in answer.tool_calls:
            arguments, found = redact_arguments(call.arguments, lambda value: self._redact(value, placeholders))
            calls.append(call.model_copy(update={"arguments": arguments}) if found else call)
            changes += found
        return Replace(text, tool_calls=tuple(calls), changes=changes)

    def open_scanner(self) -> RedactingScanner:
        """Return a scanner for one answer."""
        return RedactingScanner(self._ready, self._placeholders())

    def reader(self) -> Callable[[str], tuple[str, int]]:
        """Return what redacts one text after another, and says how much it replaced: equal findings get equal numbers."""
        placeholders = self._placeholders()
        return lambda text: self._redact(text, placeholders)

    def _redact(self, text: str, placeholders: Placeholders) -> tuple[str, int]:
        """Return a text with everything found in it replaced, and how much that was."""
        scanner = RedactingScanner(self._ready, placeholders)
        return scanner.feed(text) + scanner.finish(), scanner.changes
