"""Processors that the worker processes of these tests load by name."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path

from processors import (
    Answer,
    Block,
    Deps,
    IncomingMessage,
    Incremental,
    Pass,
    Proceed,
    Prompt,
    Reject,
    Replace,
    TextPart,
    input_processor,
    output_processor,
    pre_processor,
)
from processors.builtin import emails

EMAIL = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}")
ACCOUNT = re.compile(r"ACCT-\d+")


@output_processor(name="redact-emails", incremental=Incremental(lookback_chars=40))
def redact_emails(answer: Answer) -> Replace:
    """Replace e-mail addresses."""
    return Replace(EMAIL.sub("[email]", answer.text))


@output_processor(name="redact-emails", version="2", incremental=Incremental(lookback_chars=40))
def redact_emails_otherwise(answer: Answer) -> Replace:
    """Replace e-mail addresses by another text than version 1 does."""
    return Replace(EMAIL.sub("<hidden>", answer.text))


@output_processor(name="no-secrets", incremental=Incremental(lookback_chars=16))
async def no_secrets(answer: Answer) -> Pass | Reject:
    """Reject an answer that tells the code word."""
    return Reject("policy") if "swordfish" in answer.text else Pass()


@output_processor(name="shout")
def shout(answer: Answer) -> Replace:
    """Judge the whole answer only: not declared incremental."""
    return Replace(answer.text.upper())


@output_processor(name="broken")
def broken(answer: Answer) -> Pass:
    """Fail on every answer."""
    raise RuntimeError(f"this message quotes the answer and must go nowhere: {answer.text}")


def _gate_of(answer: Answer) -> Path | None:
    """Return the file that must be there before the answer's turn may go on, if its caller named one."""
    named = answer.context.attributes.get("waits_for")
    return Path(named) if named else None


@output_processor(name="waits-blocking")
def waits_blocking(answer: Answer) -> Pass:
    """Take as long as the turn's caller wants, and block meanwhile."""
    gate = _gate_of(answer)
    while gate is not None and not gate.exists():
        time.sleep(0.05)
    return Pass()


@output_processor(name="waits")
async def waits(answer: Answer) -> Pass:
    """Take as long as the turn's caller wants."""
    gate = _gate_of(answer)
    while gate is not None and not gate.exists():  # noqa: ASYNC110 - a file is what two processes share
        await asyncio.sleep(0.05)
    return Pass()


@input_processor(name="mask-accounts")
def mask_accounts(prompt: Prompt) -> Prompt:
    """Mask account numbers in every text that goes to the model."""
    masked = [
        message.model_copy(update={"content": ACCOUNT.sub("ACCT-0", message.content)})
        if isinstance(message.content, str)
        else message
        for message in prompt.messages
    ]
    return Prompt(system=prompt.system, messages=tuple(masked))


@pre_processor(name="office-hours")
def office_hours(incoming: IncomingMessage) -> Block | Proceed:
    """Block what asks for a person."""
    wants_person = any(isinstance(part, TextPart) and "a human" in part.text for part in incoming.message)
    return Block("Our office is closed.") if wants_person else Proceed()


streaming = Deps(
    output_processors=[redact_emails, no_secrets], input_processors=[mask_accounts], pre_processors=[office_hours]
)
whole = Deps(output_processors=[redact_emails, shout])
scanning = Deps(output_processors=[emails(placeholder="[email]")])
streaming_changed = Deps(
    output_processors=[redact_emails_otherwise, no_secrets],
    input_processors=[mask_accounts],
    pre_processors=[office_hours],
)
slow_blocking = Deps(output_processors=[waits_blocking])
slow = Deps(output_processors=[waits])
failing = Deps(output_processors=[broken])
