"""Each broker really is one: it takes records, gives them back, and is gone when it is stopped."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from streams.brokers import ports
from tests.brokers.broker import Broker
from tests.brokers.choice import KINDS, ChoiceError, Kind, choose
from tests.brokers.embedded import EmbeddedBroker


async def _create(broker: Broker, topic: str, partitions: int) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])
    finally:
        await admin.close()


async def _produce(broker: Broker, topic: str, values: list[bytes]) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, acks="all")
    await producer.start()
    try:
        for value in values:
            await producer.send_and_wait(topic, value, key=b"one key, one partition")
    finally:
        await producer.stop()


async def _consume(broker: Broker, topic: str, group: str, count: int) -> list[bytes | None]:
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=broker.bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        session_timeout_ms=6_000,
        heartbeat_interval_ms=1_000,
        rebalance_timeout_ms=6_000,
    )
    await consumer.start()
    try:
        async with asyncio.timeout(60):
            return [(await consumer.getone()).value for _ in range(count)]
    finally:
        await consumer.stop()


async def test_records_come_back_in_order_through_a_consumer_group(broker: Broker, prefix: str) -> None:
    """What is produced under one key is consumed by a group, whole and in order."""
    topic = f"{prefix}records"
    sent = [f"record {number}".encode() for number in range(20)]
    await _create(broker, topic, partitions=3)
    await _produce(broker, topic, sent)
    assert await _consume(broker, topic, f"{prefix}group", len(sent)) == sent


@pytest.mark.only_brokers("apache")
async def test_records_survive_a_killed_broker(broker: Broker, prefix: str) -> None:
    """After a restart without warning, Apache Kafka answers at the same address with all it had acknowledged."""
    topic = f"{prefix}records"
    await _create(broker, topic, partitions=1)
    await _produce(broker, topic, [b"before"])
    address = broker.bootstrap
    await asyncio.to_thread(broker.restart)
    await _produce(broker, topic, [b"after"])
    assert broker.bootstrap == address
    assert await _consume(broker, topic, f"{prefix}group", 2) == [b"before", b"after"]


def test_a_stopped_broker_leaves_its_port(broker: Broker, tmp_path: Path) -> None:
    """A second broker of the same kind starts beside the first, answers, and is gone when stopped."""
    second = KINDS[broker.name].make(tmp_path)
    second.start()
    try:
        assert ports.is_open(second.port)
        assert second.port != broker.port
    finally:
        second.stop()
    assert not ports.is_open(second.port)
    assert ports.is_open(broker.port)


def test_a_restarted_embedded_broker_has_the_same_address(tmp_path: Path) -> None:
    """Also the broker that forgets everything comes back where its clients look for it."""
    instance = EmbeddedBroker(tmp_path)
    instance.start()
    try:
        address = instance.bootstrap
        instance.restart()
        assert instance.bootstrap == address
        assert ports.is_open(instance.port)
    finally:
        instance.stop()


def _kinds(**why_not: str | None) -> dict[str, Kind]:
    return {name: Kind(lambda reason=reason: reason, EmbeddedBroker) for name, reason in why_not.items()}  # type: ignore[misc]


def test_without_a_wish_every_broker_that_can_run_is_used() -> None:
    """The header names those used, and says of each other why it is skipped."""
    choice = choose("", _kinds(embedded=None, apache="there is no java", docker="no engine answers"))
    assert choice.used == ("embedded",)
    assert choice.header() == [
        "broker embedded: used",
        "broker apache: SKIPPED, there is no java",
        "broker docker: SKIPPED, no engine answers",
    ]


def test_a_wish_restricts_the_run() -> None:
    """Brokers that were not asked for are left out although they could run."""
    choice = choose(" apache ,embedded", _kinds(embedded=None, apache=None, docker=None))
    assert choice.used == ("embedded", "apache")
    assert list(choice.left_out) == ["docker"]


@pytest.mark.parametrize("wanted", ["apache", "embedded,redpanda"])
def test_a_wish_that_cannot_be_met_is_an_error(wanted: str) -> None:
    """Naming a broker that cannot run here, or that does not exist, must not pass for success."""
    with pytest.raises(ChoiceError):
        choose(wanted, _kinds(embedded=None, apache="there is no java"))


def test_the_report_of_a_run_names_its_brokers() -> None:
    """A run restricted to the embedded broker says in its header that Apache Kafka is skipped, and why."""
    options = ["--collect-only", "-p", "no:cacheprovider", "--brokers=embedded"]
    command = [sys.executable, "-m", "pytest", *options, __file__]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "broker embedded: used" in done.stdout
    assert "broker apache: SKIPPED, not among those asked for (embedded)" in done.stdout
