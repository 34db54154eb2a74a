"""Topic administration on real brokers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.brokers.broker import Broker
from tests.topics.pipeline import PARTITIONS, Pipeline, make
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.errors import BrokerUnreachableError, TopicLayoutError
from topics.layout import wanted_layout
from topics.names import FRAMES, WORKERS, Names


@pytest.fixture
def admin(broker: Broker, prefix: str) -> TopicAdmin:
    """Give the administration of a prefix without topics."""
    return TopicAdmin(Connection(broker.bootstrap), Names(prefix))


async def configs_of(broker: Broker, name: str) -> dict[str, Any]:
    """Ask the broker itself how a topic is configured."""
    other = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await other.start()
    try:
        (answer,) = await other.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)])
        (resource,) = answer.to_object()["resources"]
        return {entry["config_names"]: entry["config_value"] for entry in resource["config_entries"]}
    finally:
        await other.close()


async def test_created_topics_are_what_check_wants(broker: Broker, prefix: str, admin: TopicAdmin) -> None:
    """All of them, with the partitions and settings of the layout, as the broker itself tells."""
    creation = await admin.create(PARTITIONS)
    wanted = wanted_layout(Names(prefix), PARTITIONS)
    assert creation.created == tuple(layout.name for layout in wanted)
    assert creation.there == ()
    assert await admin.check() == await admin.check(PARTITIONS) == []
    assert await admin.require() == await admin.pipeline_partitions() == PARTITIONS
    for layout in wanted:
        configs = await configs_of(broker, layout.name)
        assert {key: configs[key] for key in layout.configs} == layout.configs


async def test_creating_again_changes_nothing(admin: TopicAdmin) -> None:
    """Two operators, or two starts of `up`, do not get in each other's way."""
    first = await admin.create(PARTITIONS)
    second = await admin.create(PARTITIONS)
    assert second.created == ()
    assert second.there == first.created


async def test_two_creations_at_once_do_each_topic_once(prefix: str, admin: TopicAdmin) -> None:
    """Both succeed, and between them every topic was created by one."""
    one, two = await asyncio.gather(admin.create(PARTITIONS), admin.create(PARTITIONS))
    assert sorted(one.created + two.created) == sorted(layout.name for layout in wanted_layout(Names(prefix), 1))
    assert await admin.check() == []


async def test_what_is_missing_is_added(broker: Broker, prefix: str, admin: TopicAdmin) -> None:
    """A right topic that is there already stays."""
    await make(broker, f"{prefix}frames", PARTITIONS, cleanup_policy="delete")
    creation = await admin.create(PARTITIONS)
    assert creation.there == (f"{prefix}frames",)
    assert await admin.check() == []


async def test_another_retention_is_told_and_corrected(broker: Broker, prefix: str, admin: TopicAdmin) -> None:
    """Workers do not mind; what else is set on the topic stays; a broker that cannot is told what to do instead."""
    await admin.create(PARTITIONS)
    shorter = TopicAdmin(Connection(broker.bootstrap), Names(prefix), retention_s={"frames": 3600, "usage": 7200})
    assert {(one.topic, one.kind) for one in await shorter.check()} == {
        (f"{prefix}frames", "retention"),
        (f"{prefix}usage", "retention"),
    }
    assert await shorter.require() == PARTITIONS
    if broker.name == "embedded":
        with pytest.raises(TopicLayoutError, match=r"kafka-configs.sh --alter .*frames --add-config .*ms=3600000"):
            await shorter.create(PARTITIONS)
        return
    other = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await other.start()
    resource = ConfigResource(ConfigResourceType.TOPIC, f"{prefix}frames", {"max.message.bytes": "2000000"})
    resource.configs |= {"retention.ms": "86400000", "cleanup.policy": "delete"}
    await other.alter_configs([resource])
    await other.close()
    async with asyncio.timeout(20):
        while (await configs_of(broker, f"{prefix}frames"))["max.message.bytes"] != "2000000":  # noqa: ASYNC110 - the same
            await asyncio.sleep(0.2)
    assert (await shorter.create(PARTITIONS)).corrected == (f"{prefix}frames", f"{prefix}usage")
    async with asyncio.timeout(20):
        while await shorter.check():  # noqa: ASYNC110 - the broker has no event for it
            await asyncio.sleep(0.2)
    configs = await configs_of(broker, f"{prefix}frames")
    assert (configs["retention.ms"], configs["segment.ms"]) == ("3600000", "3600000")
    assert configs["max.message.bytes"] == "2000000"
    assert (await shorter.create(PARTITIONS)).corrected == ()


