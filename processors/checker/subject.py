"""Who is checked: one member of a chain, or the chain; with what it made of the texts, once that has been asked."""

from __future__ import annotations

import random
from collections.abc import Sequence

from processors.checker.judge import Judge, Memo, Meter
from processors.checker.texts import Text
from processors.checker.window import Reading, read
from processors.declare import Processor
from processors.scanner import OpenScanner


class Subject:
    """One or several members that judge one after the other.

    `name` is None for the chain. `declared` is the window in force in code points, None if prefixes are never judged, and
    `total` what the window could be raised to by adding the lookbacks, if it is not that. `careful` subjects are spared
    texts that may take long: those made from code, and those made to grow.
    """

    def __init__(
        self,
        name: str | None,
        members: Sequence[Processor],
        *,
        declared: int | None,
        total: int | None,
        opener: OpenScanner | None,
        texts: Sequence[Text],
        meter: Meter,
        seed: int,
        splits: int,
    ) -> None:
        self.name = name
        self.members = tuple(members)
        self.declared = declared
        self.total = total
        self.opener = opener
        self.meter = meter
        self.careful = False
        self.short_of_time = False
        self._texts = texts
        self._seed = seed
        self._splits = splits
        self._readings: list[Reading] | None = None

    def judge(self) -> Judge:
        """Return the members as a function."""
        return Judge(self.members, self.meter)

    def memo(self) -> Memo:
        """Return the members as a function that remembers."""
        return Memo(self.members, self.meter)

    def readings(self) -> list[Reading]:
        """Return what is made of every prefix of the texts, as far as the time goes."""
        if self._readings is None:
            judge = self.judge()
            self._readings = []
            for index, text in enumerate(self._texts):
                if self.careful and text.source == "code":
                    continue
                self.meter.at_text(index)
                self._readings.append(read(judge, text, self.declared or 0, index))
                if self.meter.out_of_time:
                    self.short_of_time = True
                    break
        return self._readings

    def cuts(self, reading: Reading) -> list[list[int]]:
        """Return random sequences of ends of pieces for a text, the same ones for the same text and seed."""
        size = len(reading.text.text)
        if size < 2:  # noqa: PLR2004 - nothing to cut
            return []
        rng = random.Random(f"{self._seed} {reading.text.source} {reading.text.number}")  # noqa: S311 - reproducible
        cuts = (rng.sample(range(1, size), rng.randint(1, min(8, size - 1))) for _ in range(self._splits))
        return [[*sorted(cut), size] for cut in cuts]
