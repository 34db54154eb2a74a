"""The promise of prefix passes: how much has to be held back, and the shortest split for which too little is.

Of an answer that is judged prefix by prefix, all that is ever out is the beginning of what the chain made of one prefix, cut
by the gate's rule. So no sequence of frames leaks that two do not, as long as the chain sees the text and nothing else;
`steady` looks into that, and `leaks_by_frames` tries such sequences all the same. An answer may end anywhere, so each
prefix of a text is a whole answer, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from processors.checker.judge import Judge, said
from processors.checker.texts import Text
from processors.outcomes import Approved, Broken, Refused

# The rule itself is the gate's; a second one here would be a second opinion.
from streams.gate.release import releasable


@dataclass(slots=True)
class Reading:
    """What a chain made of text number `index` of all: each list has an entry for each length of a prefix, from 0.

    `base` is what the longest approved whole is settled as, and `common[n]` how many characters of it all wholes of `n`
    or more characters begin with (-1: none of them is approved). `needs[n]` is the window that the prefix pass at `n`
    needs, `out[n]` what it would release with the window in force.
    """

    text: Text
    index: int = 0
    base: str = ""
    common: list[int] = field(default_factory=list)
    wholes: list[int] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    needs: list[int] = field(default_factory=list)
    out: list[int] = field(default_factory=list)
    whole_broken: dict[int, str] = field(default_factory=dict)
    head_broken: dict[int, str] = field(default_factory=dict)
    early_rejects: list[int] = field(default_factory=list)
    late_rejects: list[int] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)

    @property
    def need(self) -> int:
        """The window that all of the text needs."""
        return max(self.needs, default=0)


def read(judge: Judge, text: Text, window: int, index: int = 0) -> Reading:
    """Run a chain on each prefix of a text: as whole answers from the longest, then as prefixes, character by character."""
    reading = Reading(text, index)
    _read_wholes(judge, reading)
    for length in range(len(text.text) + 1):
        outcome = judge(text.text[:length], complete=False)
        reading.heads.append(hash(said(outcome)))
        need = out = 0
        common = reading.common[length]
        if isinstance(outcome, Approved):
            out = len(releasable(outcome.text, "", window) or "")
            if common >= 0:
                need = window_needed(outcome.text, common_length(outcome.text, reading.base[:common]))
            if length in reading.refused:
                reading.late_rejects.append(length)
        elif isinstance(outcome, Broken):
            reading.head_broken[length] = outcome.error
        elif common >= 0:
            reading.early_rejects.append(length)
        reading.needs.append(need)
        reading.out.append(out)
    return reading


def _read_wholes(judge: Judge, reading: Reading) -> None:
    """Fill in what concerns whole answers."""
    text = reading.text.text
    common = -1
    for length in range(len(text), -1, -1):
        outcome = judge(text[:length], complete=True)
        reading.wholes.append(hash(said(outcome)))
        if isinstance(outcome, Approved):
            if common < 0:
                reading.base, common = outcome.text, len(outcome.text)
            else:
                common = common_length(reading.base[:common], outcome.text)
        elif isinstance(outcome, Refused):
            reading.refused.add(length)
        else:
            reading.whole_broken[length] = outcome.error
        reading.common.append(common)
    reading.common.reverse()
    reading.wholes.reverse()


def common_length(one: str, other: str) -> int:
    """Return how many characters two texts begin with in common."""
    if one.startswith(other):
        return len(other)
    if other.startswith(one):
        return len(one)
    # By halves: comparing slices is far quicker than comparing characters.
    agreed, beyond = 0, min(len(one), len(other))
    while agreed < beyond:
        middle = (agreed + beyond + 1) // 2
        if one.startswith(other[agreed:middle], agreed):
            agreed = middle
        else:
            beyond = middle - 1
    return agreed


def window_needed(output: str, agreed: int) -> int:
    """Return the smallest window with which the gate lets out no more of `output` than its first `agreed` characters."""
    window = len(output) - agreed
    while window > 0 and len(releasable(output, "", window - 1) or "") <= agreed:
        window -= 1
    return window


def need_of(judge: Judge, head: str, whole: str) -> int:
    """Return the window that the split of `whole` behind `head` needs."""
    before = judge(head, complete=False)
    settled = judge.settled(whole)
    if settled is None or not isinstance(before, Approved):
        return 0
    return window_needed(before.text, common_length(before.text, settled))


def leak(judge: Judge, head: str, whole: str, window: int) -> tuple[str, str] | None:
    """Return what is out after `head` and what `whole` is settled as, if the one is not the beginning of the other."""
    before = judge(head, complete=False)
    settled = judge.settled(whole)
    if settled is None or not isinstance(before, Approved):
        return None
    out = releasable(before.text, "", window) or ""
    return None if settled.startswith(out) else (out, settled)


def leaks_by_frames(judge: Judge, text: str, cuts: Sequence[int], window: int) -> bool:
    """Let the answer come in frames that end at `cuts`, and tell whether what is out then contradicts the settled text."""
    released = ""
    for cut in cuts:
        outcome = judge(text[:cut], complete=False)
        if isinstance(outcome, Refused):
            return False
        if isinstance(outcome, Approved):
            released += releasable(outcome.text, released, window) or ""
    settled = judge.settled(text)
    return settled is not None and not settled.startswith(released)


def worst_pair(judge: Judge, reading: Reading) -> tuple[int, int]:
    """Return the split that needs the widest window: the length of the head, and that of the shortest such whole."""
    head = reading.needs.index(reading.need)
    text = reading.text.text
    for whole in range(head, len(text) + 1):
        if need_of(judge, text[:head], text[:whole]) >= reading.need:
            return head, whole
    return head, len(text)


def first_leak(judge: Judge, text: str, heads: Sequence[int], window: int) -> tuple[int, int] | None:
    """Return the split that leaks with the shortest whole, its head one of `heads` (ascending): both lengths."""
    found: tuple[int, int] | None = None
    for head in heads:
        last = len(text) if found is None else found[1] - 1
        if head > last:
            break
        for whole in range(head, last + 1):
            if leak(judge, text[:head], text[:whole], window) is not None:
                found = head, whole
                break
    return found
