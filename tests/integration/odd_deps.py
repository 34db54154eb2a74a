"""What an operator may declare that puts the order of things to the test: slow, broken and greedy processors and tools."""

from __future__ import annotations

import asyncio
import re

from processors import (
    Agent,
    Answer,
    Block,
    Deps,
    IncomingMessage,
    Incremental,
    LastMessages,
    ModifiedResponse,
    Pass,
    Proceed,
    Prompt,
    Reject,
    Replace,
    Reply,
    TurnContext,
    input_processor,
    output_processor,
    post_processor,
    pre_processor,
    tool,
)

EMAIL = re.compile(r"[\w.+-]{1,40}@[\w-]{1,40}\.\w{2,10}")
NUMBER = re.compile(r"\d{4,}")


@tool()
def much(size: int) -> str:
    """Return a lot."""
    return "x" * size


@pre_processor(name="b-parts")
def parts(message: IncomingMessage) -> Proceed | Block:
    """Say what came, take images out, and block on demand."""
    kinds = [part.type for part in message.message]
    if "block me" in message.text:
        return Block()
    if kinds == ["text"]:
        return Proceed()
    return Proceed(f"{message.text} ({'+'.join(kinds)} by {message.metadata.get('first')})", metadata={"second": kinds})


@pre_processor(name="z-first", priority=1)
def first(message: IncomingMessage) -> Proceed:
    """Run before the other one: its name comes later, its priority is lower."""
    return Proceed(metadata={"first": "z", "words": len(message.text.split())})


@pre_processor(name="c-breaks")
def breaks(message: IncomingMessage) -> Proceed:
    """Break when asked to."""
    if "break" in message.text:
        raise RuntimeError("told to")
    return Proceed()


def date(prompt: Prompt, context: TurnContext) -> str:
    """Add to the system text, before the input processors see it."""
    return f"It is step {context.step} of 20260101, with {len(prompt.messages)} messages."


@input_processor(name="mask")
def mask(prompt: Prompt) -> Prompt:
    """Hide numbers in the system text and everywhere else."""
    messages = tuple(
        one.model_copy(update={"content": NUMBER.sub("#", one.content)}) if isinstance(one.content, str) else one
        for one in prompt.messages
    )
    return Prompt(system=NUMBER.sub("#", prompt.system or ""), messages=messages)


@output_processor(name="emails", incremental=Incremental(lookback_chars=100))
def emails(answer: Answer) -> Replace:
    """Hide addresses."""
    return Replace(EMAIL.sub("[email]", answer.text))


@output_processor(name="no-treason", incremental=Incremental(lookback_chars=0))
def no_treason(answer: Answer) -> Pass | Reject:
    """Reject what must not be said."""
    return Reject("it said it") if "tre4son" in answer.text else Pass()


@post_processor(name="a-slow")
async def slow(reply: Reply) -> ModifiedResponse:
    """Take longer than a reader of a stream has to wait."""
    if "slowly" in reply.text:
        await asyncio.sleep(4)
        return ModifiedResponse(f"{reply.text} At last.")
    return ModifiedResponse(reply.text)


@post_processor(name="b-wrong")
def wrong(reply: Reply) -> object:
    """Answer something that is no answer."""
    return "text" if "wrong" in reply.text else ModifiedResponse(reply.text)


deps = Deps(
    agents=[
        Agent(name="desk", system="You are 1234567.", params={"temperature": 0.1}, tools=("much",), max_steps=6),
        Agent(name="brief", tools=(), history=LastMessages(2)),
    ],
    tools=[much],
    pre_processors=[parts, first, breaks],
    prompt_builder=date,
    input_processors=[mask],
    output_processors=[emails, no_treason],
    post_processors=[slow, wrong],
    carry_across_steps=True,
)
