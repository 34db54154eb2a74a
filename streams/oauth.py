"""Tokens for SASL OAUTHBEARER: those that somebody else keeps in a file, or fetched with OAuth's client credentials.

A provider is asked whenever a connection is opened, by clients in several threads and event loops at once: none of this
belongs to a loop.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaConnectionError

if TYPE_CHECKING:
    from collections.abc import Callable

_LIMIT_S = 10.0
#: A token is fetched anew when it is to expire within so many seconds.
_MARGIN_S = 30.0
_LARGEST = 64 * 1024


class TokenError(KafkaConnectionError):  # type: ignore[misc]  # aiokafka has no types
    """There is no token to log in with: says why, never what was sent or answered.

    A client tries again, as for any connection that cannot be made.
    """


class FileTokens(AbstractTokenProvider):  # type: ignore[misc]  # the same
    """The token that is in a file at the moment, such as one that Kubernetes projects and renews."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def token(self) -> str:
        """Return the token without blanks around it.

        Raises:
            TokenError: the file cannot be read, or is empty.
        """
        return await asyncio.to_thread(self._read)

    def _read(self) -> str:
        try:
            token = self._path.read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            raise TokenError(f"the token file {self._path} cannot be read") from None
        if not token:
            raise TokenError(f"the token file {self._path} is empty")
        return token


class ClientCredentials(AbstractTokenProvider):  # type: ignore[misc]  # the same
    """Tokens from an OAuth server, for a client with a name and a secret (RFC 6749, section 4.4)."""

    def __init__(
        self,
        url: str,
        name: str,
        secret: str,
        *,
        scope: str | None = None,
        ca_file: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        # The two are form-encoded before they are joined (section 2.3.1): a colon would tell them apart in a wrong place.
        pair = f"{urllib.parse.quote_plus(name)}:{urllib.parse.quote_plus(secret)}"
        self._login = "Basic " + base64.b64encode(pair.encode()).decode("ascii")
        self._form = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
        self._tls = ssl.create_default_context(cafile=ca_file)
        self._clock = clock
        self._lock = threading.Lock()
        self._held: tuple[str, float] | None = None

    async def token(self) -> str:
        """Return a token that is still good for a while.

        Raises:
            TokenError: the server does not answer, or not with a token.
        """
        return await asyncio.to_thread(self._current)

    def _current(self) -> str:
        with self._lock:
            if self._held is None or self._held[1] - self._clock() <= _MARGIN_S:
                self._held = self._fetch()
            return self._held[0]

    def _fetch(self) -> tuple[str, float]:
        request = urllib.request.Request(  # noqa: S310 - the operator's own address, checked to be http or https
            self._url,
            data=urllib.parse.urlencode(self._form).encode(),
            headers={"Authorization": self._login, "Accept": "application/json"},
        )
        asked = self._clock()
        try:
            with urllib.request.urlopen(request, timeout=_LIMIT_S, context=self._tls) as answer:  # noqa: S310 - the same
                said = json.loads(answer.read(_LARGEST))
            token, lasts = said["access_token"], float(said.get("expires_in", 60))
        except urllib.error.HTTPError as error:
            error.close()
            raise self._none(f"HTTP {error.code}") from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._none(type(error).__name__) from None
        if not isinstance(token, str) or not token:
            raise self._none("none in its answer")
        return token, asked + lasts

    def _none(self, why: str) -> TokenError:
        return TokenError(f"no token from {urllib.parse.urlsplit(self._url).hostname} ({why})")
