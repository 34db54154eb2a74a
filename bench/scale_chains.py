"""One redactor in the ways in which a chain can be run: judged by passes over the prefix, or over the whole answer."""

from __future__ import annotations

import re

from processors import Answer, Deps, Incremental, Replace, output_processor

_LOOKBACK = 64
_EMAIL = re.compile(r"[\w.+-]{1,20}@[A-Za-z0-9-]{1,20}\.[A-Za-z]{2,10}")


@output_processor(name="redact-in-passes", incremental=Incremental(lookback_chars=_LOOKBACK))
async def redact_in_passes(answer: Answer) -> Replace:
    """Return the answer without addresses, in the worker's own process."""
    return Replace(_EMAIL.sub("[email]", answer.text))


@output_processor(name="redact-in-a-process", incremental=Incremental(lookback_chars=_LOOKBACK))
def redact_in_a_process(answer: Answer) -> Replace:
    """Return the same, from a process that can be killed."""
    return Replace(_EMAIL.sub("[email]", answer.text))


@output_processor(name="redact-at-the-end")
async def redact_at_the_end(answer: Answer) -> Replace:
    """Return the same, of whole answers only."""
    return Replace(_EMAIL.sub("[email]", answer.text))


passes = Deps(output_processors=[redact_in_passes])
processes = Deps(output_processors=[redact_in_a_process])
whole = Deps(output_processors=[redact_at_the_end])
