"""One look at a growing text for many patterns at once: mostly, nothing is found in it yet and only its end is open.

The look costs a search or two however many patterns there are, and says exactly what a look for each of them would. Only
where something is found must they be asked one by one. Where nothing is open, not even that search is needed for text in
which no match begins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from processors.patterns.engine import Encoded, Engine
from processors.patterns.errors import PatternError
from processors.patterns.pattern import Pattern
from processors.patterns.settle import Finder

_ANY = "(?s:.)"


class Glance:
    """Looks for what any of `finders` finds: for the `Pattern`s among them together, for others one by one."""

    def __init__(self, finders: Sequence[Finder]) -> None:
        patterns = [finder for finder in finders if isinstance(finder, Pattern)]
        # What is open for a lazy pattern depends on what it matches: there is nothing to be seen at a glance.
        spelt = [pattern.spelt for pattern in patterns if not pattern.lazy]
        self._neighbour = any(one.neighbour for one in spelt)
        self._others = [finder for finder in finders if not isinstance(finder, Pattern) or finder.lazy]
        self._engines: tuple[Engine, Engine] | None = None
        self._starts: re.Pattern[str] | None = None
        self._needs: re.Pattern[str] | None = None
        if patterns and len(patterns) == len(finders):
            self._starts = re.compile("|".join(dict.fromkeys(one.spelt.starts for one in patterns)))
        if not spelt:
            return
        if all(one.needs for one in spelt):
            self._needs = re.compile("|".join(dict.fromkeys(re.escape(one.needs) for one in spelt)))
        # What has no neighbour spelt gets any, so that all of them begin at the same distance from what they match.
        skipped = [_ANY if self._neighbour and not one.neighbour else "" for one in spelt]
        matches = "|".join(f"{skip}(?:{one.matches})" for skip, one in zip(skipped, spelt, strict=True))
        opened = "|".join(f"{skip}(?:{one.opened})" for skip, one in zip(skipped, spelt, strict=True))
        try:
            self._engines = Engine(matches), Engine(rf"(?:{opened})\z")
        except PatternError:
            # Each is small enough, but not all of them together.
            self._others = list(finders)

    def passes(self, text: str) -> bool:
        """Return whether no finding begins in `text`, whatever stands before and behind it. False if that is not known."""
        return self._starts is not None and self._starts.search(text) is None

    def settled_to(self, text: str, start: int, *, ended: bool) -> int | None:
        """Return up to where `text` is settled, if nothing is found between `start` and there; None if something may be.

        What stands before `start` counts as a neighbour; `ended` says that nothing follows `text`.
        """
        place = len(text)
        if self._engines is not None:
            together = self._together(self._engines, text, start, ended=ended)
            if together is None:
                return None
            place = together
        if not self._others:
            return place
        if not ended:
            place = min(place, *(finder.open_from(text, start) for finder in self._others))
        for finder in self._others:
            span = next(finder.spans(text, start, ended=ended), None)
            if span is not None and span.start < place:
                return None
        return place

    def _together(self, engines: tuple[Engine, Engine], text: str, start: int, *, ended: bool) -> int | None:
        if self._neighbour and not start:
            # Here what matches may begin with a neighbour, or have none.
            return None
        encoded = Encoded(text)
        offset = encoded.offset(start)
        if self._neighbour:
            offset = encoded.before(offset)
        matches, opened = engines
        if ended:
            return len(text) if not self._may_match(text) or matches.find(encoded, offset) is None else None
        rest = opened.find(encoded, offset)
        if rest is not None and rest[0] == offset:
            # All of it is open: what matches in it does not matter yet.
            return start
        if self._may_match(text):
            found = matches.find(encoded, offset)
            if found is not None and (rest is None or found[0] < rest[0]):
                return None
        if rest is None:
            return len(text)
        return encoded.place(encoded.after(rest[0]) if self._neighbour else rest[0])

    def _may_match(self, text: str) -> bool:
        return self._needs is None or self._needs.search(text) is not None
