"""What reaches the turns of one partition: records from topics, and news about their turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from streams.gate.events import Event
from topics.ids import TurnKey
from topics.names import Topic


@dataclass(frozen=True, slots=True)
class Source:
    """One record read from `topic`, as it was on the wire. Calling `ack` lets its offset be committed."""

    topic: Topic
    partition: int
    offset: int
    value: bytes | None
    ack: Callable[[], object] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class News:
    """Something happened to a turn that no record told: a chain ran, effects were published, time passed."""

    turn: TurnKey
    event: Event


Input: TypeAlias = Source | News
