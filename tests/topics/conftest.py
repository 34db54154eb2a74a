"""A pipeline of a test's own on each broker of the run."""

from __future__ import annotations

import pytest

from tests.brokers.broker import Broker
from tests.topics.pipeline import PARTITIONS, Pipeline
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.names import Names


@pytest.fixture
async def pipeline(broker: Broker, prefix: str) -> Pipeline:
    """Give created topics under a prefix of the test's own."""
    made = Pipeline(Connection(broker.bootstrap), Names(prefix))
    await TopicAdmin(made.connection, made.names).create(PARTITIONS)
    return made
