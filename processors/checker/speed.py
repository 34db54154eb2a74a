"""How the time of one call grows with the text, on the texts that are hardest for patterns: repetitions that lead nowhere.

Measured in this process's processor time, so that a busy machine does not matter, and confirmed before it is reported. A
pattern without end is reported while it is still short; what slips through is for the watcher to end.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

_SIZES = (8, 12, 16, 20, 24, 28, 32, 40, 64, 128, 256, 512, 1_024, 4_096)
#: Less is not worth a word, in seconds of processor time.
_NOTABLE_S = 0.003
_EXPONENTIAL = 4.0
_POLYNOMIAL = 1.5
_MOST = 300
#: After so many notable ones the worst of them will do.
_ENOUGH = 20
#: What no pattern can make a match of, as a rule.
DEAD_ENDS = ("\x00", "\n!")
_UNITS = (
    *"ax0A _-.,:;/\\@#*+=<>()[]{}\"'|&%\n\t",
    *("a ", "a.", "a@", "a-", "0 ", "0-", "0.", "aA1", "\r\n", "<a", "</", "://", "--", "()", "a=", "\u00e9", "\u5bc6"),
)

#: The length of answer for which the time is foretold, in code points.
LONG_ANSWER = 100_000


@dataclass(frozen=True, slots=True)
class Slow:
    """The time grows as a power of the length, `exponent`; on `text` a call took `seconds`.

    `foretold_s` is what a long answer of the same sort would take, None where the growth is beyond any power.
    """

    text: str
    seconds: float
    exponent: float
    foretold_s: float | None


def slowest(
    call: Callable[[str], object],
    samples: Iterable[str],
    *,
    seed: int,
    limit_s: float,
    give_up: Callable[[], bool],
    most: int = _MOST,
    dead_ends: Sequence[str] = DEAD_ENDS,
) -> Slow | None:
    """Return the first repetition on which a long answer would take `call` more than `limit_s`, or else the worst.

    Only such count on which it is slower than their length explains. At most `most` repetitions of pieces of `samples` are
    tried, each before one of `dead_ends`.
    """
    tries = _ENOUGH
    worst: Slow | None = None
    for before, unit, after in _pumps(samples, dead_ends, seed, most):
        found = _measure(call, before, unit, after)
        if found is not None and (found.foretold_s is None or found.foretold_s > limit_s):
            return found
        tries -= found is not None
        if found is not None and (worst is None or (found.foretold_s or 0) > (worst.foretold_s or 0)):
            worst = found
        if give_up() or not tries:
            break
    return worst


def _measure(call: Callable[[str], object], before: str, unit: str, after: str) -> Slow | None:
    def text_of(size: int) -> str:
        return before + unit * max(1, size // len(unit)) + after

    last_size, last_s = 0, 0.0
    for size in _SIZES:
        seconds = _time(call, text_of(size))
        if seconds > _NOTABLE_S and last_size:
            floor = _EXPONENTIAL if size < _SIZES[-1] else _POLYNOMIAL
            if _exponent(last_size, last_s, size, seconds) > floor:
                last_s = min(last_s, *(_time(call, text_of(last_size)) for _ in range(2)))
                seconds = min(seconds, *(_time(call, text_of(size)) for _ in range(2)))
                exponent = _exponent(last_size, last_s, size, seconds)
                if exponent > floor:
                    foretold = None if exponent > _EXPONENTIAL else seconds * (LONG_ANSWER / size) ** exponent
                    return Slow(text_of(size), seconds, exponent, foretold)
        last_size, last_s = size, seconds
    return None


def _exponent(size: int, seconds: float, larger: int, more: float) -> float:
    return math.log(more / max(seconds, 1e-7)) / math.log(larger / size)


def _time(call: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    call(text)
    return time.process_time() - began


def _pumps(samples: Iterable[str], dead_ends: Sequence[str], seed: int, most: int) -> list[tuple[str, str, str]]:
    """Return what stands before a repeated unit, the unit, and what stands behind: from general to particular."""
    general = [("", unit, dead_end) for unit in _UNITS for dead_end in dead_ends]
    particular = dict.fromkeys(
        (sample[:place], sample[place : place + size], dead_end)
        for sample in samples
        for place in range(len(sample))
        for size in (1, 2)
        for dead_end in dead_ends
    )
    chosen = list(particular)
    if len(chosen) > most:
        chosen = random.Random(seed).sample(chosen, most)  # noqa: S311 - the same each time
    return general + chosen
