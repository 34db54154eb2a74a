"""A pipeline of a test's own on each broker of the run."""

from __future__ import annotations

import pytest

from tests.brokers.broker import Broker
from tests.topics.pipeline import PARTITIONS, Pipeline
from tests.topics.places import Place
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.names import FRAMES, Names


@pytest.fixture
async def pipeline(broker: Broker, prefix: str) -> Pipeline:
    """Give created topics under a prefix of the test's own."""
    made = Pipeline(Connection(broker.bootstrap), Names(prefix))
    await TopicAdmin(made.connection, made.names).create(PARTITIONS)
    return made


@pytest.fixture
async def frames(broker: Broker, prefix: str) -> Place:
    """Give the frames of an empty pipeline."""
    await TopicAdmin(Connection(broker.bootstrap), Names(prefix)).create(1)
    return Place(broker.bootstrap, Names(prefix).topic(FRAMES))
