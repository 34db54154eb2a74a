"""What every worker begins with: a look at the pipeline's topics and the keys to what is on them, then its Faust app."""

from __future__ import annotations

from streams.faust_shell.base import AppSettings, JournalApp
from streams.faust_shell.kafka import takes_idempotent_producers
from streams.settings import Settings
from topics.acls import READS
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.key_use import require_keys
from topics.names import JournalRole, Names


async def usable_partitions(connection: Connection, topic_names: Names, role: JournalRole) -> int:
    """Return the pipeline's number of partitions, once it is seen that a worker of `role` can begin.

    Raises:
        TopicLayoutError: topics are missing or laid out differently.
        SealedRecordError: what it is to read is sealed with a key that is not here. It would find that out later as well,
            but with partitions taken from a worker that can read them.
        BrokerUnreachableError: nobody answers.
    """
    partitions = await TopicAdmin(connection, topic_names).require()
    read = [topic_names.journal(role), *(topic_names.topic(topic) for topic in READS[role] if topic.sensitive)]
    await require_keys(connection, read, partitions)
    return partitions


async def journal_app(
    settings: Settings, connection: Connection, topic_names: Names, partitions: int, role: JournalRole
) -> JournalApp:
    """Return the app of a worker of `role`, not started yet.

    Raises:
        BrokerUnreachableError: nobody answers.
    """
    idempotent = await takes_idempotent_producers(connection)
    known_as = settings.static_member
    return JournalApp(
        AppSettings(connection, topic_names, partitions, role, settings.session_timeout_s, idempotent, known_as)
    )
