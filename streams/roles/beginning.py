"""What every worker looks at before it begins: the pipeline's topics, and whether it has the keys to what is on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from topics import names
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.key_use import require_keys
from topics.names import JournalRole, Names, Topic

_SOURCES: Mapping[JournalRole, Sequence[Topic]] = {
    "turns": (names.REQUESTS, names.FRAMES, names.TOOL_RESULTS),
    "models": (names.PROMPTS, names.CANCELS),
    "tools": (names.TOOL_CALLS, names.CANCELS),
}


async def usable_partitions(connection: Connection, topic_names: Names, role: JournalRole) -> int:
    """Return the pipeline's number of partitions, once it is seen that a worker of `role` can begin.

    Raises:
        TopicLayoutError: topics are missing or laid out differently.
        SealedRecordError: what it is to read is sealed with a key that is not here. It would find that out later as well,
            but with partitions taken from a worker that can read them.
        BrokerUnreachableError: nobody answers.
    """
    partitions = await TopicAdmin(connection, topic_names).require()
    read = [topic_names.journal(role), *(topic_names.topic(topic) for topic in _SOURCES[role])]
    await require_keys(connection, read, partitions)
    return partitions
