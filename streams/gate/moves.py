"""Released text as the journal spells it: where it is what was journaled already, it says from where, and not what.

Redactors leave nearly all of an answer as it is. Spelt out, each character of it would be in the journal as it arrived, as
it was released, and as the thread remembers it. So a release is written as moves: `[start, length]` is a piece of the
buffer, in code points, and a text is what the chain put in its place. What moves say is exactly the release, whichever way
they were found: they are found by looking, and are not used where looking finds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from streams.gate import entries
from streams.gate.records import JournalRecord
from streams.gate.rope import Rope
from streams.gate.state import Turn
from topics.trusted import like

Move: TypeAlias = entries.Move

#: A piece of fewer code points is spelt out: to say where it is takes as much.
_SHORTEST = 12
#: How far apart places are where a piece may begin, and how many may be in vain: chains that change everything are not
#: worth more.
_STRIDE = 4
_IN_VAIN = 16
#: After so many releases in a row without a piece, of one attempt, nobody looks for any.
_TRIES = 8
#: How much of the buffer is looked through, beside some of the text's own length, where nothing says where to begin.
_AROUND = 2_048


def moves_of(release: str, buffer: Rope, hint: int) -> tuple[tuple[Move, ...], int]:
    """Return how to spell `release` with pieces of `buffer`, and where the last of them ends; no moves if none is long.

    `hint` is where the last piece of the release before ended. It need not be true: only the latest text is looked through,
    so that a long answer that says the same again and again costs no more.
    """
    earliest = max(0, len(buffer) - 4 * len(release) - _AROUND)
    for base in (max(hint, earliest), earliest):
        following = buffer.tail(base)
        if following.startswith(release):
            return ((base, len(release)),), base + len(release)
        moves, end = _found(release, following)
        if end is not None:
            return tuple(move if isinstance(move, str) else (base + move[0], move[1]) for move in moves), base + end
    return (), hint


def _found(release: str, source: str) -> tuple[list[Move], int | None]:
    """Return moves out of `source`, with where the last piece in it ends: None if there is none."""
    moves: list[Move] = []
    done = at = look = vain = 0
    end: int | None = None
    while look + _SHORTEST <= len(release) and vain < _IN_VAIN:
        start = source.find(release[look : look + _SHORTEST], at)
        if start < 0:
            look += _STRIDE
            vain += 1
            continue
        back = 0
        while look - back > done and start - back > at and release[look - back - 1] == source[start - back - 1]:
            back += 1
        length = back + _alike(release, look, source, start)
        if look - back > done:
            moves.append(release[done : look - back])
        moves.append((start - back, length))
        done = look = look - back + length
        at = end = start - back + length
        vain = 0
    if end is not None and done < len(release):
        moves.append(release[done:])
    return moves, end


def _alike(one: str, at: int, other: str, there: int) -> int:
    """Return how many characters of both are the same from these places on."""
    most = min(len(one) - at, len(other) - there)
    same, step = 0, _SHORTEST
    while same < most:
        size = min(step, most - same)
        if one[at + same : at + same + size] == other[there + same : there + same + size]:
            same += size
            step *= 2
        elif size == 1:
            break
        else:
            step = max(1, size // 2)
            most = same + size
    return same


def text_of(moves: Sequence[Move], buffer: Rope) -> str:
    """Return the text that `moves` spell.

    Raises:
        ValueError: a piece is not in the buffer.
    """
    found: list[str] = []
    for move in moves:
        if isinstance(move, str):
            found.append(move)
            continue
        start, length = move
        if not 0 <= start <= start + length <= len(buffer):
            raise ValueError("a record releases a piece of the answer that is not there")
        found.append(buffer.tail(start)[:length])
    return "".join(found)


class Spelling:
    """Finds the moves of one turn's releases, in the order of its records."""

    def __init__(self) -> None:
        self._attempt: tuple[int, int] = (0, 0)
        self._hint = 0
        self._in_vain = 0

    def spelt(self, before: Turn, record: JournalRecord) -> JournalRecord:
        """Return `record`, which follows the state `before`, with the moves that spell its release, if there are some."""
        release = _release(record.entry)
        if len(release) < _SHORTEST:
            return record
        if self._attempt != (before.step, before.attempt):
            self._attempt, self._hint, self._in_vain = (before.step, before.attempt), 0, 0
        if self._in_vain == _TRIES:
            return record
        moves, self._hint = moves_of(release, _buffer(before, record.entry), self._hint)
        self._in_vain = 0 if moves else self._in_vain + 1
        return record.spelt(moves) if moves else record


def resolved(before: Turn, record: JournalRecord) -> JournalRecord:
    """Return a record that was read from the journal with its release as a text.

    Raises:
        ValueError: it has moves out of something that is not there.
    """
    entry = record.entry
    if isinstance(entry, entries.Llm) and entry.moves:
        text = text_of(entry.moves, _buffer(before, entry))
        return JournalRecord(record.n, record.at, record.confirmed, like(entry, release=text, moves=()))
    if isinstance(entry, entries.OutputProcessed) and entry.moves:
        text = text_of(entry.moves, _buffer(before, entry))
        return JournalRecord(record.n, record.at, record.confirmed, like(entry, tail=text, moves=()))
    return record


def _release(entry: entries.AnyEntry) -> str:
    if isinstance(entry, entries.Llm):
        return entry.release
    return entry.tail if isinstance(entry, entries.OutputProcessed) else ""


def _buffer(before: Turn, entry: entries.AnyEntry) -> Rope:
    """Return what is buffered once the entry's own text is."""
    text = before.answer.text
    return text.append(entry.text) if isinstance(entry, entries.Llm) else text
