"""What tests of model adapters share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from streams.models.openai import OpenAIAdapter, OpenAISettings
from tests.streams.models.model_server import ModelServer, model_server


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    """Return a running model server."""
    async with model_server() as running:
        yield running


@pytest.fixture
async def adapter(server: ModelServer) -> AsyncIterator[OpenAIAdapter]:
    """Return an adapter that calls `server`."""
    made = OpenAIAdapter(OpenAISettings(base_url=server.base_url, api_key="secret", model="default-model"))
    yield made
    await made.close()
