"""How long a provider asks to be left alone, read from the headers of a refusal.

What servers send, the first that can be read counts:

    retry-after-ms                     milliseconds (OpenAI, Azure)
    retry-after                        seconds, or a date as in RFC 9110
    ratelimit-reset, x-ratelimit-reset seconds; as OpenRouter and others have it also the time, in seconds or milliseconds
                                       since the Unix epoch
    x-ratelimit-reset-requests, x-ratelimit-reset-tokens
                                       lengths like `1s`, `6m0s` or `20ms` (OpenAI); only that of a limit that is used up,
                                       as `x-ratelimit-remaining-…` tells, for both are there in any case

Dates and times are compared with `date`, the server's own time, which every server with a clock sends: ours need not agree
with it.
"""

from __future__ import annotations

import email.utils
import math
import re
from collections.abc import Mapping
from datetime import UTC

#: The longest wait that is believed, in seconds: whoever asks for more is asked again after that.
MAX_WAIT_S = 3600.0

_RESETS = ("ratelimit-reset", "x-ratelimit-reset")
_LIMITS = ("requests", "tokens")
_NUMBER = re.compile(r"\s*([0-9]{1,18}(?:\.[0-9]{0,9})?)\s*", re.ASCII)
_LENGTH = re.compile(r"\s*(?:[0-9]{1,9}(?:\.[0-9]{1,9})?(?:ms|h|m|s))+\s*", re.ASCII)
_LENGTH_PART = re.compile(r"([0-9.]+)(ms|h|m|s)", re.ASCII)
_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
#: Numbers beyond these are no lengths but points in time: in seconds, in milliseconds.
_EPOCH_S, _EPOCH_MS = 1e9, 1e12


def wait_of(headers: Mapping[str, str], *, limited: bool) -> float | None:
    """Return the wait that `headers` ask for, in seconds from 0 to `MAX_WAIT_S`, or None if they ask for none.

    The names in `headers` are in lower case, or matched whatever their case. The headers of rate limits are there in every
    answer, and are looked at only if the server said that a limit was met (`limited`).
    """
    found = _retry_after(headers)
    if found is None and limited:
        found = _reset(headers)
    return None if found is None else min(max(found, 0.0), MAX_WAIT_S)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("retry-after")
    seconds = _number(said)
    if seconds is not None:
        return seconds
    return _from_now(_date(said), headers)


def _reset(headers: Mapping[str, str]) -> float | None:
    for name in _RESETS:
        said = _number(headers.get(name))
        if said is not None:
            until = said / 1000 if said >= _EPOCH_MS else said
            return _from_now(until, headers) if until >= _EPOCH_S else until
    used_up = [limit for limit in _LIMITS if _number(headers.get(f"x-ratelimit-remaining-{limit}")) == 0]
    lengths = [_length(headers.get(f"x-ratelimit-reset-{limit}")) for limit in used_up]
    return max((length for length in lengths if length is not None), default=None)


def _from_now(until: float | None, headers: Mapping[str, str]) -> float | None:
    now = _date(headers.get("date"))
    return None if until is None or now is None else until - now


def _number(said: str | None) -> float | None:
    found = _NUMBER.fullmatch(said) if said is not None else None
    return float(found[1]) if found else None


def _length(said: str | None) -> float | None:
    if said is None or not _LENGTH.fullmatch(said):
        return _number(said)
    return math.fsum(float(number) * _UNITS_S[unit] for number, unit in _LENGTH_PART.findall(said))


def _date(said: str | None) -> float | None:
    if said is None:
        return None
    try:
        found = email.utils.parsedate_to_datetime(said)
    except (ValueError, OverflowError):
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
