"""What other projects do to a stream of text, run by their own code; each is skipped where it is not installed."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from bench.gate_ours import Release
from bench.gate_texts import PATTERNS

Arrived = Callable[[int], None]


class NemoRollingBuffer:
    """NeMo Guardrails' buffer, judged by our patterns. A rail can stop a stream, not rewrite it.

    With `stream_first`, its default, a batch goes out before it is judged. `chunk_size` is how many frames it gathers; by
    default 200, which costs readers the wait for 800 characters. Each is judged behind the 50 frames before it.
    """

    def __init__(self, *, stream_first: bool, chunk_size: int = 200) -> None:
        from nemoguardrails.rails.llm.buffer import RollingBuffer
        from nemoguardrails.rails.llm.config import OutputRailsStreamingConfig

        self._config = OutputRailsStreamingConfig(stream_first=stream_first, chunk_size=chunk_size)
        self._buffer = RollingBuffer.from_config(self._config)
        self._patterns = [re.compile(text) for text in PATTERNS.values()]

    async def __call__(self, frames: Sequence[str], release: Release, arrived: Arrived) -> None:
        """Send an answer through."""
        async for batch in self._buffer(_stream(frames, arrived)):
            out = self._buffer.format_chunks(batch.user_output_chunks)
            if self._config.stream_first:
                release(out)
            context = self._buffer.format_chunks(batch.processing_context)
            if any(pattern.search(context) for pattern in self._patterns):
                return
            if not self._config.stream_first:
                release(out)


class LangChainRedaction:
    """LangChain's PII middleware on streamed text: one stream transformer for each pattern, a window of 128 characters."""

    def __init__(self) -> None:
        from langchain.agents.middleware import PIIMiddleware

        self._middleware = [
            PIIMiddleware(label, strategy="redact", detector=text, apply_to_output=True)
            for label, text in PATTERNS.items()
        ]

    async def __call__(self, frames: Sequence[str], release: Release, arrived: Arrived) -> None:
        """Send an answer through."""
        transformers = [make() for one in self._middleware for make in one.transformers]
        out: list[str] = []
        for frame in frames:
            arrived(len(frame))
            text = self._event(
                transformers, {"event": "content-block-delta", "delta": {"type": "text-delta", "text": frame}}
            )
            out.append(text["delta"]["text"])
            release(out[-1])
        whole = {"event": "content-block-finish", "content": {"type": "text", "text": "".join(frames)}}
        # Its window's text comes with the whole message.
        release(self._event(transformers, whole)["content"]["text"][len("".join(out)) :])

    @staticmethod
    def _event(transformers: Sequence[Any], payload: dict[str, Any]) -> dict[str, Any]:
        payload["index"] = 0
        event = {"method": "messages", "params": {"data": (payload, {"run_id": "run"})}}
        for transformer in transformers:
            transformer.process(event)
        return payload


class LiteLlmContentFilter:
    """LiteLLM's content filter on streamed chunks, told to mask."""

    def __init__(self) -> None:
        # Or it asks the network for prices while it is imported.
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        from litellm.proxy.guardrails.guardrail_hooks.litellm_content_filter.content_filter import (
            ContentFilterGuardrail,
        )
        from litellm.types.guardrails import ContentFilterAction, ContentFilterPattern
        from litellm.types.utils import Delta, ModelResponseStream, StreamingChoices

        logging.getLogger("LiteLLM Proxy").setLevel(logging.ERROR)

        def chunk(text: str, finish: str | None) -> Any:
            return ModelResponseStream(
                choices=[StreamingChoices(index=0, delta=Delta(content=text), finish_reason=finish)]
            )

        self._chunk = chunk
        self._filter = ContentFilterGuardrail(
            guardrail_name="bench",
            patterns=[
                ContentFilterPattern(pattern_type="regex", name=label, pattern=text, action=ContentFilterAction.MASK)
                for label, text in PATTERNS.items()
            ],
        )

    async def __call__(self, frames: Sequence[str], release: Release, arrived: Arrived) -> None:
        """Send an answer through."""
        last = len(frames) - 1

        async def chunks() -> AsyncIterator[Any]:
            for index, frame in enumerate(frames):
                arrived(len(frame))
                yield self._chunk(frame, "stop" if index == last else None)

        stream: AsyncIterator[Any] = self._filter.async_post_call_streaming_iterator_hook(
            user_api_key_dict=None, response=chunks(), request_data={}
        )
        async for chunk in stream:
            release(chunk.choices[0].delta.content or "")


class MastraRegexFilter:
    """Mastra's regex filter, told to redact, in a Node.js of its own that says what processor time it took.

    `folder` is where its package has been installed.
    """

    def __init__(self, folder: Path | None) -> None:
        if folder is None or shutil.which("node") is None:
            raise ModuleNotFoundError(name="@mastra/core, see --mastra" if folder is None else "node")
        if not (folder / "node_modules" / "@mastra" / "core").is_dir():
            raise ModuleNotFoundError(name="@mastra/core")
        script = Path(__file__).with_name("gate_mastra.mjs")
        command = [shutil.which("node") or "node", str(script), str(folder.resolve())]
        self._node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.seconds = 0.0

    async def __call__(self, frames: Sequence[str], release: Release, arrived: Arrived) -> None:
        """Send an answer through."""
        if self._node.stdin is None or self._node.stdout is None:
            raise RuntimeError("the node process was started without pipes")
        print(json.dumps({"patterns": PATTERNS, "frames": frames}), file=self._node.stdin, flush=True)
        said = json.loads(self._node.stdout.readline())
        self.seconds = said["seconds"]
        for frame, out in zip([*frames, ""], said["releases"], strict=True):
            if frame:
                arrived(len(frame))
            release(out)


async def _stream(frames: Sequence[str], arrived: Arrived) -> AsyncIterator[str]:
    for frame in frames:
        arrived(len(frame))
        yield frame
