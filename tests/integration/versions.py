"""Processors of several versions, for deployments: each says in the answer that it was there."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel, Field

from processors import (
    Answer,
    Deps,
    IncomingMessage,
    ModifiedResponse,
    Proceed,
    Reject,
    Replace,
    Reply,
    output_processor,
    post_processor,
    pre_processor,
    processor_factory,
)


@output_processor("mark", version="1")
async def mark_1(answer: Answer) -> Replace:
    """Say that the first version was there; of a slow answer only after a while."""
    if "slow" in answer.text:
        await asyncio.sleep(1.0)
    return Replace(answer.text + " [1]")


@output_processor("mark", version="2")
async def mark_2(answer: Answer) -> Replace:
    """Say that the second version was there."""
    return Replace(answer.text + " [2]")


class Words(BaseModel):
    """What is not to be said."""

    words: list[str] = Field(min_length=1)


@processor_factory("output", "no-words", config=Words, version="1")
def no_words(config: Words) -> object:
    """Return a control that rejects answers with certain words."""

    @output_processor("inner")
    async def refuse(answer: Answer) -> Replace | Reject:
        if any(word in answer.text for word in config.words):
            return Reject("a word that is not to be said")
        return Replace(answer.text)

    return refuse


@processor_factory("output", "broken", config=Words, version="1")
def broken(_config: Words) -> object:
    """Fail to make anything."""
    raise LookupError("secret")


@pre_processor("greet", version="1")
async def greet(_incoming: IncomingMessage) -> Proceed:
    """Do nothing."""
    return Proceed()


@post_processor("sign", version="1")
async def sign(reply: Reply) -> ModifiedResponse:
    """Sign a reply."""
    return ModifiedResponse(reply.text + " -- us")


more = [mark_2, no_words, broken, sign]
deps = Deps(output_processors=[mark_1], pre_processors=[greet])
