"""What is found by scanning: scanners that contradict their processor, throw, or hold back without end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from processors.checker import wording
from processors.checker.findings import Example, Finding
from processors.checker.grow import UNBOUNDED, Case, grow
from processors.checker.judge import Memo
from processors.checker.scanning import Scanning, ScanThrew
from processors.checker.shorten import shorten, shortest
from processors.checker.subject import Subject
from processors.checker.texts import Text

_SHORTEST = 8


def check_scanner(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the scanner of a member, or with the scanners of a chain in a row."""
    opener = subject.opener
    if opener is None:
        return
    readings = subject.readings()
    scanning = Scanning(opener, subject.meter)
    memo = subject.memo()
    examples: list[Example] = []
    threw: list[tuple[ScanThrew, Text]] = []
    most: Case | None = None
    for done, reading in enumerate(readings, start=1):
        subject.meter.at_text(reading.index)
        found = scanning.read(reading, subject.cuts(reading))
        if found.threw is not None:
            threw.append((found.threw, reading.text))
        if found.broke is not None:
            examples.append(_example(scanning, memo, reading.text, (found.broke.head, found.broke.whole)))
        if most is None or found.held > most.need:
            most = Case(reading.text, found.held_at, found.held_at, found.held)
        if len(examples) >= _SHORTEST:
            break
        if subject.meter.out_of_time:
            yield wording.incomplete(subject.name, done)
            break
    if threw:
        thrown, text = min(threw, key=lambda one: one[0].length)
        yield wording.scanner_throws(subject.name, thrown.error, Example(text, 0, thrown.length, len(text.text)))
    example = shortest(examples)
    if example is not None:
        yield wording.scanner(subject.name, example)
    elif subject.name is not None and most is not None and most.need and not subject.careful:
        held = grow(most, lambda head, _: scanning.held(head))
        if held.need >= UNBOUNDED:
            yield wording.holds_back(subject.name, Example(most.text, 0, most.head, most.head))


def _example(scanning: Scanning, memo: Memo, text: Text, pair: tuple[int, int]) -> Example:
    """Return the shortest way to show it in two pieces, or character by character, or else as it was found."""
    ways: tuple[Callable[[str, str], bool], ...] = (
        lambda head, whole: scanning.breaks(memo, head, whole),
        lambda _, whole: scanning.breaks_singly(memo, whole),
    )
    for breaks in ways:
        if breaks(text.text[: pair[0]], text.text[: pair[1]]):
            return _told(scanning, memo, shorten(text, pair, breaks), singly=breaks is ways[1])
    return Example(text, 0, *pair)


def _told(scanning: Scanning, memo: Memo, example: Example, *, singly: bool) -> Example:
    """Return an example with what the scanner says of it, and what the processor makes of it."""
    whole = example.head + example.tail
    said = "".join(scanning.run(whole if singly else (example.head, example.tail)))
    return replace(example, released=said, settled=memo.settled(whole))
