"""The `openai` adapter: the OpenAI SDK against any server that speaks chat completions, streamed.

One call is one HTTP request: the SDK's own retries are off, because an attempt is the turn machine's to count.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from streams.models.delta import Delta
from streams.models.errors import AdapterMissingError
from streams.models.openai_chunks import ChunkReader
from streams.models.openai_errors import ending_of, is_transport
from streams.models.openai_request import body_of
from topics.records import PromptRequest

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream
    from openai.types.chat import ChatCompletionChunk

#: Where requests go when the operator gave a key and no address.
DEFAULT_BASE_URL = "https://api.openai.com/v1"

#: How long to wait for the end of a stream that has said everything, so that its connection can be used again.
_LINGER_S = 0.25
#: Sent where no key is configured: the SDK insists on one, and would look for it in the environment.
_NO_KEY = "none"
_END = object()


@dataclass(frozen=True, slots=True)
class OpenAISettings:
    """Where the model server is and how patient to be. Times are in seconds.

    `model` answers requests that name none. `read_timeout_s` is the longest silence of the server, `usage_wait_s` the
    longest wait for the usage once the finish is known. `extra_params` may be in `params` beside the usual ones.
    """

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    model: str | None = None
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 100.0
    usage_wait_s: float = 5.0
    extra_params: frozenset[str] = frozenset()


class OpenAIAdapter:
    """Streams chat completions.

    Raises:
        AdapterMissingError: on construction, when the `openai` extra is not installed.
    """

    name = "openai"

    def __init__(self, settings: OpenAISettings) -> None:
        self._settings = settings
        self._client = _client(settings)

    async def stream(self, request: PromptRequest) -> AsyncGenerator[Delta, None]:
        """Yield the answer to `request`; whatever the server gets wrong ends it with an `error`."""
        reader = ChunkReader()
        last: Delta | None = None
        try:
            async with await self._open(request) as stream:
                while (chunk := await self._next(stream, reader)) is not _END:
                    for delta in reader.feed(chunk):
                        yield delta
        except Exception as exc:
            last = _last(exc, reader)
            if last is None:
                raise
        yield last or reader.end()

    async def close(self) -> None:
        """Close the connections that are kept for the next call."""
        await self._client.close()

    async def _open(self, request: PromptRequest) -> AsyncStream[ChatCompletionChunk]:
        settings = self._settings
        body = body_of(request, default_model=settings.model, extra_params=settings.extra_params)
        model, messages = body.pop("model"), body.pop("messages")
        # The rest goes past the SDK's signature, which lists what one version of one server knows.
        return await self._client.chat.completions.create(model=model, messages=messages, stream=True, extra_body=body)

    async def _next(self, stream: AsyncStream[ChatCompletionChunk], reader: ChunkReader) -> object:
        """Return the next chunk; `_END` at the end of the stream, or of the patience with one whose finish is known."""
        try:
            async with asyncio.timeout(self._patience(reader)):
                return await anext(stream)
        except (StopAsyncIteration, TimeoutError):
            return _END

    def _patience(self, reader: ChunkReader) -> float | None:
        if reader.finish_reason is None:
            return None
        return self._settings.usage_wait_s if reader.usage is None else _LINGER_S


def _last(exc: Exception, reader: ChunkReader) -> Delta | None:
    """Return the delta that ends an answer broken off by `exc`, or None if `exc` was not to be expected."""
    if reader.finish_reason is not None and is_transport(exc):
        # The answer is whole: all that broke is the wait for its usage.
        return reader.end()
    ending = ending_of(exc)
    return replace(ending, usage=reader.usage) if ending else None


def _client(settings: OpenAISettings) -> AsyncOpenAI:
    openai = _sdk()
    client: AsyncOpenAI = openai.AsyncOpenAI(
        api_key=settings.api_key or _NO_KEY,
        base_url=settings.base_url or DEFAULT_BASE_URL,
        max_retries=0,
        timeout=openai.Timeout(
            connect=settings.connect_timeout_s,
            read=settings.read_timeout_s,
            write=settings.read_timeout_s,
            pool=settings.connect_timeout_s,
        ),
    )
    # The SDK takes these from the environment; they would go to whatever server `base_url` names.
    client.organization = None
    client.project = None
    return client


def _sdk() -> Any:
    try:
        return importlib.import_module("openai")
    except ModuleNotFoundError as exc:
        raise AdapterMissingError(
            "calling a model server needs an extra that is not installed: pip install 'turngate[openai]'"
        ) from exc
