"""The Faust and aiokafka code that the shell overrides, copies the order of, or leans on is the code that was read.

When one of these fails after an upgrade: read the new source beside the module named in the message, decide whether the
override still does what it is for, and only then write the new digest here.
"""

from __future__ import annotations

import hashlib
import inspect
import textwrap
from importlib.metadata import version
from typing import Any, NamedTuple

import aiokafka
import faust
import pytest
from aiokafka.consumer.fetcher import Fetcher, FetchResult, PartitionRecords
from aiokafka.producer.message_accumulator import BatchBuilder, MessageAccumulator, MessageBatch
from faust.app.base import App
from faust.streams import Stream
from faust.tables.base import Collection
from faust.tables.manager import TableManager
from faust.tables.recovery import Recovery
from faust.transport.consumer import Consumer, ThreadDelegateConsumer
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Producer
from mode import Service
from mode.threads import QueueServiceThread, ServiceThread


class Pin(NamedTuple):
    """A piece of foreign code, the digest of its source, and what to read again when it changed."""

    code: Any
    digest: str
    read_again: str


_ACKS = "streams/faust_shell/transport.py, Consumer._new_offset: one acknowledged offset stands for all before it"
_FETCH = "streams/faust_shell/transport.py, Consumer._getmany: a snapshot of the active set, never an empty one"
_WAIT = "streams/faust_shell/transport.py, KafkaClient: the fetch wait is set after the consumer is made"
_HERE = "streams/faust_shell/transport.py, KafkaClient: it starts, is called and stops in the loop that it is made in"
_READ = "topics/reading.py and batches.py: what aiokafka asks of a fetch's batches, and where it gets them from"
_SEND = (
    "streams/faust_shell/kafka.py, FaustProducer, and transport.py, Producer: one future for each record, acks from all"
)
_BATCH = "topics/producing.py, BatchingProducer: a closed batch goes out as it is, with one future for its first offset"
_TWO = "streams/faust_shell/transport.py, Producer: it starts and stops a client of the journal's beside Faust's"
_DRAIN = "streams/faust_shell/transport.py, Consumer._drain_messages: a delivery is given up when the flow is suspended"
_END = "streams/faust_shell/recovery.py, JournalRecovery: restore, seek, then let records flow, in this order"
_CLAIM = "streams/faust_shell/recovery.py, JournalTables: claims come before the journal is read"
_LOSE = "streams/faust_shell/base.py, JournalApp.belong_to: all is acknowledged before partitions are lost"
_STOP = "streams/faust_shell/base.py, JournalApp._consumer_wait_empty: a worker that was told to stop waits for no one"
_TABLE = (
    "streams/faust_shell/journal_table.py: what Faust reads in recovery reaches apply_changelog_batch, and only that"
)
_AGENT = "streams/faust_shell/feeding.py: events are acknowledged by the loops alone"

