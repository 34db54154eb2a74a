"""The frames that every contender is fed: the same keys and the same bytes, each of 89 bytes as it is on the wire.

89 bytes is the whole value of the record, JSON and ids included: 20 or so characters of text, about what a model server
that puts a few tokens into a frame writes. `tenant`, `step` and `attempt` are left out, which means their defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.gate_texts import prose
from topics.ids import TurnKey

FRAME_BYTES = 89
PARTITIONS = 4
_PROSE_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Frame:
    """One record: its value and key as they are on the wire, its partition among `partitions`, and what it says."""

    turn: TurnKey
    seq: int
    text: str
    value: bytes
    partitions: int = PARTITIONS

    @property
    def key(self) -> bytes:
        """The record's key."""
        return self.turn.thread.encode()

    @property
    def partition(self) -> int:
        """The record's partition."""
        return self.turn.thread.partition(self.partitions)


def turns(count: int) -> list[TurnKey]:
    """Return turns, each in a thread of its own."""
    return [TurnKey("default", f"t-{number:03d}", f"u-{number:03d}") for number in range(count)]


def interleaved(count: int, frames: int, words: str | None = None) -> Iterator[Frame]:
    """Yield `frames` frames of each of `count` turns, as they come when many models write at once.

    The last frame of each ends its turn. Each text ends in a space. `words` is what turns say, from different places on:
    by default prose that many patterns begin in and none matches.
    """
    yield from of_turns(turns(count), frames, words)


def of_turns(
    keys: Sequence[TurnKey], frames: int, words: str | None = None, partitions: int = PARTITIONS
) -> Iterator[Frame]:
    """Yield what `interleaved` does, of these turns on so many partitions."""
    words = prose(_PROSE_CHARS) if words is None else words
    place = dict.fromkeys(range(len(keys)), 0)
    for seq in range(frames):
        for number, turn in enumerate(keys):
            start = (place[number] + 7 * number) % (len(words) - FRAME_BYTES)
            frame = frame_of(turn, seq, words[start:], last=seq == frames - 1, partitions=partitions)
            place[number] += len(frame.text)
            yield frame


def steady(slots: int, frames: int, each: int, words: str) -> Iterator[Frame]:
    """Yield `frames` frames of as many turns at a time as there are `slots`, of `each` frames every turn.

    Where a turn ends another one begins. The first ones are shorter, each by another length: turns end one by one, as they
    do where people ask when they like, and not all at once. Words are those of `interleaved`.
    """
    every = iter(turns(2 * slots + frames // each))
    speaking = [next(every) for _ in range(slots)]
    left = [1 + slot % each for slot in range(slots)]
    seqs, place = [0] * slots, [7 * slot for slot in range(slots)]
    for number in range(frames):
        slot = number % slots
        left[slot] -= 1
        start = place[slot] % (len(words) - FRAME_BYTES)
        frame = frame_of(speaking[slot], seqs[slot], words[start:], last=not left[slot])
        yield frame
        place[slot] += len(frame.text)
        seqs[slot] += 1
        if not left[slot]:
            speaking[slot], left[slot], seqs[slot] = next(every), each, 0


def frame_of(turn: TurnKey, seq: int, words: str, *, last: bool = False, partitions: int = PARTITIONS) -> Frame:
    """Return a frame of 89 bytes with as much of `words` as fits in; its last character is a space."""
    head = f'{{"v":1,"thread_id":"{turn.thread_id}","turn_id":"{turn.turn_id}","seq":{seq},"text":"'
    tail = '","finish_reason":"stop"}' if last else '"}'
    text = words[: FRAME_BYTES - len(head) - len(tail) - 1] + " "
    return Frame(turn, seq, text, f"{head}{text}{tail}".encode(), partitions)
