"""A cluster of three brokers that loses one: nothing that was acknowledged is lost with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.brokers import kraft
from tests.brokers.choice import Choice
from tests.brokers.cluster import ApacheCluster
from tests.chaos.arena import open_arena
from tests.chaos.faults import FAULTS
from tests.chaos.report import Form, Rows
from tests.conftest import CHOICE

pytestmark = [pytest.mark.chaos, pytest.mark.long_form, pytest.mark.apache]


@pytest.fixture
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ApacheCluster]:
    """Give three running nodes of Apache Kafka, where this run is on Apache Kafka at all."""
    choice: Choice = request.config.stash[CHOICE]
    if "apache" not in choice.used:
        pytest.skip(f"broker apache: {choice.left_out['apache']}")
    instance = ApacheCluster(tmp_path)
    try:
        instance.start()
        yield instance
    finally:
        instance.stop()


async def test_one_of_three_brokers_may_be_lost(
    cluster: ApacheCluster, prefix: str, tmp_path: Path, rows: Rows, form: Form
) -> None:
    """With three replicas, two of them in sync: a broker is killed and stays away, and no reader can tell."""

    async def lose_one() -> None:
        await asyncio.to_thread(cluster.node(0).stop)

    async with open_arena(
        cluster,
        prefix,
        tmp_path,
        rows,
        mode="incremental",
        form=form,
        hit_broker=lose_one,
        replication=kraft.REPLICAS,
    ) as arena:
        await arena.strike_all([one for one in FAULTS if one.suits == "broker"])
