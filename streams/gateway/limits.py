"""How much a caller may ask for: requests a minute, and streams at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class TooManyError(Exception):
    """A caller asks for more than is allowed; `retry_after_s` is when to try again, in whole seconds."""

    def __init__(self, what: str, retry_after_s: int) -> None:
        super().__init__(what)
        self.retry_after_s = retry_after_s


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float
    streams: int = 0


class Limits:
    """Counts per key, and streams in all. `clock` tells the time in seconds.

    A caller may save up the requests of one minute. Keys are few, and what is counted for one is a few numbers.
    """

    def __init__(
        self, *, requests_per_minute: float, streams_per_key: int, streams: int, clock: Callable[[], float]
    ) -> None:
        self._rate = requests_per_minute / 60
        self._most = max(1.0, requests_per_minute)
        self._streams_per_key = streams_per_key
        self._streams = streams
        self._open = 0
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def request(self, name: str) -> None:
        """Count a request of the key called `name`.

        Raises:
            TooManyError: it has none left.
        """
        bucket, now = self._bucket(name), self._clock()
        bucket.tokens = min(self._most, bucket.tokens + (now - bucket.at) * self._rate)
        bucket.at = now
        if bucket.tokens < 1:
            wait = math.ceil((1 - bucket.tokens) / self._rate)
            raise TooManyError("too many requests with this key", max(1, wait))
        bucket.tokens -= 1

    @contextmanager
    def stream(self, name: str) -> Iterator[None]:
        """Count a stream as long as it is open.

        Raises:
            TooManyError: the key, or all keys together, have as many as are allowed.
        """
        bucket = self._bucket(name)
        if bucket.streams >= self._streams_per_key:
            raise TooManyError("too many streams are open with this key: close some", 1)
        if self._open >= self._streams:
            raise TooManyError("too many streams are open here: try again, or at another gateway", 5)
        bucket.streams += 1
        self._open += 1
        try:
            yield
        finally:
            bucket.streams -= 1
            self._open -= 1

    @property
    def open_streams(self) -> int:
        """How many streams are open."""
        return self._open

    def _bucket(self, name: str) -> _Bucket:
        found = self._buckets.get(name)
        if found is None:
            found = self._buckets[name] = _Bucket(self._most, self._clock())
        return found
