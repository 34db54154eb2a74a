"""The checks in order, each a stage that yields what it finds: what runs in the checking process."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from processors.checker import samples as made
from processors.checker import wording
from processors.checker.findings import Example, Finding, Measure
from processors.checker.grow import UNBOUNDED, Case, grow
from processors.checker.judge import Judge, Memo, Meter
from processors.checker.reach import Reached, reach
from processors.checker.scanning import Scanning, ScanThrew
from processors.checker.shorten import shorten, shortest
from processors.checker.speed import slowest
from processors.checker.steady import unsteady
from processors.checker.texts import Text, built_in, code_texts
from processors.checker.window import Reading, first_leak, leak, leaks_by_frames, need_of, read, worst_pair
from processors.declare import Processor
from processors.deps import Deps, ReleaseMode
from processors.outcomes import Broken, Refused
from processors.scanner import OpenScanner

What: TypeAlias = Literal["speed", "window", "steady", "scanner"]

#: Windows and growth of so many of the worst texts, and shortest splits of so many of the shortest.
_WORST = 6
_SHORTEST = 8
#: Of one member: texts that its patterns match, and texts that it names. Of all: mixtures of these.
_MOST_SAMPLES = 24
_MOST_WORDS = 24
_MOST_MIXED = 120


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
                stages.append(Stage("scanner", number))
        if len(self.names) > 1:
            stages.append(Stage("window", None))
            if self.mode == "scan":
                stages.append(Stage("scanner", None))
        return stages


class Stages:
    """Does the stages, for as long as they take. `budget_s` is what each may use up; `splits` how many random ones."""

    def __init__(
        self, deps: Deps, given: Sequence[Text], meter: Meter, *, seed: int, splits: int, budget_s: float
    ) -> None:
        self._deps = deps
        self._meter = meter
        self._seed = seed
        self._splits = splits
        self._budget_s = budget_s
        self._members = deps.output_processors
        self._reached = [reach([member.call]) for member in self._members]
        suggested = _suggested(self._reached, seed)
        self._texts = (*built_in(), *code_texts(suggested), *given)
        self._readings: dict[int | None, list[Reading]] = {}
        #: Whom to spare the texts that go on for long.
        self._careful: set[int | None] = set()
        self._short_of_time: set[int | None] = set()

    def setup(self) -> Setup:
        """Return what there is to check."""
        manifest = self._deps.manifest
        lookbacks = tuple(one.incremental.lookback_chars if one.incremental else None for one in self._members)
        return Setup(
            names=tuple(member.name for member in self._members),
            timeouts_s=tuple(member.timeout_s for member in self._members),
            lookbacks=lookbacks,
            scans=tuple(member.scans for member in self._members),
            mode=manifest.release_mode,
            window=manifest.window_chars,
            total=sum(one for one in lookbacks if one is not None),
            texts=self._texts,
        )

    def run(self, stage: Stage) -> Iterator[Finding | Measure]:
        """Do one stage."""
        self._meter.begin(self._budget_s)
        if stage.careful:
            self._careful.add(stage.member)
        match stage.what:
            case "speed":
                return self._speed(stage.member or 0)
            case "window":
                return self._window(stage)
            case "steady":
                return self._steady(stage.member or 0)
            case "scanner":
                return self._scanner(stage)

    # -- who -----------------------------------------------------------------------------------------------------------

    def _chain(self, member: int | None) -> tuple[Processor, ...]:
        return self._members if member is None else (self._members[member],)

    def _name(self, member: int | None) -> str | None:
        return None if member is None else self._members[member].name

    def _declared(self, member: int | None) -> int | None:
        """Return the window in force, None if prefixes are never judged."""
        if member is None:
            return self._deps.manifest.window_chars if self._deps.manifest.release_mode == "incremental" else None
        incremental = self._members[member].incremental
        return incremental.lookback_chars if incremental is not None else None

    def _judge(self, member: int | None) -> Judge:
        return Judge(self._chain(member), self._meter)

    def _memo(self, member: int | None) -> Memo:
        return Memo(self._chain(member), self._meter)

    def _read(self, member: int | None) -> list[Reading]:
        """Return what the chain makes of every prefix of the texts, as far as the time goes."""
        if member not in self._readings:
            judge = self._judge(member)
            readings: list[Reading] = []
            for index, text in enumerate(self._texts):
                if text.source == "code" and member in self._careful:
                    continue
                self._meter.at_text(index)
                readings.append(read(judge, text, self._declared(member) or 0, index))
                if self._meter.out_of_time:
                    self._short_of_time.add(member)
                    break
            self._readings[member] = readings
        return self._readings[member]

    # -- speed ---------------------------------------------------------------------------------------------------------

    def _speed(self, member: int) -> Iterator[Finding]:
        judge = self._judge(member)
        reached = self._reached[member]
        found = slowest(
            lambda text: judge(text, complete=True),
            [sample for pattern, flags in reached.patterns for sample in made.samples(pattern, flags)],
            seed=self._seed,
            limit_s=self._members[member].timeout_s,
            give_up=lambda: self._meter.out_of_time,
        )
        if found is not None and found.foretold_s is None:
            self._careful |= {member, None}
        if found is not None:
            yield wording.slow(self._members[member], found)
        endless = sum(made.is_endless(pattern, flags) for pattern, flags in reached.patterns)
        if endless:
            yield wording.endless(self._members[member], endless)

    # -- prefix passes -------------------------------------------------------------------------------------------------

    def _window(self, stage: Stage) -> Iterator[Finding | Measure]:
        member = stage.member
        declared = self._declared(member)
        readings = self._read(member)
        name = self._name(member)
        if member in self._short_of_time:
            yield wording.incomplete(name, len(readings), len(self._texts))
        yield from self._throws(member, readings)
        if declared is not None:
            yield from self._rejects(member, readings)
        worst = self._worst(member, readings)
        need = worst.need if worst is not None else 0
        unbounded = need >= UNBOUNDED
        yield Measure(name, declared, None if unbounded else need, unbounded, scans=self._scans(member))
        if declared is None:
            return
        if worst is not None and (unbounded or need > declared):
            example = self._leak(member, readings, worst, declared)
            total = self.setup().total if member is None and self._deps.manifest.window == "widest" else None
            yield wording.window(name, need, declared, example, unbounded=unbounded, total=total)
        else:
            yield from self._frames(member, readings, declared)

    def _worst(self, member: int | None, readings: Sequence[Reading]) -> Case | None:
        """Return the split that needs the widest window, of the texts and of what they can be made to grow into."""
        memo = self._memo(member)
        judge = self._judge(member)
        needy = sorted((one for one in readings if one.need), key=lambda one: -one.need)
        worst: Case | None = None
        for reading in needy[:_WORST]:
            head, whole = worst_pair(memo, reading)
            case = Case(reading.text, head, whole, reading.need)
            if member not in self._careful and not self._meter.out_of_time:
                self._meter.at_text(reading.index)
                case = grow(case, lambda head, whole: need_of(judge, head, whole))
            if worst is None or case.need > worst.need:
                worst = case
            if worst.need >= UNBOUNDED:
                break
        return worst

    def _leak(self, member: int | None, readings: Sequence[Reading], worst: Case, declared: int) -> Example | None:
        """Return the shortest split that leaks: of the texts as they are, or else of the worst one as it was grown."""
        memo = self._memo(member)
        found: list[tuple[Text, tuple[int, int]]] = []
        for reading in readings:
            heads = [length for length, need in enumerate(reading.needs) if need > declared]
            pair = first_leak(memo, reading.text.text, heads, declared) if heads else None
            if pair is not None:
                found.append((reading.text, pair))
        if not found:
            small = self._barely(memo, readings, worst, declared)
            found.append((small.text, (small.head, small.whole)))
        found.sort(key=lambda one: (one[1][1], one[1][0]))

        def breaks(head: str, whole: str) -> bool:
            return leak(memo, head, whole, declared) is not None

        example = shortest(shorten(text, pair, breaks) for text, pair in found[:_SHORTEST])
        if example is None:
            return None
        out, settled = leak(memo, example.head, example.head + example.tail, declared) or (None, None)
        return Example(example.text, example.start, example.split, example.end, out, settled)

    def _barely(self, memo: Memo, readings: Sequence[Reading], worst: Case, declared: int) -> Case:
        """Return a text made to grow as little as it takes to leak."""
        reading = next(
            one for one in readings if (one.text.source, one.text.number) == (worst.text.source, worst.text.number)
        )
        head, whole = worst_pair(memo, reading)
        case = Case(reading.text, head, whole, reading.need)
        return grow(case, lambda head, whole: need_of(memo, head, whole), declared + 1)

    def _frames(self, member: int | None, readings: Sequence[Reading], declared: int) -> Iterator[Finding]:
        """Let every text come character by character and in random pieces: only a chain that is not steady leaks now."""
        judge = self._judge(member)
        for reading in readings:
            self._meter.at_text(reading.index)
            text = reading.text.text
            for cuts in (range(1, len(text) + 1), *self._cuts(reading)):
                if leaks_by_frames(judge, text, cuts, declared):
                    yield wording.frames(
                        self._name(member), Example(reading.text, 0, cuts[0] if cuts else 0, len(text))
                    )
                    return
            if self._meter.out_of_time:
                return

    def _cuts(self, reading: Reading) -> list[list[int]]:
        """Return random sequences of cuts, the same for the same text."""
        size = len(reading.text.text)
        if size < 2:  # noqa: PLR2004 - nothing to cut
            return []
        rng = random.Random(f"{self._seed} {reading.text.source} {reading.text.number}")  # noqa: S311 - reproducible
        cuts = [sorted(rng.sample(range(1, size), rng.randint(1, min(8, size - 1)))) for _ in range(self._splits)]
        return [[*cut, size] for cut in cuts]

    def _throws(self, member: int | None, readings: Sequence[Reading]) -> Iterator[Finding]:
        memo = self._memo(member)
        name = self._name(member)
        full = [one for one in readings if len(one.text.text) in one.whole_broken]
        cut = [one for one in readings if one.whole_broken and one not in full]
        if full or cut:
            reading = min(full or cut, key=lambda one: len(one.text.text))
            length = max(reading.whole_broken) if full else min(reading.whole_broken)
            error = reading.whole_broken[length]

            def breaks(_: str, whole: str) -> bool:
                return isinstance(memo(whole, complete=True), Broken)

            example = shorten(reading.text, (length, length), breaks)
            yield wording.throws(name, error, len(full or cut), example, cut_short=not full)
        if self._declared(member) is None:
            return
        broken = [one for one in readings if one.head_broken]
        if broken:
            reading = min(broken, key=lambda one: min(one.head_broken))
            length = min(reading.head_broken)
            example = Example(reading.text, 0, length, len(reading.text.text))
            yield wording.throws_on_prefix(name, reading.head_broken[length], len(broken), example)

    def _rejects(self, member: int | None, readings: Sequence[Reading]) -> Iterator[Finding]:
        memo = self._memo(member)
        name = self._name(member)
        early = [one for one in readings if one.early_rejects]
        if early:

            def breaks(head: str, whole: str) -> bool:
                return isinstance(memo(head, complete=False), Refused) and memo.settled(whole) is not None

            pairs = []
            for reading in sorted(early, key=lambda one: one.early_rejects[0])[:_SHORTEST]:
                head = reading.early_rejects[0]
                text = reading.text.text
                whole = next((end for end in range(head, len(text) + 1) if breaks(text[:head], text[:end])), None)
                if whole is not None:
                    pairs.append((reading.text, (head, whole)))
            yield wording.early_reject(name, shortest(shorten(text, pair, breaks) for text, pair in pairs))
        late = [(length, one) for one in readings for length in one.late_rejects]
        if late:
            out = max(max(one.out[: length + 1]) for length, one in late)
            length, reading = min(late, key=lambda one: one[0])
            yield wording.late_reject(name, out, Example(reading.text, 0, length, length))

    # -- what else it may depend on ------------------------------------------------------------------------------------

    def _steady(self, member: int) -> Iterator[Finding]:
        readings = self._read(member)
        self._meter.begin(self._budget_s)
        found = unsteady(self._judge(member), readings, self._meter, self._reached[member].namespaces, self._seed)
        if found is not None:
            yield wording.unsteady(self._members[member].name, found)

    # -- scanners ------------------------------------------------------------------------------------------------------

    def _scans(self, member: int | None) -> bool:
        return self._opener(member) is not None

    def _opener(self, member: int | None) -> OpenScanner | None:
        return self._deps.scanners() if member is None else self._members[member].open_scanner

    def _scanner(self, stage: Stage) -> Iterator[Finding]:
        member = stage.member
        opener = self._opener(member)
        if opener is None:
            return
        name = self._name(member)
        readings = self._read(member)
        self._meter.begin(self._budget_s)
        scanning = Scanning(opener, self._meter)
        examples: list[Example] = []
        threw: list[tuple[ScanThrew, Text]] = []
        most: Case | None = None
        memo = self._memo(member)
        done = 0
        for reading in readings:
            self._meter.at_text(reading.index)
            found = scanning.read(reading, self._cuts(reading))
            done += 1
            if found.threw is not None:
                threw.append((found.threw, reading.text))
            if found.broke is not None:
                pair = (found.broke.head, found.broke.whole)
                examples.append(self._scanner_example(scanning, memo, reading.text, pair))
                if len(examples) >= _SHORTEST:
                    break
            if most is None or found.held > most.need:
                most = Case(reading.text, found.held_at, found.held_at, found.held)
            if self._meter.out_of_time:
                break
        if self._meter.out_of_time and done < len(readings):
            yield wording.incomplete(name, done, len(self._texts))
        if threw:
            thrown, text = min(threw, key=lambda one: one[0].length)
            yield wording.scanner_throws(name, thrown.error, Example(text, 0, thrown.length, len(text.text)))
        example = shortest(examples)
        if example is not None:
            yield wording.scanner(name, example)
        elif most is not None and most.need and member is not None and member not in self._careful:
            held = grow(most, lambda head, _: scanning.held(head))
            if held.need >= UNBOUNDED:
                yield wording.holds_back(name, Example(most.text, 0, most.head, most.head))

    def _scanner_example(self, scanning: Scanning, memo: Memo, text: Text, pair: tuple[int, int]) -> Example:
        """Return the shortest way to show it in two pieces, or character by character, or else as it was found."""
        ways: tuple[Callable[[str, str], bool], ...] = (
            lambda head, whole: scanning.breaks(memo, head, whole),
            lambda _, whole: scanning.breaks_singly(memo, whole),
        )
        for breaks in ways:
            if breaks(text.text[: pair[0]], text.text[: pair[1]]):
                return shorten(text, pair, breaks)
        return Example(text, 0, *pair)


def _suggested(reached: Sequence[Reached], seed: int) -> list[str]:
    """Return the texts that the members' code suggests: what their patterns match, what they name, and mixtures."""
    found: list[list[str]] = []
    for one in reached:
        texts = [text for pattern, flags in one.patterns for text in made.samples(pattern, flags)]
        found.append(list(dict.fromkeys([*texts[:_MOST_SAMPLES], *list(one.words)[:_MOST_WORDS]])))
    alone = list(dict.fromkeys(made.texts_around(text for texts in found for text in texts)))
    if len(found) == 1:
        return alone
    return list(dict.fromkeys((*alone, *made.texts_between(found, _MOST_MIXED, seed))))
