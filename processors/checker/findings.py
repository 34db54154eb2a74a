"""What a check finds, as plain data. Messages are free of content; an example has it, for those who ask to see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from processors.checker.texts import Text

#: An `error` breaks the promise, or would fail turns; a `warning` may; a `note` is good to know.
Level: TypeAlias = Literal["error", "warning", "note"]

#: What is wrong. `window`: a split leaks, as too little is held back. `needs-sum`: so it does, unless the lookbacks are
#: added. `unbounded`: no window is enough. `early-reject`: a prefix is refused, and the text is not. `late-reject`: only
#: the complete text is refused. `throws`, `throws-on-prefix`: an exception, or an answer that is no verdict. `unsteady`:
#: the verdict depends on chance, on the clock, on ids, on earlier texts or on the process. `context`: on who asks.
#: `scanner`: it does not say what its processor says. `scanner-throws`. `holds-back`: a scanner can hold text without limit.
#: `slow-scanner`: its time grows faster than the text. `not-vouched-for`: it is not run by workers.
#: `unbounded-pattern`: a pattern in the code has no longest match. `slow`: time grows faster than the text. `hangs`: a
#: call went over the limit. `crashes`: a call took its process down. `incomplete`: there was not time enough.
Kind: TypeAlias = Literal[
    "window",
    "needs-sum",
    "unbounded",
    "early-reject",
    "late-reject",
    "throws",
    "throws-on-prefix",
    "unsteady",
    "context",
    "scanner",
    "scanner-throws",
    "holds-back",
    "slow-scanner",
    "not-vouched-for",
    "unbounded-pattern",
    "slow",
    "hangs",
    "crashes",
    "incomplete",
]


@dataclass(frozen=True, slots=True)
class Example:
    """The shortest split found: of code points [`start`, `end`) of `text`, those before `split` came first.

    `released` is what is out after these, `settled` what the whole is settled as; None where it is not about that.
    """

    text: Text
    start: int
    split: int
    end: int
    released: str | None = None
    settled: str | None = None

    @property
    def head(self) -> str:
        """What comes first."""
        return self.text.text[self.start : self.split]

    @property
    def tail(self) -> str:
        """What follows."""
        return self.text.text[self.split : self.end]

    @property
    def places(self) -> str:
        """Where it is, without content."""
        lengths = f"{self.split - self.start} + {self.end - self.split} characters"
        return f"{lengths} ({self.text}, from {self.start}, split at {self.split}, to {self.end})"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found. `processor` is None for the chain as a whole; `needed` and `declared` are windows in code points."""

    level: Level
    kind: Kind
    processor: str | None
    message: str
    example: Example | None = None
    needed: int | None = None
    declared: int | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """The windows of one member, or with `processor` None of the chain, in code points.

    `declared` is the one in force (None: whole answers only). `smallest` is the smallest that held for everything tried;
    None if none does, or if it could not be found out (then there is a finding that says why).
    """

    processor: str | None
    declared: int | None
    smallest: int | None
    unbounded: bool = False
    scans: bool = False


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All that was found. `needs_sum` says whether the widest lookback is too little for the chain and the sum is not.

    `mode` is how the gate releases what the chain judges; `calls` counts the calls of processors and scanners.
    """

    findings: tuple[Finding, ...]
    members: tuple[Measure, ...]
    chain: Measure | None
    mode: str
    texts: int
    characters: int
    calls: int
    needs_sum: bool

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What breaks the promise."""
        return tuple(finding for finding in self.findings if finding.level == "error")

    @property
    def ok(self) -> bool:
        """Whether nothing breaks the promise."""
        return not self.errors
