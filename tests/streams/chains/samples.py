"""Processors for the tests of chain runners: what each does is asked for in the text it sees.

Those that are made to run out of time have the short limit; those that wait for a test have the long one.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from processors import (
    Allow,
    Answer,
    Block,
    Deny,
    Deps,
    IncomingMessage,
    Message,
    ModifiedResponse,
    Pass,
    Proceed,
    Prompt,
    Reject,
    Replace,
    Reply,
    ToolCallCheck,
    TurnContext,
    input_processor,
    message_rule,
    output_processor,
    post_processor,
    pre_processor,
    tool_rule,
)

#: Backtracks without end, and holds the interpreter's lock all the while.
CATASTROPHE = re.compile(r"^(?:x|xx)+!$")
HANGING_TEXT = "x" * 60 + "?"
SHORT_S = 1.0
LONG_S = 60.0


def _misbehave(text: str) -> None:
    """Do what the text asks for, if it is one of the things a processor should not do."""
    if text.startswith("throw"):
        raise LookupError(text)
    if text == "exit":
        sys.exit(text)
    if text == "die":
        os._exit(3)
    if text == "hang":
        CATASTROPHE.match(HANGING_TEXT)
    if text == "sleep":
        time.sleep(LONG_S)


async def _wait(text: str) -> None:
    """Do what `do:PATH` asks for, if it does: `see` a file, or `meet` two others in a folder."""
    do, _, place = text.partition(":")
    if do == "see":
        _mark(Path(place))
        await until(Path(place).exists)
    if do == "meet":
        Path(place, str(id(asyncio.current_task()))).touch()  # noqa: ASYNC240 - quick enough
        await until(lambda: len(list(Path(place).iterdir())) == 3)


async def until(true: Callable[[], bool]) -> None:
    """Wait until something is so, for as long as it takes."""
    while not true():  # noqa: ASYNC110 - what is waited for happens in other processes, which set no events
        await asyncio.sleep(0.005)


def marks(file: Path) -> int:
    """Return how often a processor has begun to wait for `file`."""
    place = Path(f"{file}.seen-by")
    return len(place.read_text()) if place.exists() else 0


def _mark(file: Path) -> None:
    """Leave a mark that `marks` counts."""
    with Path(f"{file}.seen-by").open("a") as place:
        place.write("x")


@output_processor(name="hasty", timeout_s=SHORT_S)
def hasty(answer: Answer, context: TurnContext) -> Any:
    """Answer in upper case, or do what the text asks for."""
    text = answer.text
    _misbehave(text)
    if text == "pid":
        return Replace(str(os.getpid()))
    if text == "print":
        print("printed by a processor")  # noqa: T201 - that it does no harm is what is tested
    if text == "nonsense":
        return text
    if text == "awaitable":
        return hasty_async(answer)
    if text == "reject":
        return Reject("no " + context.turn_id)
    return Pass() if text.startswith(("async:", "see:", "finish")) else Replace(text.upper())


@output_processor(name="hasty-async", timeout_s=SHORT_S)
async def hasty_async(answer: Answer) -> Any:
    """Answer with a dot added, or do what the text asks for after `async:`."""
    text = answer.text.removeprefix("async:")
    if text != answer.text:
        _misbehave(text)
        if text == "sleep long":
            await asyncio.sleep(LONG_S)
        if text == "stubborn":
            try:
                await asyncio.sleep(LONG_S)
            except asyncio.CancelledError:
                await asyncio.sleep(LONG_S)
        if text == "cancelled":
            raise asyncio.CancelledError
        if text == "pid":
            return Replace(str(os.getpid()))
    return Pass() if text.startswith("see:") else Replace(text + ".")


@output_processor(name="patient", timeout_s=LONG_S)
async def patient(answer: Answer) -> Replace:
    """Say whether the answer is complete, after waiting as the text asks for."""
    await _wait(answer.text)
    return Replace(answer.text if answer.complete else answer.text + "…")


@input_processor(name="patient-input", timeout_s=LONG_S)
async def patient_input(prompt: Prompt, context: TurnContext) -> Prompt:
    """Put the turn's agent before the system text, after waiting as that asks for."""
    await _wait(prompt.system or "")
    return prompt.model_copy(update={"system": f"{context.agent}|{prompt.system}"})


