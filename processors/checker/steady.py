"""Whether a chain's verdict depends on the text and on nothing else.

Everything that was judged once is judged again, in another order, after other texts, for other turns; then with a clock that
stands elsewhere, and as if in another process. Where a verdict differs, what it depends on is found out by changing one
thing at a time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from processors.checker.clock import clock_at
from processors.checker.elsewhere import process_like
from processors.checker.judge import PLAIN, Judge, Meter, Said, said
from processors.checker.texts import Text
from processors.checker.window import Reading
from processors.contracts import TurnContext
from topics.content import User

#: What a verdict depends on besides the text.
Cause: TypeAlias = Literal["clock", "chance", "ids", "context", "history", "process"]

#: The same call is made so often, or for so long.
_REPEATS = 300
_PATIENCE_S = 1.0
_VARIANTS = 8
#: Of each text, at most so many prefixes are judged again.
_MOST_PREFIXES = 200
_HOUR_S = 3_600
#: Another hour of the day, another day of the week, another time of the year.
_SHIFTS_S = (7 * _HOUR_S, 13 * _HOUR_S, 73 * _HOUR_S, 200 * 24 * _HOUR_S)
#: Moments close to each other, in seconds and in number: for what looks at fractions of a second.
_MOMENT_S = 0.0137
_MOMENTS = 64
_PROCESSES = 3
#: Fields that are new for each turn or attempt: nobody can mean a verdict to depend on them.
_IDS = ("turn_id", "thread_id", "attempt")


@dataclass(frozen=True, slots=True)
class Unsteady:
    """The verdict on the first `length` code points of `text` depends on `causes`; `fields` are those of the context."""

    text: Text
    length: int
    causes: tuple[Cause, ...]
    fields: tuple[str, ...] = ()


def unsteady(
    judge: Judge, readings: Sequence[Reading], meter: Meter, namespaces: Sequence[dict[str, Any]], seed: int
) -> Unsteady | None:
    """Return what the verdicts of a chain depend on besides the text, for the shortest prefix where that shows."""
    rng = random.Random(seed)  # noqa: S311 - the same cases each time
    found: list[tuple[int, Reading, bool, TurnContext]] = []
    for reading in reversed(readings):
        meter.at_text(reading.index)
        context = _another(rng)
        for length, complete in _prefixes(reading, rng):
            outcome = judge(reading.text.text[:length], complete=complete, context=context)
            if hash(said(outcome)) != (reading.wholes if complete else reading.heads)[length]:
                found.append((length, reading, complete, context))
                break
        if meter.out_of_time:
            break
    if found:
        found = [one for one in found if one[0]] or found
        length, reading, complete, context = min(found, key=lambda one: one[0])
        return _diagnose(judge, reading.text, length, namespaces, complete=complete, seen=context)
    return _by_clock(judge, readings, meter, namespaces) or _by_process(judge, readings, meter, namespaces)


def _prefixes(reading: Reading, rng: random.Random) -> Iterator[tuple[int, bool]]:
    lengths = list(range(len(reading.text.text) + 1))
    if len(lengths) > _MOST_PREFIXES:
        lengths = sorted(rng.sample(lengths, _MOST_PREFIXES))
    yield from ((length, True) for length in lengths)
    yield from ((length, False) for length in reversed(lengths))


def _by_clock(
    judge: Judge, readings: Sequence[Reading], meter: Meter, namespaces: Sequence[dict[str, Any]]
) -> Unsteady | None:
    now = time.time()
    for shift in _SHIFTS_S:
        with clock_at(now + shift, namespaces):
            for reading in readings:
                meter.at_text(reading.index)
                length = len(reading.text.text)
                if hash(said(judge(reading.text.text, complete=True))) != reading.wholes[length]:
                    return Unsteady(reading.text, length, ("clock",))
                if meter.out_of_time:
                    return None
    return None


def _by_process(
    judge: Judge, readings: Sequence[Reading], meter: Meter, namespaces: Sequence[dict[str, Any]]
) -> Unsteady | None:
    for number in range(1, _PROCESSES + 1):
        with process_like(number, namespaces):
            for reading in readings:
                meter.at_text(reading.index)
                for length in range(len(reading.text.text) + 1):
                    if hash(said(judge(reading.text.text[:length], complete=True))) != reading.wholes[length]:
                        return Unsteady(reading.text, length, ("process",))
                if meter.out_of_time:
                    return None
    return None


def _diagnose(
    judge: Judge,
    text: Text,
    length: int,
    namespaces: Sequence[dict[str, Any]],
    *,
    complete: bool,
    seen: TurnContext,
) -> Unsteady:
    """Return what a verdict depends on that was another one with the context `seen`."""

    def verdict(context: TurnContext) -> Said:
        return said(judge(text.text[:length], complete=complete, context=context))

    if _varies(verdict):
        return Unsteady(text, length, ("clock",) if _follows_the_clock(verdict, namespaces) else ("chance",))
    fields = tuple(name for name, contexts in _one_by_one(seen).items() if _differs(verdict, contexts))
    if not fields:
        return Unsteady(text, length, ("history",))
    causes: list[Cause] = []
    if any(name in _IDS for name in fields):
        causes.append("ids")
    if any(name not in _IDS for name in fields):
        causes.append("context")
    return Unsteady(text, length, tuple(causes), fields)


def _varies(verdict: Callable[[TurnContext], Said]) -> bool:
    """Tell whether the same call gives different verdicts."""
    began = time.monotonic()
    first = verdict(PLAIN)
    for _ in range(_REPEATS):
        if verdict(PLAIN) != first:
            return True
        if time.monotonic() - began > _PATIENCE_S:
            break
    return False


def _follows_the_clock(verdict: Callable[[TurnContext], Said], namespaces: Sequence[dict[str, Any]]) -> bool:
    """Tell whether different moments give different verdicts, and each of them the same one again."""
    now = time.time()
    moments = [now + number * _MOMENT_S for number in range(_MOMENTS)] + [now + shift for shift in _SHIFTS_S]

    def verdicts() -> list[Said]:
        found: list[Said] = []
        for moment in moments:
            with clock_at(moment, namespaces):
                found.append(verdict(PLAIN))
        return found

    first = verdicts()
    return len(set(first)) > 1 and first == verdicts()


def _differs(verdict: Callable[[TurnContext], Said], contexts: Sequence[TurnContext]) -> bool:
    """Tell whether contexts give different verdicts, and each of them the same one again."""
    first = [verdict(context) for context in contexts]
    again = [verdict(context) for context in reversed(contexts)]
    return len(set(first)) > 1 and first == again[::-1]


def _one_by_one(seen: TurnContext) -> dict[str, list[TurnContext]]:
    """Return, for each field of the context, contexts that differ in it alone: among them one with that of `seen`."""
    rng = random.Random(0)  # noqa: S311 - the same each time
    varied: dict[str, list[TurnContext]] = {}
    for other in (seen, *(_another(rng) for _ in range(_VARIANTS))):
        for name in _FIELDS:
            varied.setdefault(name, [PLAIN]).append(replace(PLAIN, **{name: getattr(other, name)}))
    return varied


_FIELDS = (
    *_IDS,
    "tenant",
    "agent",
    "channel",
    "user",
    "step",
    "attributes",
    "metadata",
)


def _another(rng: random.Random) -> TurnContext:
    """Return the context of a turn that is not like the plain one in anything."""

    def word() -> str:
        return f"{rng.getrandbits(32):08x}"

    return TurnContext(
        tenant=word(),
        thread_id=word(),
        turn_id=word(),
        agent=word(),
        channel=rng.choice(("voice", "phone", word())),
        user=User(id=word()),
        step=rng.randrange(1, 9),
        attempt=rng.randrange(1, 9),
        attributes={"key": word()},
        metadata={"key": word()},
    )
