"""Two versions of a processor side by side, and one that is configured when it is deployed.

export TURNGATE_PROCESSORS='["examples.versions:everything"]'        (for workers, and where versions are pushed)
turngate processors push mask-digits@2
turngate processors deploy mask-digits@2
"""

from __future__ import annotations

import re

from pydantic import BaseModel, Field

from processors import Answer, Deps, Incremental, Pass, Reject, Replace, output_processor, processor_factory


@output_processor("mask-digits", version="1", incremental=Incremental(lookback_chars=0))
async def mask_digits_1(answer: Answer) -> Replace:
    """Replace every digit."""
    return Replace(re.sub(r"[0-9]", "#", answer.text))


@output_processor("mask-digits", version="2", incremental=Incremental(lookback_chars=0))
async def mask_digits_2(answer: Answer) -> Replace:
    """Replace every digit of every script."""
    return Replace(re.sub(r"\d", "#", answer.text))


class Words(BaseModel):
    """What answers may not say."""

    words: list[str] = Field(min_length=1)


@processor_factory("output", "no-words", config=Words, version="1")
def no_words(config: Words) -> object:
    """Reject answers that say one of the words."""

    @output_processor("no-words")
    async def refuse(answer: Answer) -> Pass | Reject:
        found = any(word in answer.text for word in config.words)
        return Reject("a word that is not to be said") if found else Pass()

    return refuse


deps = Deps(output_processors=[mask_digits_1])
candidate = [mask_digits_2]
everything = [mask_digits_2, no_words]
