"""The processors of `turngate demo`: small, and written as an operator would write them.

Release is incremental only if every output processor of a `Deps` can judge a text that is not complete yet, so the two
ways of releasing take two of them.
"""

from __future__ import annotations

import re

from processors import (
    Answer,
    Block,
    Deps,
    IncomingMessage,
    Incremental,
    Pass,
    Proceed,
    Reject,
    Replace,
    output_processor,
    pre_processor,
    tool,
)

# Bounded on purpose: what a match can reach is what must be held back, and that is 44 characters here.
_EMAIL = re.compile(r"[\w.+-]{1,16}@[A-Za-z0-9-]{1,16}\.[A-Za-z]{2,10}")
_KEY = re.compile(r"sk-[a-z0-9]{6,40}")
_WINDOW = Incremental(lookback_chars=44)


@output_processor(name="redact-emails", incremental=_WINDOW)
def redact_emails(answer: Answer) -> Replace:
    """Replace e-mail addresses."""
    return Replace(_EMAIL.sub("[email]", answer.text))


@output_processor(name="no-keys", incremental=_WINDOW)
def no_keys(answer: Answer) -> Pass | Reject:
    """Refuse an answer that gives an API key away."""
    return Reject("an API key") if _KEY.search(answer.text) else Pass()


@pre_processor(name="no-lottery")
def no_lottery(incoming: IncomingMessage) -> Proceed | Block:
    """Answer questions about the lottery without asking a model."""
    if "lottery" in incoming.text:
        return Block("Nobody can tell you the winning numbers.")
    return Proceed()


@output_processor(name="say-how-long")
def say_how_long(answer: Answer) -> Replace:
    """Put in front what only the whole answer tells: no prefix of it can be released before."""
    return Replace(f"({len(answer.text.split())} words) {answer.text}")


@tool()
def find_courier(parcel: str) -> str:
    """Find out who brings a parcel."""
    return f"{parcel} is with Bob Ray, bob.ray@example.org"


streamed = Deps(output_processors=[redact_emails, no_keys], pre_processors=[no_lottery], tools=[find_courier])
whole = Deps(output_processors=[say_how_long])
