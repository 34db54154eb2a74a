"""A processor of each kind, and a few chains, for the commands that try them."""

from __future__ import annotations

from processors import (
    Allow,
    Answer,
    Block,
    Deny,
    IncomingMessage,
    Incremental,
    Pass,
    Proceed,
    Prompt,
    Reject,
    Replace,
    ToolCallCheck,
    input_processor,
    message_rule,
    output_processor,
    pre_processor,
    tool_rule,
)


@output_processor("no-gold")
def no_gold(answer: Answer) -> Pass | Reject:
    """Reject gold."""
    return Reject("gold") if "gold" in answer.text else Pass()


@output_processor("fickle", incremental=Incremental(lookback_chars=0))
def fickle(answer: Answer) -> Replace:
    """Take back at the end what it let out."""
    return Replace(answer.text.upper() if answer.complete else answer.text)


@output_processor("throws")
def throws(answer: Answer) -> Pass:
    """Fail."""
    raise LookupError(answer.text)


@pre_processor("closed")
def closed(incoming: IncomingMessage) -> Block:
    """Block with the channel's name."""
    return Block(incoming.channel)


@message_rule("ruled")
def ruled(_incoming: IncomingMessage) -> Proceed:
    """Let it go on."""
    return Proceed()


@input_processor("kind")
def kind(prompt: Prompt) -> Prompt:
    """Leave it as it is."""
    return prompt


@tool_rule("careful")
def careful(check: ToolCallCheck) -> Allow | Deny:
    """Deny deletions."""
    return Deny("no") if check.call.name == "delete" else Allow()


candidate = [no_gold]
nothing: list[object] = []
unkept = [fickle]
