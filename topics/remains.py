"""What is still on the topics of somebody whose threads were erased, and until when at the latest: pure, no broker.

Workers tombstone what is in journals. Everything else is on topics that delete by age, and goes with its segment: a segment
holds records of up to `segment.ms`, is deleted `retention.ms` after its newest one, and the broker looks every few minutes.
In a journal the old values go when the cleaner has run over them: at the latest `max.compaction.lag.ms` after the tombstone
was written, if that is set, and at once if an operator forces it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, get_args

from topics import names
from topics.layout import wanted_layout
from topics.names import JournalRole, Names, Topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from topics.layout import TopicState

#: How long a broker may take to look and to delete what is due (`log.retention.check.interval.ms`, `file.delete.delay.ms`).
SLACK_S: Final = 900
_FOREVER_MS: Final = 2**62

#: What each topic may hold of a person. Those that say nothing of turns are left out.
HOLDS: Final[Mapping[Topic, str]] = {
    names.REQUESTS: "ids, messages, what was said of the user",
    names.PROMPTS: "ids, prompts with the history",
    names.FRAMES: "ids, what models wrote",
    names.CANCELS: "ids",
    names.TOOL_CALLS: "ids, tools' arguments, what was said of the user",
    names.TOOL_RESULTS: "ids, tools' results",
    names.RELEASED_FRAMES: "ids, answers as they were released",
    names.USAGE: "ids, the user's too, counts of tokens",
    names.DECISIONS: "ids, processors' reasons and metadata",
    names.ERASURES: "ids, in the erasure itself",
    names.DEAD_LETTERS: "ids, where refused records are",
}
_JOURNALS: Final[Mapping[JournalRole, str]] = {
    "turns": "everything, under tombstones",
    "models": "ids of calls, under tombstones",
    "tools": "ids of calls, under tombstones",
}


@dataclass(frozen=True, slots=True)
class Remnant:
    """What one topic `holds`, in words fit to print.

    `kept_s` is its retention in seconds, None for a journal, where the cleaner decides. `until` is the latest date (epoch
    seconds) by which what was written before now is gone; None if nothing bounds it.
    """

    topic: str
    holds: str
    kept_s: int | None
    until: float | None


def remnants(topic_names: Names, states: Mapping[str, TopicState], now: float) -> list[Remnant]:
    """Return what remains `now` (epoch seconds) on each topic, in the order of the table of topics.

    What the broker does not tell of a topic is taken to be as turngate lays it out.
    """
    usual = {layout.name: layout.configs for layout in wanted_layout(topic_names, 1)}

    def config(name: str, key: str) -> int | None:
        told = states[name].configs.get(key) if name in states else None
        value = int(told if told is not None else usual[name].get(key, -1))
        return None if value < 0 or value >= _FOREVER_MS else value

    found: list[Remnant] = []
    for topic, holds in HOLDS.items():
        name = topic_names.topic(topic)
        kept, segment = config(name, "retention.ms"), config(name, "segment.ms") or 0
        until = None if kept is None else now + (kept + segment) / 1000 + SLACK_S
        found.append(Remnant(name, holds, None if kept is None else kept // 1000, until))
    for role in get_args(JournalRole):
        name = topic_names.journal(role)
        lag, segment = config(name, "max.compaction.lag.ms"), config(name, "segment.ms") or 0
        until = None if lag is None else now + (lag + segment) / 1000 + SLACK_S
        found.append(Remnant(name, _JOURNALS[role], None, until))
    return found
