"""A help desk for the tests of whole turns: an agent with tools, rules, masks, a redactor and a footer."""

from __future__ import annotations

import re

from processors import (
    Agent,
    Allow,
    Answer,
    Block,
    Deny,
    Deps,
    IncomingMessage,
    Incremental,
    ModifiedResponse,
    Proceed,
    Prompt,
    Replace,
    Reply,
    ToolCallCheck,
    input_processor,
    message_rule,
    output_processor,
    post_processor,
    tool,
    tool_rule,
)

NUMBER = re.compile(r"\b\d{6}\b")
EMAIL = re.compile(r"[\w.+-]{1,40}@[\w-]{1,40}\.\w{2,10}")


@tool()
def account_of(name: str) -> dict[str, str]:
    """Return somebody's account."""
    return {"name": name, "number": "123456", "email": f"{name}@example.com"}


@tool()
def close_account(name: str) -> str:
    """Close somebody's account."""
    return f"closed the account of {name}"


@message_rule(name="no-shouting")
def no_shouting(message: IncomingMessage) -> Proceed | Block:
    """Turn away whoever shouts."""
    return Block("Please do not shout.") if message.text.isupper() else Proceed()


@tool_rule(name="nothing-is-closed")
def nothing_is_closed(check: ToolCallCheck) -> Allow | Deny:
    """Let no account be closed."""
    return Deny("closing is for people") if check.call.name == "close_account" else Allow()


@input_processor(name="mask-numbers")
def mask_numbers(prompt: Prompt) -> Prompt:
    """Hide account numbers from the model, in tool results too."""
    return prompt.model_copy(
        update={
            "messages": tuple(
                message.model_copy(update={"content": NUMBER.sub("[account]", message.content)})
                if isinstance(message.content, str)
                else message
                for message in prompt.messages
            )
        }
    )


@output_processor(name="redact-emails", incremental=Incremental(lookback_chars=100))
def redact_emails(answer: Answer) -> Replace:
    """Hide addresses from the reader."""
    return Replace(EMAIL.sub("[email]", answer.text))


@post_processor(name="footer")
def footer(reply: Reply) -> ModifiedResponse:
    """Say who spoke."""
    return ModifiedResponse(f"{reply.text} -- your desk")


deps = Deps(
    agents=[Agent(name="desk", system="You are a help desk.", max_steps=3)],
    tools=[account_of, close_account],
    governance=[no_shouting, nothing_is_closed],
    input_processors=[mask_numbers],
    output_processors=[redact_emails],
    post_processors=[footer],
)
