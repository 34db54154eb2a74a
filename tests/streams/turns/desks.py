"""Help for tests of the desk: sources, plans in words, and time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.gate import events
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.journal.writer import Row
from streams.sources import Source
from streams.turns.desk import Desk
from streams.turns.desk_settings import DeskSettings
from streams.turns.inputs import Input, News
from streams.turns.meter import UsageMeter
from streams.turns.plan import Plan
from streams.turns.threads import Trim
from topics import codec, names
from topics.ids import ThreadKey, TurnKey
from topics.names import Topic
from topics.records import ModelFrame, Record

NOW = 1_800_000_000.0
PARTITIONS = 4
PARTITION = ThreadKey("default", "h").partition(PARTITIONS)


def key(turn_id: str = "t", thread_id: str = "h") -> TurnKey:
    """Return the key of a turn."""
    return TurnKey("default", thread_id, turn_id)


def source(
    record: Record | bytes | None,
    offset: int = 0,
    topic: Topic = names.REQUESTS,
    partition: int = PARTITION,
    written_at: float | None = None,
) -> Source:
    """Return a source record."""
    value = codec.encode(record) if isinstance(record, Record) else record
    return Source(topic, partition, offset, value, lambda: None, written_at)


def frame(seq: int | None, turn_id: str = "t", thread_id: str = "h", **fields: Any) -> ModelFrame:
    """Return a frame of a turn's answer."""
    return ModelFrame.model_validate({"turn_id": turn_id, "thread_id": thread_id, "seq": seq, **fields})


def frame_source(seq: int | None, turn_id: str = "t", **fields: Any) -> Source:
    """Return a source record with a frame."""
    return source(frame(seq, turn_id, **fields), topic=names.FRAMES)


def a_desk(policy: Policy | None = None, meter: UsageMeter | None = None, **settings: Any) -> Desk:
    """Return the desk of the partition that thread `h` belongs to."""
    return Desk(PARTITION, policy or Policy(), DeskSettings(partitions=PARTITIONS, **settings), meter=meter)


def checkpoints(plan: Plan) -> list[tuple[str, str]]:
    """Return a plan's journal as (turn id, checkpoint)."""
    return [(turn.turn_id, record.entry.checkpoint) for turn, record in plan.journal]


def published(plan: Plan) -> list[str]:
    """Return what a plan publishes: topics, or for released frames their kinds."""
    return [getattr(effect.record, "kind", effect.topic.name) for out in plan.outgoing for effect in out.effects]


def entries_of(plan: Plan, turn_id: str = "t") -> list[Any]:
    """Return the entries of one turn."""
    return [record.entry for turn, record in plan.journal if turn.turn_id == turn_id]


def confirm(desk: Desk, plan: Plan, offset: int = 100) -> list[Input]:
    """Confirm everything that a plan publishes, as the publisher does; return the news of it."""
    news: list[Input] = []
    for out in plan.outgoing:
        desk.confirmed(out.turn, out.n)
        if any(effect.terminal for effect in out.effects):
            news.append(News(out.turn, events.Published(out.n, offset)))
    return news


class Journal:
    """Collects the records of plans, so that a desk can be restored from any prefix of them."""

    def __init__(self) -> None:
        self.records: list[tuple[TurnKey, JournalRecord]] = []
        #: What threads remember, and what of it can go.
        self.rows: list[Row] = []
        self.trims: list[Trim] = []

    def note(self, plan: Plan) -> Plan:
        """Note a plan's records, and return it."""
        self.records += plan.journal
        self.rows += plan.remember
        self.trims += plan.trims
        return plan

    def by_turn(self, count: int | None = None) -> Mapping[TurnKey, list[JournalRecord]]:
        """Return the first `count` records (all by default), by turn."""
        found: dict[TurnKey, list[JournalRecord]] = {}
        for turn, record in self.records[:count]:
            found.setdefault(turn, []).append(JournalRecord.decode(record.n, record.encode()))
        return found