@input_processor(name="hasty-input", timeout_s=SHORT_S)
async def hasty_input(prompt: Prompt) -> Prompt:
    """Do what the system text asks for."""
    _misbehave((prompt.system or "").partition("|")[2])
    return prompt


@pre_processor(name="a-first", priority=1)
def first(incoming: IncomingMessage) -> Proceed:
    """Say that it was here, and what it saw."""
    return Proceed(metadata={"seen": incoming.text})


@pre_processor(name="b-second", priority=2, timeout_s=SHORT_S)
def second(incoming: IncomingMessage) -> Any:
    """Change the message, or do what it asks for."""
    assert incoming.metadata["seen"] == incoming.text
    _misbehave(incoming.text)
    if incoming.text == "block":
        return Block("blocked", reason="asked for", metadata={"by": "second"})
    return Proceed(incoming.text + "!")


@pre_processor(name="c-billing", priority=3, agents=["billing"])
async def billing(incoming: IncomingMessage, context: TurnContext) -> Proceed:
    """Mark what it has seen, in the message and in the context."""
    return Proceed(incoming.text + " (billing)", metadata={"context": dict(context.metadata)})


deps = Deps(
    output_processors=[hasty, hasty_async, patient],
    input_processors=[patient_input, hasty_input],
    pre_processors=[billing, second, first],
)


@message_rule(name="house-rules", timeout_s=SHORT_S)
def house_rules(incoming: IncomingMessage) -> Any:
    """Say what was seen, or do what the message asks for."""
    _misbehave(incoming.text)
    if incoming.text == "block":
        return Block("against the rules", reason="asked for")
    return Proceed(incoming.text + "?", metadata={"ruled": incoming.context.agent})


@tool_rule(name="no-refunds", timeout_s=SHORT_S)
def no_refunds(check: ToolCallCheck, context: TurnContext) -> Any:
    """Deny refunds, or do what the arguments ask for."""
    _misbehave(check.call.arguments)
    return Deny(f"not for {context.agent}") if check.call.name == "refund" else Allow()


class Footer:
    """A post-processor, as an object that is async."""

    name = "footer"
    priority = 200
    agents = ("billing",)

    async def process(self, reply: Reply) -> ModifiedResponse:
        """Put something beneath the reply."""
        return ModifiedResponse(f"{reply.text}\n-- {reply.context.agent}")


@post_processor(name="polish", timeout_s=SHORT_S)
def polish(reply: Reply) -> Any:
    """Answer in upper case, or do what the text asks for."""
    _misbehave(reply.text)
    return ModifiedResponse(reply.text.upper())


@post_processor(name="strict", priority=300, on_failure="block")
def strict(reply: Reply) -> Any:
    """Fail where the text says so."""
    return None if "STRICT" in reply.text else ModifiedResponse(reply.text)


def choose(messages: tuple[Message, ...], context: TurnContext) -> tuple[Message, ...]:
    """Keep the last of the earlier messages, or do what it asks for."""
    assert context.turn_id
    if messages:
        _misbehave(str(messages[-1].content))
    return messages[-1:]


async def build(prompt: Prompt, context: TurnContext) -> str:
    """Say how many messages there are, or do what the agent's name asks for."""
    _misbehave(context.agent)
    return f"{len(prompt.messages)} messages"


whole_turn = Deps(
    governance=[no_refunds, house_rules],
    post_processors=[strict, Footer(), polish],
    history=choose,
    prompt_builder=build,
    input_processors=[patient_input],
)
async_only = Deps(output_processors=[hasty_async, patient], input_processors=[patient_input, hasty_input])
nothing = Deps()
