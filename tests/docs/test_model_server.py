"""The model server that `docs/wire.md` writes out, in a pipeline without turngate's own model runner."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from tests.brokers.broker import Broker
from tests.docs.markdown import ROOT, fences
from tests.integration.pipeline import Pipeline
from topics.records import CompletedFrame, FailedFrame

LIMIT_S = 60.0


def server() -> dict[str, Any]:
    """Return what the page's Python defines."""
    (fence,) = [fence for fence in fences(ROOT / "docs" / "wire.md") if fence.language == "python"]
    namespace: dict[str, Any] = {"__name__": "wire"}
    exec(compile(fence.text, fence.place, "exec"), namespace)  # noqa: S102 - our own page
    return namespace


@pytest.mark.only_brokers("embedded")
async def test_it_answers_turns(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """A turn gets what the server says, and the next one too; one whose model throws fails after its attempts."""
    namespace = server()
    async with Pipeline(broker.bootstrap, prefix, tmp_path) as pipeline:
        pipeline.start("turns")
        serving = asyncio.create_task(namespace["serve"](broker.bootstrap, prefix))
        try:
            client = pipeline.client
            views = [await client.run(words, timeout_s=LIMIT_S) for words in ("one", "two \N{GRINNING FACE}")]
            assert [view.reply for view in views] == ["You said: one", "You said: two \N{GRINNING FACE}"]
            assert all(isinstance(view.terminal, CompletedFrame) for view in views)

            async def broken(_messages: object) -> Any:
                raise ConnectionError
                yield

            namespace["answer"] = broken
            view = await client.run("three", timeout_s=LIMIT_S)
            assert isinstance(view.terminal, FailedFrame)
            assert (view.terminal.error, view.terminal.attempt) == (
                "ModelFailedError",
                pipeline.settings.max_attempts - 1,
            )
        finally:
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await serving
