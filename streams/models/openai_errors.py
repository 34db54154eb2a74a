"""What a chat completions server, or the way to it, got wrong, as the delta that ends a call.

`type` is the SDK's class name, `message` the provider's wording, cut to a bearable length. `retryable` says that the
same request may fare better later:

    yes    no connection, silence, a stream that broke off; 408, 409, 429; 5xx but for 501 and 505; chunks that make no sense
    no     every other 4xx: the request, its key or its model is wrong, or what the account may spend is spent

A server that says `x-should-retry` knows better. `retry_after_s` is when, where the server says so with a 429 or a 503.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from streams.models.delta import Delta
from streams.models.errors import MalformedStreamError, ModelCallError
from streams.models.waits import wait_of
from topics.records import ModelError

if TYPE_CHECKING:
    from openai import APIError, APIStatusError

#: The most of a provider's wording that is kept, in characters.
MAX_MESSAGE_CHARS = 2_000

_PASSING_STATUS = frozenset({408, 409, 429})
_SERVER_ERRORS = range(500, 600)
#: Server errors that say no more than that the server cannot do such a thing.
_LASTING_STATUS = frozenset({501, 505})
_LIMITED, _UNAVAILABLE = 429, 503
#: What errors without a telling status are called that no new attempt mends; a 429 may be one of these too.
_LASTING_KINDS = frozenset(
    {
        "authentication_error",
        "insufficient_quota",
        "invalid_request_error",
        "not_found_error",
        "permission_error",
    }
)
_SHOULD_RETRY = {"true": True, "false": False}
#: The packages whose exceptions are about the connection; the SDK wraps these in most places, not in all.
_TRANSPORTS = frozenset({"httpx", "httpcore", "httpx2", "httpcore2", "h11", "anyio", "ssl"})


def ending_of(exc: Exception) -> Delta | None:
    """Return the delta by which `exc` ends a call, or None if it is nothing that a model call is expected to raise."""
    import openai  # noqa: PLC0415 - an extra; whoever gets here has it

    if isinstance(exc, ModelCallError):
        return Delta.failed(exc)
    if isinstance(exc, openai.APIStatusError):
        return _of_status(exc)
    if isinstance(exc, openai.APIConnectionError):
        return _error(exc, str(exc), retryable=True, down=True)
    if isinstance(exc, openai.APIError):
        return _of_event(exc)
    if isinstance(exc, openai.OpenAIError):
        return _error(exc, str(exc), retryable=False, down=False)
    if is_transport(exc):
        return _error(exc, "the connection to the model server broke", retryable=True, down=True)
    if isinstance(exc, ValueError):
        # JSON or UTF-8 that cannot be decoded: these exceptions quote what they could not read.
        return Delta.failed(MalformedStreamError("the model server sent a chunk that is not JSON in UTF-8"))
    return None


def is_transport(exc: Exception) -> bool:
    """Return whether `exc` is about the connection to the server, not about what the server said."""
    import openai  # noqa: PLC0415 - an extra; whoever gets here has it

    of_transport = type(exc).__module__.partition(".")[0] in _TRANSPORTS
    return of_transport or isinstance(exc, (openai.APIConnectionError, OSError))


def _of_status(exc: APIStatusError) -> Delta:
    status, headers = exc.status_code, exc.response.headers
    retryable = _is_passing(status) and not _says_lasting(exc.body)
    retryable = _SHOULD_RETRY.get(headers.get("x-should-retry", "").lower(), retryable)
    wait = wait_of(headers, limited=status == _LIMITED) if status in {_LIMITED, _UNAVAILABLE} else None
    return _error(
        exc,
        str(exc),
        retryable=retryable,
        down=_is_down(status),
        retry_after_s=wait if retryable else None,
        status=status,
    )


def _of_event(exc: APIError) -> Delta:
    """Judge an error that came inside the stream: it has no status, but some servers put one into its `code`."""
    said = exc.body if isinstance(exc.body, Mapping) else {}
    code = str(said.get("code"))
    if code.isdecimal():
        return _error(exc, str(exc), retryable=_is_passing(int(code)), down=_is_down(int(code)))
    return _error(exc, str(exc), retryable=not _says_lasting(said), down=said.get("type") == "server_error")


def _error(
    exc: Exception,
    message: str,
    *,
    retryable: bool,
    down: bool,
    retry_after_s: float | None = None,
    status: int | None = None,
) -> Delta:
    kind = type(exc).__name__
    return Delta(
        error=ModelError(
            type=kind, message=message[:MAX_MESSAGE_CHARS], retryable=retryable, retry_after_s=retry_after_s
        ),
        account=kind if status is None else f"{kind}, HTTP status {status}",
        provider="down" if down else "up",
    )


def _is_passing(status: int) -> bool:
    return status in _PASSING_STATUS or _is_down(status)


def _is_down(status: int) -> bool:
    return status in _SERVER_ERRORS and status not in _LASTING_STATUS


def _says_lasting(body: object) -> bool:
    said = body if isinstance(body, Mapping) else {}
    return any(str(said.get(name)) in _LASTING_KINDS for name in ("type", "code"))
