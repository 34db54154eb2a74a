"""Pipelines shared by tests that do not kill anything."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.brokers.broker import Broker
from tests.integration.pipeline import Pipeline


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pipeline(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pipeline]:
    """Give a running pipeline with the `streaming` chain, one for each broker and test module."""
    prefix = f"shared-{uuid.uuid4().hex[:8]}."
    directory = tmp_path_factory.mktemp("pipeline")
    deps = "tests.integration.chains:streaming"
    async with Pipeline(broker.bootstrap, prefix, directory, deps, processor_workers=1, gap_timeout_s=1.0) as running:
        running.start("turns")
        running.start("models")
        await running.ready()
        yield running
