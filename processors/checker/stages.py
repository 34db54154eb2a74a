"""The checks in order, each a stage that yields what it finds: what runs in the checking process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from processors.checker import samples as made
from processors.checker import wording
from processors.checker.findings import Finding, Measure
from processors.checker.judge import Meter
from processors.checker.prefixes import check_prefixes
from processors.checker.reach import Reached, reach
from processors.checker.scanners import check_scanner
from processors.checker.scanning import Scanning
from processors.checker.speed import DEAD_ENDS, slowest
from processors.checker.steady import unsteady
from processors.checker.subject import Subject
from processors.checker.texts import Text, built_in, code_texts
from processors.deps import Deps
from processors.manifest import ReleaseMode

What: TypeAlias = Literal["speed", "window", "steady", "scanner", "pace"]

#: Of one member: texts that its patterns match, and texts that it names. Of all: mixtures of these.
_MOST_SAMPLES = 24
_MOST_WORDS = 24
_MOST_MIXED = 80
#: A scanner's pace is measured on so many repetitions of what its patterns match, in pieces of so many characters.
_MOST_PACED = 40
_PIECE = 16


@dataclass(frozen=True, slots=True)
class Stage:
    """One check of member number `member`, or of the chain (None). `careful`: spare it what may go on for long."""

    what: What
    member: int | None
    careful: bool = False


@dataclass(frozen=True, slots=True)
class Setup:
    """What there is to check. `window` is the one in force for the chain, `total` the sum of its lookbacks."""

    names: tuple[str, ...]
    timeouts_s: tuple[float, ...]
    lookbacks: tuple[int | None, ...]
    scans: tuple[bool, ...]
    mode: ReleaseMode
    window: int
    total: int
    texts: tuple[Text, ...]

    def stages(self) -> list[Stage]:
        """Return the stages in order; of a chain of one there is nothing to say that is not said of its member."""
        stages: list[Stage] = []
        for number, scans in enumerate(self.scans):
            stages += [Stage("speed", number), Stage("window", number), Stage("steady", number)]
            if scans:
                stages += [Stage("scanner", number), Stage("pace", number)]
        if len(self.names) > 1:
            stages.append(Stage("window", None))
            if self.mode == "scan":
                stages.append(Stage("scanner", None))
        return stages


class Stages:
    """Does the stages of a chain, each within `budget_s` seconds; `splits` is how often each text is cut at random."""

    def __init__(
        self, deps: Deps, given: Sequence[Text], meter: Meter, *, seed: int, splits: int, budget_s: float
    ) -> None:
        self._meter = meter
        self._seed = seed
        self._budget_s = budget_s
        members = deps.output_processors
        self._reached = [reach([member.call]) for member in members]
        self._setup = _setup(deps, (*built_in(), *code_texts(_suggested(self._reached, seed)), *given))
        self._subjects: dict[int | None, Subject] = {}
        window = self._setup.window if self._setup.mode == "incremental" else None
        for number in (*range(len(members)), None):
            one = None if number is None else members[number]
            self._subjects[number] = Subject(
                one.name if one is not None else None,
                (one,) if one is not None else members,
                declared=self._setup.lookbacks[number] if number is not None else window,
                total=self._setup.total if number is None and deps.window == "widest" else None,
                opener=one.open_scanner if one is not None else deps.scanners(),
                texts=self._setup.texts,
                meter=meter,
                seed=seed,
                splits=splits,
            )

    def setup(self) -> Setup:
        """Return what there is to check."""
        return self._setup

    def run(self, stage: Stage) -> Iterator[Finding | Measure]:
        """Do one stage."""
        subject = self._subjects[stage.member]
        subject.careful = subject.careful or stage.careful
        self._meter.begin(self._budget_s)
        match stage.what:
            case "speed":
                return self._speed(subject, self._reached[stage.member or 0])
            case "window":
                return check_prefixes(subject)
            case "steady":
                return self._steady(subject, self._reached[stage.member or 0])
            case "scanner":
                return check_scanner(subject)
            case "pace":
                return self._pace(subject, self._reached[stage.member or 0])

    def _speed(self, subject: Subject, reached: Reached) -> Iterator[Finding]:
        (member,) = subject.members
        judge = subject.judge()
        found = slowest(
            lambda text: judge(text, complete=True),
            [sample for pattern, flags in reached.patterns for sample in made.samples(pattern, flags)],
            seed=self._seed,
            limit_s=member.timeout_s,
            give_up=lambda: self._meter.out_of_time,
        )
        if found is not None:
            # Growing texts would take it for ever, and the chain with it.
            endless = found.foretold_s is None
            subject.careful |= endless
            self._subjects[None].careful |= endless
            yield wording.slow(member, found)
        if any(made.is_endless(pattern, flags) for pattern, flags in reached.patterns):
            yield wording.endless(member)

    def _pace(self, subject: Subject, reached: Reached) -> Iterator[Finding]:
        (member,) = subject.members
        if not member.linear_time:
            yield wording.not_vouched_for(member)
        if member.open_scanner is None:
            return
        scanning = Scanning(member.open_scanner, self._meter)
        found = slowest(
            lambda text: scanning.pace(text[place : place + _PIECE] for place in range(0, len(text), _PIECE)),
            [sample for pattern, flags in reached.patterns for sample in made.samples(pattern, flags)],
            seed=self._seed,
            limit_s=member.timeout_s,
            give_up=lambda: self._meter.out_of_time,
            most=_MOST_PACED,
            dead_ends=DEAD_ENDS[:1],
        )
        if found is not None:
            yield wording.slow_scanner(member, found)

    def _steady(self, subject: Subject, reached: Reached) -> Iterator[Finding]:
        found = unsteady(subject.judge(), subject.readings(), self._meter, reached.namespaces, self._seed)
        if found is not None:
            yield wording.unsteady(subject.name, found)


def _setup(deps: Deps, texts: tuple[Text, ...]) -> Setup:
    members = deps.output_processors
    lookbacks = tuple(one.incremental.lookback_chars if one.incremental else None for one in members)
    return Setup(
        names=tuple(member.name for member in members),
        timeouts_s=tuple(member.timeout_s for member in members),
        lookbacks=lookbacks,
        scans=tuple(member.scans for member in members),
        mode=deps.manifest.release_mode,
        window=deps.manifest.window_chars,
        total=sum(one for one in lookbacks if one is not None),
        texts=texts,
    )


def _suggested(reached: Sequence[Reached], seed: int) -> list[str]:
    """Return the texts that the members' code suggests: what their patterns match, what they name, and mixtures."""
    found: list[list[str]] = []
    for one in reached:
        texts = [text for pattern, flags in one.patterns for text in made.samples(pattern, flags)]
        found.append(list(dict.fromkeys([*texts[:_MOST_SAMPLES], *list(one.words)[:_MOST_WORDS]])))
    alone = list(dict.fromkeys(made.texts_around(text for texts in found for text in texts)))
    if len(found) <= 1:
        return alone
    return list(dict.fromkeys((*alone, *made.texts_between(found, _MOST_MIXED, seed))))
