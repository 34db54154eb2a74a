"""What is found by judging prefixes: windows that are too small, verdicts that change, exceptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from processors.checker import wording
from processors.checker.findings import Example, Finding, Measure
from processors.checker.grow import UNBOUNDED, Case, grow
from processors.checker.shorten import shorten, shortest
from processors.checker.subject import Subject
from processors.checker.texts import Text
from processors.checker.window import Reading, first_leak, leak, leaks_by_frames, need_of, worst_pair
from processors.outcomes import Broken, Refused

#: So many of the texts that need the widest windows are made to grow, and so many of the shortest leaks made shorter.
_WORST = 6
_SHORTEST = 8


def check_prefixes(subject: Subject) -> Iterator[Finding | Measure]:
    """Yield the windows of a member or chain, and whatever is wrong with its verdicts on prefixes and wholes."""
    readings = subject.readings()
    declared = subject.declared
    if subject.short_of_time:
        yield wording.incomplete(subject.name, len(readings))
    yield from _throws(subject, readings)
    if declared is not None:
        yield from _rejects(subject, readings)
    worst = _worst(subject, readings)
    need = worst.need if worst is not None else 0
    unbounded = need >= UNBOUNDED
    smallest = None if unbounded else need
    yield Measure(subject.name, declared, smallest, unbounded, scans=subject.opener is not None)
    if declared is None:
        return
    if worst is not None and (unbounded or need > declared):
        example = _shortest_leak(subject, readings, worst, declared)
        yield wording.window(subject.name, need, declared, example, unbounded=unbounded, total=subject.total)
    else:
        yield from _frames(subject, readings, declared)


def _worst(subject: Subject, readings: Sequence[Reading]) -> Case | None:
    """Return the split that needs the widest window, of the texts and of what they can be made to grow into."""
    memo, judge = subject.memo(), subject.judge()
    needy = sorted((one for one in readings if one.need), key=lambda one: -one.need)
    worst: Case | None = None
    for reading in needy[:_WORST]:
        case = Case(reading.text, *worst_pair(memo, reading), reading.need)
        if not subject.careful and not subject.meter.out_of_time:
            subject.meter.at_text(reading.index)
            case = grow(case, lambda head, whole: need_of(judge, head, whole))
        if worst is None or case.need > worst.need:
            worst = case
        if worst.need >= UNBOUNDED:
            break
    return worst


def _shortest_leak(subject: Subject, readings: Sequence[Reading], worst: Case, declared: int) -> Example | None:
    """Return the shortest split that leaks: of the texts as they are, or else of one made to grow as little as it takes."""
    memo = subject.memo()
    found: list[tuple[Text, tuple[int, int]]] = []
    for reading in readings:
        heads = [length for length, need in enumerate(reading.needs) if need > declared]
        pair = first_leak(memo, reading.text.text, heads, declared) if heads else None
        if pair is not None:
            found.append((reading.text, pair))
    if not found:
        reading = next(one for one in readings if one.text.is_origin_of(worst.text))
        case = Case(reading.text, *worst_pair(memo, reading), reading.need)
        grown = grow(case, lambda head, whole: need_of(memo, head, whole), declared + 1)
        found.append((grown.text, (grown.head, grown.whole)))
    found.sort(key=lambda one: (one[1][1], one[1][0]))

    def breaks(head: str, whole: str) -> bool:
        return leak(memo, head, whole, declared) is not None

    example = shortest(shorten(text, pair, breaks) for text, pair in found[:_SHORTEST])
    if example is None:
        return None
    out, settled = leak(memo, example.head, example.head + example.tail, declared) or (None, None)
    return Example(example.text, example.start, example.split, example.end, out, settled)


def _frames(subject: Subject, readings: Sequence[Reading], declared: int) -> Iterator[Finding]:
    """Let every text come character by character and in random pieces: only what is not steady leaks now."""
    judge = subject.judge()
    for reading in readings:
        subject.meter.at_text(reading.index)
        text = reading.text.text
        for cuts in (range(1, len(text) + 1), *subject.cuts(reading)):
            if leaks_by_frames(judge, text, cuts, declared):
                yield wording.frames(subject.name, Example(reading.text, 0, cuts[0] if cuts else 0, len(text)))
                return
        if subject.meter.out_of_time:
            return


def _throws(subject: Subject, readings: Sequence[Reading]) -> Iterator[Finding]:
    memo = subject.memo()
    full = [one for one in readings if len(one.text.text) in one.whole_broken]
    broken = full or [one for one in readings if one.whole_broken]
    if broken:
        reading = min(broken, key=lambda one: len(one.text.text))
        length = max(reading.whole_broken) if full else min(reading.whole_broken)

        def breaks(_: str, whole: str) -> bool:
            return isinstance(memo(whole, complete=True), Broken)

        example = shorten(reading.text, (length, length), breaks)
        error = reading.whole_broken[length]
        yield wording.throws(subject.name, error, len(broken), example, cut_short=not full)
    on_prefix = [one for one in readings if one.head_broken]
    if subject.declared is not None and on_prefix:
        reading = min(on_prefix, key=lambda one: min(one.head_broken))
        length = min(reading.head_broken)
        example = Example(reading.text, 0, length, len(reading.text.text))
        yield wording.throws_on_prefix(subject.name, reading.head_broken[length], len(on_prefix), example)


def _rejects(subject: Subject, readings: Sequence[Reading]) -> Iterator[Finding]:
    memo = subject.memo()

    def breaks(head: str, whole: str) -> bool:
        return isinstance(memo(head, complete=False), Refused) and memo.settled(whole) is not None

    early = sorted((one for one in readings if one.early_rejects), key=lambda one: one.early_rejects[0])
    pairs: list[tuple[Text, tuple[int, int]]] = []
    for reading in early[:_SHORTEST]:
        head, text = reading.early_rejects[0], reading.text.text
        whole = next((end for end in range(head, len(text) + 1) if breaks(text[:head], text[:end])), len(text))
        pairs.append((reading.text, (head, whole)))
    if pairs:
        yield wording.early_reject(subject.name, shortest(shorten(text, pair, breaks) for text, pair in pairs))
    late = [(length, one) for one in readings for length in one.late_rejects]
    if late:
        out = max(max(one.out[: length + 1]) for length, one in late)
        length, reading = min(late, key=lambda one: one[0])
        yield wording.late_reject(subject.name, out, Example(reading.text, 0, length, length))
