"""A Faust app set up the way the journal needs it, for whichever role."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import faust
from faust.types import TopicT
from faust.types.transports import ConsumerT
from yarl import URL

from streams.faust_shell.credentials import credentials_of
from streams.faust_shell.journal_table import JournalTable
from streams.faust_shell.kafka import FaustProducer, JournalProducer, KafkaLogs, KafkaReader
from streams.faust_shell.observer import WorkerObserver
from streams.faust_shell.recovery import JournalTables, Owner
from streams.faust_shell.transport import IdempotentTransport, Transport
from topics.connection import Connection
from topics.names import JournalRole, Names, Topic

COMMIT_INTERVAL_S = 0.5
#: Batches that may wait for an agent before a partition is fetched no more; each holds what one fetch brought.
BUFFERED_BATCHES = 32
#: Batches that recovery collects before the journal takes them in. With 1, Faust resumes partitions on its own.
RECOVERY_BATCHES = 2
PRODUCER_TIMEOUT_S = 20.0
#: Records of one partition that wait together go out together, up to this size: of each partition one batch at a time is
#: under way. Brokers take a megabyte as a rule; a larger record has a batch of its own.
PRODUCER_BATCH_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class AppSettings:
    """What an app is told: where the broker is, the pipeline's names and number of `partitions`, and its `role`.

    `idempotent` says whether the brokers take idempotent producers; `session_timeout_s` is in seconds. With a
    `static_member` name the group knows the worker again after a restart (Kafka's `group.instance.id`).
    """

    connection: Connection
    names: Names
    partitions: int
    role: JournalRole
    session_timeout_s: float
    idempotent: bool = False
    static_member: str | None = None


class JournalApp(faust.App):
    """A Faust app with one journal and the transport that keeps acknowledgements in order."""

    def __init__(self, settings: AppSettings) -> None:
        names, role = settings.names, settings.role
        self._settings = settings
        self.connection = settings.connection
        self.observer = WorkerObserver()
        #: Whether the worker's partitions, which may be none, are restored and flow.
        self.settled = False
        super().__init__(
            names.group(role),
            broker=[URL(f"kafka://{server}") for server in settings.connection.bootstrap_servers.split(",")],
            broker_credentials=credentials_of(settings.connection),
            store="memory://",
            autodiscover=False,
            web_enabled=False,
            datadir=Path(tempfile.gettempdir()) / "turngate-faust",
            topic_allow_declare=False,
            topic_disable_leader=True,
            topic_partitions=settings.partitions,
            table_standby_replicas=0,
            consumer_auto_offset_reset="earliest",
            consumer_group_instance_id=settings.static_member,
            stream_wait_empty=True,
            stream_recovery_delay=0.0,
            producer_acks=-1,
            producer_request_timeout=PRODUCER_TIMEOUT_S,
            producer_linger_ms=0,
            producer_max_batch_size=PRODUCER_BATCH_BYTES,
            broker_session_timeout=settings.session_timeout_s,
            broker_rebalance_timeout=settings.session_timeout_s,
            broker_heartbeat_interval=settings.session_timeout_s / 6,
            broker_commit_interval=COMMIT_INTERVAL_S,
            worker_redirect_stdouts=False,
            TableManager=JournalTables,
        )
        self.journal = JournalTable(
            self,
            name="journal",
            key_type=bytes,
            value_type=bytes,
            partitions=settings.partitions,
            use_partitioner=True,
            recovery_buffer_size=RECOVERY_BATCHES,
        )
        self.tables.add(self.journal)
        self.sender = FaustProducer(self)
        self.reader = KafkaReader(settings.connection)
        self.logs = KafkaLogs(names.journal(role), JournalProducer(self), self.reader)

    def _new_transport(self) -> Transport:
        kind = IdempotentTransport if self._settings.idempotent else Transport
        return kind(self.conf.broker_consumer, self)

    def _new_producer_transport(self) -> Transport:
        return self._new_transport()

    async def _consumer_wait_empty(self, consumer: ConsumerT, logger: Any) -> None:
        # A worker that was told to stop has let go of its partitions first. What was delivered and not acknowledged by
        # then never will be: it goes to the next owner, and to wait for it would keep that one waiting, without an end.
        if not self.should_stop:
            await super()._consumer_wait_empty(consumer, logger)

    def belong_to(self, owner: Owner, fatal: Callable[[BaseException], None]) -> None:
        """Have `owner` told of every rebalance; must be called before the app starts."""
        tables = cast("JournalTables", self.tables)
        tables.owner, tables.fatal, tables.settled = owner, fatal, self._settle
        self.journal.fatal = fatal

        async def lose(*_: Any, **__: Any) -> None:
            self.settled = False
            await owner.lose()

        self.on_partitions_revoked.connect(lose, weak=False)

    def unready(self) -> str | None:
        """Return what the worker waits for before it does its work, None when it does (`streams.status.Unready`)."""
        return None if self.settled else "partitions to be assigned, and their journal to be read"

    def _settle(self, partitions: int | None) -> None:
        """Note that so many partitions flow now; None while they change hands."""
        self.settled = partitions is not None
        if partitions is not None:
            self.observer.assigned(partitions)

    def source(self, topic: Topic) -> TopicT:
        """Return the Faust topic of a turn topic, its records as they are on the wire."""
        return self.topic(
            self._settings.names.topic(topic),
            key_type=bytes,
            value_type=bytes,
            key_serializer="raw",
            value_serializer="raw",
            maxsize=BUFFERED_BATCHES,
            partitions=self._settings.partitions,
        )