PINS = {
    "Consumer._new_offset": Pin(Consumer._new_offset, "0e5eafcd3f05d265", _ACKS),
    "Consumer._should_commit": Pin(Consumer._should_commit, "f364ecf8620dfc7c", _ACKS),
    "Consumer._filter_committable_offsets": Pin(Consumer._filter_committable_offsets, "3df385bdd0a401ea", _ACKS),
    "Consumer._commit_offsets": Pin(Consumer._commit_offsets, "469ed514dff09b09", _ACKS),
    "Consumer._add_gap": Pin(Consumer._add_gap, "eedb76f52938203e", _ACKS),
    "Consumer.ack": Pin(Consumer.ack, "582909f08d74616b", _ACKS),
    "Consumer.getmany": Pin(Consumer.getmany, "c4639c3c2e8d4d3a", _FETCH),
    "Consumer._wait_next_records": Pin(Consumer._wait_next_records, "920120740535d0bc", _FETCH),
    "Consumer._drain_messages": Pin(Consumer._drain_messages, "6b6a22fa66e689d5", _DRAIN),
    "ThreadDelegateConsumer._getmany": Pin(ThreadDelegateConsumer._getmany, "30984c83c56dc171", _FETCH),
    "AIOKafkaConsumerThread.getmany": Pin(AIOKafkaConsumerThread.getmany, "c1afcc0bd5ae2080", _FETCH),
    "AIOKafkaConsumerThread._fetch_records": Pin(AIOKafkaConsumerThread._fetch_records, "390594ddd941b59a", _FETCH),
    "aiokafka Fetcher.fetched_records": Pin(Fetcher.fetched_records, "576f6cbf0b11292c", _FETCH),
    "AIOKafkaConsumerThread._create_worker_consumer": Pin(
        AIOKafkaConsumerThread._create_worker_consumer, "df784c24f01ee3a8", _WAIT
    ),
    "AIOKafkaConsumer.start": Pin(aiokafka.AIOKafkaConsumer.start, "dbfd4c7292db28c2", _WAIT),
    "mode ServiceThread": Pin(ServiceThread, "428f5ccd44509b6c", _HERE),
    "mode QueueServiceThread": Pin(QueueServiceThread, "1302a37dc82e08ce", _HERE),
    "mode Service.maybe_start": Pin(Service.maybe_start, "46d525bc4ca944ec", _HERE),
    "mode Service.stop": Pin(Service.stop, "2640f0db32a3e2f9", _HERE),
    "AIOKafkaConsumerThread.on_thread_stop": Pin(AIOKafkaConsumerThread.on_thread_stop, "468d1184a14492a3", _HERE),
    "AIOKafkaConsumerThread.on_start": Pin(AIOKafkaConsumerThread.on_start, "1e2e890ab3b51f83", _READ),
    "aiokafka Fetcher._proc_fetch_request": Pin(Fetcher._proc_fetch_request, "dd02fbcce1b350e6", _READ),
    "aiokafka PartitionRecords": Pin(PartitionRecords, "4dd6157d7e637944", _READ),
    "aiokafka FetchResult": Pin(FetchResult, "fa61b3894a7f59bf", _READ),
    "Producer.send": Pin(Producer.send, "6ce33644501c12de", _SEND),
    "Producer._settings_default": Pin(Producer._settings_default, "696ac82b2e654ff5", _SEND),
    "Producer._settings_extra": Pin(Producer._settings_extra, "ba7092064d8bba85", _SEND),
    "Producer._new_producer": Pin(Producer._new_producer, "fa9dd64f1930de5c", _SEND),
    "Producer.on_start": Pin(Producer.on_start, "114ce4f5e9a2cf59", _TWO),
    "Producer.on_stop": Pin(Producer.on_stop, "c5693c9c30637c8d", _TWO),
    "AIOKafkaProducer.send_batch": Pin(aiokafka.AIOKafkaProducer.send_batch, "4be0946f89257fcd", _BATCH),
    "aiokafka MessageAccumulator.add_batch": Pin(MessageAccumulator.add_batch, "54982cd71a19126e", _BATCH),
    "aiokafka BatchBuilder": Pin(BatchBuilder, "99aef2c7e9685e43", _BATCH),
    "aiokafka MessageBatch.done": Pin(MessageBatch.done, "ce1fd4bb6996ddb5", _BATCH),
    "mode Service.wait_first": Pin(Service.wait_first, "c7b076fcaa452704", _DRAIN),
    "Consumer.perform_seek": Pin(Consumer.perform_seek, "d3e8527bdb719700", _END),
    "Recovery.on_recovery_completed": Pin(Recovery.on_recovery_completed, "a63912ae5efdd1d4", _END),
    "Recovery._restart_recovery": Pin(Recovery._restart_recovery, "2bc1989fda0e00fd", _END),
    "Recovery.on_rebalance": Pin(Recovery.on_rebalance, "daa42029a0bd6bdf", _CLAIM),
    "Recovery._build_offsets": Pin(Recovery._build_offsets, "d2325b2ac225183c", _CLAIM),
    "Recovery._build_highwaters": Pin(Recovery._build_highwaters, "c6a9dd97a47dffd6", _CLAIM),
    "TableManager.on_rebalance": Pin(TableManager.on_rebalance, "0d7dc98e7781681d", _CLAIM),
    "TableManager.recovery": Pin(TableManager.recovery, "f7226be333bc9af7", _CLAIM),
    "App._on_partitions_assigned": Pin(App._on_partitions_assigned, "2dbbc0a122e549f0", _CLAIM),
    "App._on_partitions_revoked": Pin(App._on_partitions_revoked, "9fa5e71beab63efc", _LOSE),
    "App._stop_consumer": Pin(App._stop_consumer, "d5ad74f5ac05a30f", _STOP),
    "App._consumer_wait_empty": Pin(App._consumer_wait_empty, "e8c27bc96f8275c0", _STOP),
    "Consumer.on_partitions_revoked": Pin(Consumer.on_partitions_revoked, "c8ac3e4a2d70fd15", _LOSE),
    "Consumer.wait_empty": Pin(Consumer.wait_empty, "947ed175bfcf1d50", _LOSE),
    "Recovery._slurp_changelogs": Pin(Recovery._slurp_changelogs, "6f289a0225f88390", _TABLE),
    "Recovery.flush_buffers": Pin(Recovery.flush_buffers, "dd7c9f4a5c975fe9", _TABLE),
    "Collection.apply_changelog_batch": Pin(Collection.apply_changelog_batch, "aebca0a2691b88dd", _TABLE),
    "Collection.on_recovery_completed": Pin(Collection.on_recovery_completed, "0d2f0c0aa8fcd007", _TABLE),
    "Stream.noack": Pin(Stream.noack, "85f8c765c9788ed4", _AGENT),
    "Stream.events": Pin(Stream.events, "0320df6226f16ba9", _AGENT),
}


def digest(code: Any) -> str:
    """Return a digest of the source of a function, a property or a Faust task; indentation does not count."""
    function: Any = code.fget if isinstance(code, property) else getattr(code, "fun", code)
    source = textwrap.dedent(inspect.getsource(function)).strip()
    return hashlib.sha256(source.encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", PINS)
def test_the_code_under_an_override_is_the_code_that_was_read(name: str) -> None:
    """A new version must be read before it is trusted."""
    pin = PINS[name]
    found = digest(pin.code)
    assert found == pin.digest, (
        f"{name} is not what it was when {pin.read_again}. Read both again; if they still fit, the new digest is {found}"
    )


@pytest.mark.parametrize(("package", "pinned"), [("faust-streaming", "0.15.3"), ("aiokafka", "0.14.0")])
def test_the_versions_that_were_read_are_installed(package: str, pinned: str) -> None:
    """Both are pinned exactly: internals are overridden, and measured on these."""
    assert version(package) == pinned


def test_a_digest_sees_a_changed_line() -> None:
    """Pins that cannot fail would be none."""

    def one() -> int:
        return 1

    def two() -> int:
        return 2

    assert digest(one) != digest(two)
    assert digest(faust.App.finalize) == digest(faust.App.finalize)
