"""A clock that stands at another moment, for finding out whether a processor looks at it.

Replaces what the `time` and `datetime` modules say, there and in the namespaces of the processors. For a process that does
nothing but check: it leaves the monotonic clocks alone, but everything else in the process sees the other time.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def clock_at(moment: float, namespaces: Sequence[dict[str, Any]]) -> Iterator[None]:
    """Have the clock stand at `moment`, in seconds since 1970, while the context lasts."""
    fakes = _fakes(moment)
    changed: list[tuple[dict[str, Any], str, Any]] = []
    for namespace in (vars(time), vars(dt), *namespaces):
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
        id(dt.datetime): stopped_datetime,
        id(dt.date): stopped_date,
    }


#: The real classes, by names that stay when those of the module are changed.
_Datetime = dt.datetime
_Date = dt.date


class _LikeDatetime(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Datetime)


class _LikeDate(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Date)


def _stopped_classes(moment: float) -> tuple[type, type]:
    """Return a `datetime` and a `date` that know one moment only; what is an instance of the real ones is one of these."""

    class StoppedDatetime(_Datetime, metaclass=_LikeDatetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:
            return _Datetime.fromtimestamp(moment, tz)

        @classmethod
        def today(cls) -> Any:
            return _Datetime.fromtimestamp(moment)

        @classmethod
        def utcnow(cls) -> Any:
            return _Datetime.fromtimestamp(moment, dt.UTC).replace(tzinfo=None)

    class StoppedDate(_Date, metaclass=_LikeDate):
        @classmethod
        def today(cls) -> Any:
            return _Date.fromtimestamp(moment)

    return StoppedDatetime, StoppedDate
