"""A clock that stands at another moment, for finding out whether a processor looks at it.

Replaces what the `time` and `datetime` modules say, there and in the namespaces of the processors. For a process that does
nothing but check: it leaves the monotonic clocks alone, but everything else in the process sees the other time.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def clock_at(moment: float, namespaces: Sequence[dict[str, Any]]) -> Iterator[None]:
    """Have the clock stand at `moment`, in seconds since 1970, while the context lasts."""
    fakes = _fakes(moment)
    changed: list[tuple[dict[str, Any], str, Any]] = []
    for namespace in (vars(time), vars(datetime), *namespaces):
        for name, value in list(namespace.items()):
            fake = fakes.get(id(value))
            if fake is not None:
                changed.append((namespace, name, value))
                namespace[name] = fake
    try:
        yield
    finally:
        for namespace, name, value in changed:
            namespace[name] = value


def _fakes(moment: float) -> dict[int, Any]:
    """Return what stands in for each thing that tells the time, by its id."""
    localtime, gmtime, strftime, asctime = time.localtime, time.gmtime, time.strftime, time.asctime

    def ctime(secs: float | None = None) -> str:
        return asctime(localtime(moment if secs is None else secs))

    stopped_datetime, stopped_date = _stopped_classes(moment)
    return {
        id(time.time): lambda: moment,
        id(time.time_ns): lambda: int(moment * 1_000_000_000),
        id(time.ctime): ctime,
        id(localtime): lambda secs=None: localtime(moment if secs is None else secs),
        id(gmtime): lambda secs=None: gmtime(moment if secs is None else secs),
        id(asctime): lambda t=None: asctime(localtime(moment) if t is None else t),
        id(strftime): lambda form, t=None: strftime(form, localtime(moment) if t is None else t),
        id(datetime.datetime): stopped_datetime,
        id(datetime.date): stopped_date,
    }


def _stopped_classes(moment: float) -> tuple[type, type]:
    """Return a `datetime` and a `date` that know one moment only; what is an instance of the real ones is one of these."""
    real_datetime, real_date = datetime.datetime, datetime.date

    class LikeDatetime(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, real_datetime)

    class LikeDate(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, real_date)

    class StoppedDatetime(real_datetime, metaclass=LikeDatetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return real_datetime.fromtimestamp(moment, tz)

        @classmethod
        def today(cls) -> Any:
            return real_datetime.fromtimestamp(moment)  # noqa: DTZ006 - as the real one does

        @classmethod
        def utcnow(cls) -> Any:
            return real_datetime.fromtimestamp(moment, datetime.UTC).replace(tzinfo=None)

    class StoppedDate(real_date, metaclass=LikeDate):
        @classmethod
        def today(cls) -> Any:
            return real_date.fromtimestamp(moment)  # noqa: DTZ012 - the same

    return StoppedDatetime, StoppedDate
