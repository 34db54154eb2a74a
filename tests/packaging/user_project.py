"""What somebody who installed turngate writes: processors, a test of them, a client. A type checker finds no fault in it."""

from __future__ import annotations

import re

from processors import (
    Answer,
    Deps,
    IncomingMessage,
    Incremental,
    ModifiedResponse,
    Pass,
    Proceed,
    Prompt,
    Reject,
    Replace,
    Reply,
    input_processor,
    output_processor,
    post_processor,
    pre_processor,
)
from processors.testing import run_gate
from topics.client import TurnClient
from topics.records import CompletedFrame, TextFrame

EMAIL = re.compile(r"[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,3}")


@output_processor(name="redact-emails", incremental=Incremental(lookback_chars=320))
def redact_emails(answer: Answer) -> Replace:
    """Replace every address."""
    return Replace(EMAIL.sub("[email]", answer.text))


@output_processor(name="no-keys")
async def no_keys(answer: Answer) -> Pass | Reject:
    """Refuse what looks like a key."""
    return Reject("a key") if "sk-" in answer.text else Pass()


@input_processor(name="same")
def same(prompt: Prompt) -> Prompt:
    """Change nothing."""
    return prompt


@pre_processor(name="greet")
def greet(incoming: IncomingMessage) -> Proceed:
    """Let everything pass."""
    return Proceed(metadata={"length": len(incoming.text)})


@post_processor(name="sign")
def sign(reply: Reply) -> ModifiedResponse:
    """Sign it."""
    return ModifiedResponse(f"{reply.text} - the office")


deps = Deps(
    output_processors=[redact_emails, no_keys],
    input_processors=[same],
    pre_processors=[greet],
    post_processors=[sign],
)


def released(frames: list[str]) -> str:
    """Return what readers would see of these frames."""
    run = run_gate([redact_emails], frames)
    return run.text


async def ask(broker: str, text: str) -> str:
    """Publish a turn and return its answer."""
    seen: list[str] = []
    async with TurnClient(broker) as client:
        turn = await client.submit(text)
        async for frame in client.follow(turn, timeout_s=60):
            if isinstance(frame, TextFrame):
                seen.append(frame.text)
            elif isinstance(frame, CompletedFrame):
                return frame.reply or "".join(seen)
    return ""


if __name__ == "__main__":
    print(released(["Write to bob@exam", "ple.com, please."]))  # noqa: T201 - a program of a user's