async def test_topics_with_another_layout_are_refused_and_nothing_is_created(
    broker: Broker, prefix: str, admin: TopicAdmin
) -> None:
    """Each is named with what it is and what is wanted, and so is the way out."""
    await make(broker, f"{prefix}frames", PARTITIONS + 1, cleanup_policy="delete")
    await make(broker, f"{prefix}turns-journal-changelog", PARTITIONS, cleanup_policy="delete")
    with pytest.raises(TopicLayoutError) as error:
        await admin.create(PARTITIONS)
    assert f"{prefix}frames: has 4 partitions, wanted 3 partitions" in str(error.value)
    assert "has cleanup.policy=delete, wanted cleanup.policy=compact" in str(error.value)
    assert "TURNGATE_PREFIX" in str(error.value)
    assert {row.name for row in await admin.list()} == {f"{prefix}frames", f"{prefix}turns-journal-changelog"}


async def test_another_partition_count_than_the_pipeline_has_is_refused(admin: TopicAdmin) -> None:
    """To grow a pipeline is to make a new one."""
    await admin.create(PARTITIONS)
    with pytest.raises(TopicLayoutError, match="has 3 partitions, wanted 5 partitions"):
        await admin.create(PARTITIONS + 2)


async def test_check_takes_the_partition_count_from_requests(broker: Broker, prefix: str, admin: TopicAdmin) -> None:
    """So that it finds what differs from it, and what is missing beside it."""
    await make(broker, f"{prefix}requests", 2, cleanup_policy="delete")
    await make(broker, f"{prefix}released", 3, cleanup_policy="delete")
    found = {finding.topic.removeprefix(prefix): finding for finding in await admin.check()}
    assert "requests" not in found
    assert (found["released"].is_, found["released"].wanted) == ("3 partitions", "2 partitions")
    assert found["frames"].kind == "missing"
    with pytest.raises(TopicLayoutError, match="released: has 3 partitions"):
        await admin.require()


async def test_a_topic_the_broker_made_on_demand_is_no_false_alarm(
    broker: Broker, prefix: str, admin: TopicAdmin
) -> None:
    """Where nothing was configured, what the broker tells of the cleanup is right, or it tells nothing."""
    await make(broker, f"{prefix}requests", PARTITIONS)
    assert [finding for finding in await admin.check(PARTITIONS) if finding.kind != "missing"] == []


async def test_without_topics_the_error_says_which_command_makes_them(prefix: str, admin: TopicAdmin) -> None:
    """And looking for them does not bring them into being."""
    for ask in (admin.check, admin.require, admin.pipeline_partitions):
        with pytest.raises(TopicLayoutError, match=rf"{prefix}requests.*turngate topics create"):
            await ask()
    assert await admin.list() == []
    assert len(await admin.check(PARTITIONS)) == len(wanted_layout(Names(prefix), PARTITIONS))
    assert await admin.list() == []


async def test_topics_of_other_prefixes_are_not_ours(broker: Broker, prefix: str, admin: TopicAdmin) -> None:
    """Several pipelines share a broker, and other applications do too."""
    await admin.create(PARTITIONS)
    await TopicAdmin(Connection(broker.bootstrap), Names(f"{prefix}other.")).create(PARTITIONS + 1)
    assert await admin.check() == []
    assert {row.name for row in await admin.list()} == {row.name for row in wanted_layout(Names(prefix), 1)}


async def test_list_shows_what_is_there(pipeline: Pipeline) -> None:
    """With partitions, cleanup, retention and how many records."""
    rows = {row.name: row for row in await TopicAdmin(pipeline.connection, pipeline.names).list()}
    assert list(rows) == [layout.name for layout in wanted_layout(pipeline.names, PARTITIONS)]
    assert sum(row.records for row in rows.values()) == 0
    for number in range(4):
        await pipeline.send(FRAMES, b"x", number % PARTITIONS)
    rows = {row.name: row for row in await TopicAdmin(pipeline.connection, pipeline.names).list()}
    frames, workers = rows[pipeline.names.topic(FRAMES)], rows[pipeline.names.topic(WORKERS)]
    assert (frames.partitions, frames.cleanup, frames.retention_s, frames.records) == (3, "delete", 86_400, 4)
    assert (workers.partitions, workers.cleanup, workers.retention_s, workers.records) == (1, "compact", None, 0)


@pytest.mark.only_brokers("apache", "docker")
async def test_more_replicas_than_brokers_is_an_error_of_the_broker(admin: TopicAdmin) -> None:
    """Its words are passed on."""
    with pytest.raises(TopicLayoutError, match="replication factor of 3"):
        await admin.create(PARTITIONS, replication=3)


async def test_no_broker_is_an_error_that_says_what_to_do() -> None:
    """Every call says so."""
    admin = TopicAdmin(Connection("127.0.0.1:1", limit_s=0.3))
    for ask in (admin.check, admin.list, admin.require, admin.pipeline_partitions, admin.describe):
        with pytest.raises(BrokerUnreachableError, match="turngate up"):
            await ask()
    with pytest.raises(BrokerUnreachableError, match="turngate up"):
        await admin.create(1)
