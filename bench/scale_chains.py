"""One redactor in the ways in which chains without scanners run: by passes over the prefix, or over the whole answer."""

from __future__ import annotations

import re

from processors import Answer, Deps, Incremental, Replace, output_processor

_LOOKBACK = 64
_EMAIL = re.compile(r"[\w.+-]{1,20}@[A-Za-z0-9-]{1,20}\.[A-Za-z]{2,10}")


@output_processor(name="redact-async", incremental=Incremental(lookback_chars=_LOOKBACK))
async def redact_async(answer: Answer) -> Replace:
    """Return the answer without addresses, in the process that async processors share."""
    return Replace(_EMAIL.sub("[email]", answer.text))


@output_processor(name="redact-sync", incremental=Incremental(lookback_chars=_LOOKBACK))
def redact_sync(answer: Answer) -> Replace:
    """Return the same, from a process that it has to itself meanwhile."""
    return Replace(_EMAIL.sub("[email]", answer.text))


@output_processor(name="redact-at-the-end")
async def redact_at_the_end(answer: Answer) -> Replace:
    """Return the same, of whole answers only."""
    return Replace(_EMAIL.sub("[email]", answer.text))


passes = Deps(output_processors=[redact_async])
processes = Deps(output_processors=[redact_sync])
whole = Deps(output_processors=[redact_at_the_end])
