"""What a chat completions server, or the way to it, got wrong, as the delta that ends a call.

`type` is the SDK's class name, `message` the provider's wording, cut to a bearable length. `retryable` says that the
same request may fare better later.
"""

from __future__ import annotations

from collections.abc import Mapping

from streams.models.delta import Delta
from streams.models.errors import MalformedStreamError, ModelCallError
from topics.records import ModelError

#: The most of a provider's wording that is kept, in characters.
MAX_MESSAGE_CHARS = 2_000

_RETRYABLE_STATUS = frozenset({408, 409, 429})
_SERVER_ERRORS = range(500, 600)
#: The packages whose exceptions are about the connection; the SDK wraps these in most places, not in all.
_TRANSPORTS = frozenset({"httpx", "httpcore", "httpx2", "httpcore2", "h11", "anyio", "ssl"})


def ending_of(exc: Exception) -> Delta | None:
    """Return the delta by which `exc` ends a call, or None if it is nothing that a model call is expected to raise."""
    import openai  # noqa: PLC0415 - an extra; whoever gets here has it

    if isinstance(exc, ModelCallError):
        return Delta.failed(exc)
    if isinstance(exc, openai.APIStatusError):
        return _error(exc, str(exc), retryable=_is_passing(exc.status_code), status=exc.status_code)
    if isinstance(exc, openai.APIConnectionError):
        return _error(exc, str(exc), retryable=True)
    if isinstance(exc, openai.APIError):
        return _error(exc, str(exc), retryable=_event_is_passing(exc.body))
    if isinstance(exc, openai.OpenAIError):
        return _error(exc, str(exc), retryable=False)
    if is_transport(exc):
        return _error(exc, "the connection to the model server broke", retryable=True)
    if isinstance(exc, ValueError):
        # JSON or UTF-8 that cannot be decoded: these exceptions quote what they could not read.
        return Delta.failed(MalformedStreamError("the model server sent a chunk that is not JSON in UTF-8"))
    return None


def is_transport(exc: Exception) -> bool:
    """Return whether `exc` is about the connection to the server, not about what the server said."""
    import openai  # noqa: PLC0415 - an extra; whoever gets here has it

    of_transport = type(exc).__module__.partition(".")[0] in _TRANSPORTS
    return of_transport or isinstance(exc, (openai.APIConnectionError, OSError))


def _error(exc: Exception, message: str, *, retryable: bool, status: int | None = None) -> Delta:
    kind = type(exc).__name__
    return Delta(
        error=ModelError(type=kind, message=message[:MAX_MESSAGE_CHARS], retryable=retryable),
        account=kind if status is None else f"{kind}, HTTP status {status}",
    )


def _is_passing(status: int) -> bool:
    return status in _RETRYABLE_STATUS or status in _SERVER_ERRORS


def _event_is_passing(body: object) -> bool:
    """Judge an error that came inside the stream: it has no status, but some servers put one into its `code`."""
    said = body if isinstance(body, Mapping) else {}
    code = str(said.get("code"))
    if code.isdecimal():
        return _is_passing(int(code))
    return said.get("type") != "invalid_request_error"
