"""The scenarios that turn workers are killed in."""

from __future__ import annotations

import re
from typing import Any

from processors import (
    Allow,
    Answer,
    Block,
    Budget,
    Deny,
    Deps,
    IncomingMessage,
    Incremental,
    Message,
    ModifiedResponse,
    Pass,
    Proceed,
    Prompt,
    Reject,
    Replace,
    Reply,
    ToolCallCheck,
    input_processor,
    message_rule,
    output_processor,
    post_processor,
    pre_processor,
    tool,
    tool_rule,
)
from processors.builtin import rate_limit
from streams.gate.policy import Policy
from tests.memory.simtime import wall_clock
from tests.streams.turns.simulation import Said, Scenario, Scripted, cancel, turn

DIGITS = re.compile(r"\d")
NUMBERS = re.compile(r"\d+")
FINISH = {"finish_reason": "stop", "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}}
CALL = {"index": 0, "id": "c1", "name": "look_up", "arguments": '{"number": '}
ARGUMENTS = {"index": 0, "arguments": "5}"}
CALLED = {"finish_reason": "tool_calls"}
BROKEN_OFF = {"error": {"type": "ServerError", "retryable": True}}
BROKEN_FOR_GOOD = {"error": {"type": "ServerError", "retryable": False}}
STORY = ("Call ", "me at ", "555-0", "123 or ", "not.", FINISH)


@output_processor(name="redact-digits")
def redact_whole(answer: Answer) -> Replace:
    """Replace every digit."""
    return Replace(DIGITS.sub("#", answer.text))


@output_processor(name="redact-digits", incremental=Incremental(lookback_chars=4))
def redact(answer: Answer) -> Replace:
    """Replace every digit, prefix by prefix."""
    return Replace(DIGITS.sub("#", answer.text))


@output_processor(name="shout", incremental=Incremental(lookback_chars=4))
def shout(answer: Answer) -> Replace:
    """Make the answer loud: no prefix of it agrees with `redact`."""
    return Replace(answer.text.upper())


@output_processor(name="no-secrets", incremental=Incremental(lookback_chars=0))
def no_secrets(answer: Answer) -> Pass | Reject:
    """Reject an answer as soon as it speaks of secrets."""
    return Reject("spoke of secrets") if "secret" in answer.text else Pass()


@output_processor(name="finished-only", incremental=Incremental(lookback_chars=0))
def late_rejection(answer: Answer) -> Pass | Reject:
    """Reject every whole answer, and no prefix of one."""
    return Reject("too long") if answer.complete else Pass()


@pre_processor(name="blocker")
def blocker(message: IncomingMessage) -> Proceed | Block:
    """Block whoever says hello."""
    return Block("not today") if message.text == "hello" else Proceed()


@pre_processor(name="tagger")
def tagger(message: IncomingMessage) -> Proceed:
    """Say something about the message, and change it."""
    return Proceed(message.text + "!", metadata={"tagged": True})


@input_processor(name="prefixer")
def prefixer(prompt: Prompt) -> Prompt:
    """Put a word in front of the last message."""
    *before, last = prompt.messages
    return Prompt(system=prompt.system, messages=(*before, Message(role="user", content=f"please: {last.content}")))


class NumberScanner:
    """Reads an answer once: a number is certain as soon as something else follows it."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, delta: str) -> str:
        """Take in what follows; return what is certain."""
        text = self._held + delta
        certain = text.rstrip("0123456789")
        self._held = text[len(certain) :]
        return NUMBERS.sub("<number>", certain)

    def finish(self) -> str:
        """Return the rest."""
        return NUMBERS.sub("<number>", self._held)


class NumberRedactor:
    """Replaces whole numbers, on whole texts and while they are written."""

    kind = "output"
    name = "redact-numbers"
    linear_time = True
    incremental = Incremental(lookback_chars=64)

    def process(self, answer: Answer) -> Replace:
        """Replace every number."""
        return Replace(NUMBERS.sub("<number>", answer.text))

    def open_scanner(self) -> NumberScanner:
        """Return a scanner for one answer."""
        return NumberScanner()


@tool(name="look_up")
def look_up(what: str) -> str:
    """Find something out."""
    return what


@tool(name="delete_all")
def delete_all() -> str:
    """Do something that no rule allows."""
    return "gone"


@message_rule(name="house-rules")
def house_rules(message: IncomingMessage) -> Proceed | Block:
    """Turn away who is rude, and tidy what the others say."""
    return Block("be kind") if message.text == "rude" else Proceed(message.text.strip())


@tool_rule(name="no-deletions")
def no_deletions(check: ToolCallCheck) -> Allow | Deny:
    """Let nothing be deleted."""
    return Deny("deletes") if check.call.name.startswith("delete") else Allow()


@input_processor(name="mask-digits")
def mask_digits(prompt: Prompt) -> Prompt:
    """Hide every digit from the model, tool results among them."""
    masked = tuple(
        message.model_copy(update={"content": DIGITS.sub("*", message.content)})
        if isinstance(message.content, str)
        else message
        for message in prompt.messages
    )
    return Prompt(system=prompt.system, messages=masked)


@post_processor(name="footer")
def footer(reply: Reply) -> ModifiedResponse:
    """Say something after the reply."""
    return ModifiedResponse(f"{reply.text} (That is all.)")


@post_processor(name="same")
def same(reply: Reply) -> ModifiedResponse:
    """Change nothing."""
    return ModifiedResponse(reply.text)


@post_processor(name="broken", on_failure="fail")
def broken(reply: Reply) -> ModifiedResponse:
    """Break, which this one may not."""
    raise LookupError(len(reply.text))


ONE = (Said(turn()),)
TWO = (Said(turn("a")), Said(turn("b")))
INCREMENTAL = Deps(output_processors=[redact])
SCANNED = Deps(output_processors=[NumberRedactor()])
WHOLE = Deps(output_processors=[redact_whole])

PLAIN = (
    Scenario("live", ONE, {"t": [STORY]}),
    Scenario("whole-answer", ONE, {"t": [STORY]}, WHOLE),
    Scenario("incremental", ONE, {"t": [STORY]}, INCREMENTAL),
    Scenario("scanned", ONE, {"t": [STORY]}, SCANNED),
    Scenario("scanned-and-retried", ONE, {"t": [("Call 5", BROKEN_OFF), STORY]}, SCANNED),
    Scenario("pre-and-input", ONE, {"t": [STORY]}, Deps(pre_processors=[tagger], input_processors=[prefixer])),
    Scenario("final-delivery", (Said(turn(delivery="final")),), {"t": [STORY]}, INCREMENTAL),
    Scenario(
        "rejected-early",
        ONE,
        {"t": [("It is ", "no ", "secret", " any more", FINISH)]},
        Deps(output_processors=[no_secrets]),
    ),
    Scenario("rejected-late", ONE, {"t": [STORY]}, Deps(output_processors=[late_rejection])),
    Scenario("blocked", ONE, {"t": [STORY]}, Deps(pre_processors=[blocker])),
    Scenario("retried-with-reset", ONE, {"t": [("Half an ans", BROKEN_OFF), STORY]}),
    Scenario("retried-unseen", ONE, {"t": [("Half an ans", BROKEN_OFF), STORY]}, WHOLE),
    Scenario("retried-in-vain", ONE, {"t": [("Half an ans", BROKEN_OFF), ("Again", BROKEN_OFF)]}),
    Scenario("retry-fails-the-turn", ONE, {"t": [("Half an ans", BROKEN_OFF)]}, policy=Policy(on_retry="fail")),
    Scenario(
        "frames-in-disorder",
        ONE,
        {
            "t": [
                (
                    {"seq": 1, "text": "me "},
                    {"seq": 0, "text": "Call "},
                    {"seq": 1, "text": "me "},
                    {**FINISH, "seq": 2},
                )
            ]
        },
        INCREMENTAL,
    ),
    Scenario("halved-characters", ONE, {"t": [("Well \ud83d", "\ude00 then", " \ud83d", FINISH)]}),
    Scenario("tool-calls", ONE, {"t": [({"tool_call_delta": CALL}, {"tool_call_delta": ARGUMENTS}, CALLED)]}, WHOLE),
    Scenario("refused-by-the-model", ONE, {"t": [({"refusal": "I will not."}, FINISH)]}, INCREMENTAL),
    Scenario(
        "lost-frame",
        ONE,
        {"t": [("Call ", {"seq": 2, "text": "later"})]},
        INCREMENTAL,
        Policy(gap_timeout_s=3),
        patience_s=40,
    ),
    Scenario(
        "silent-model",
        TWO,
        {"a": [("Call ",)], "b": [("Second", FINISH)]},
        policy=Policy(idle_timeout_s=3),
        patience_s=40,
    ),
    Scenario("model-failed", ONE, {"t": [("Half an ans", BROKEN_FOR_GOOD)]}),
    Scenario("cancelled", (Said(turn()), Said(cancel(), frames=3)), {"t": [STORY]}, INCREMENTAL),
    Scenario("one-thread", TWO, {"a": [STORY], "b": [("Second", FINISH)]}, INCREMENTAL),
    Scenario("one-thread-cancelled", (*TWO, Said(cancel("b"), frames=2)), {"a": [STORY], "b": [STORY]}, INCREMENTAL),
    Scenario("one-thread-busy", (TWO[0], Said(turn("b"), frames=2)), {"a": [STORY], "b": [STORY]}, on_busy="reject"),
    Scenario(
        "one-thread-newest-wins",
        (TWO[0], Said(turn("b"), frames=2)),
        {"a": [STORY], "b": [("Second", FINISH)]},
        INCREMENTAL,
        on_busy="cancel_previous",
    ),
    Scenario(
        "two-threads",
        (Said(turn("a", "h1")), Said(turn("b", "h2"), frames=2)),
        {"a": [STORY], "b": [STORY]},
        INCREMENTAL,
    ),
    Scenario("asked-twice", (Said(turn()), Said(turn(), frames=3), Said(turn(), after="t")), {"t": [STORY]}),
    Scenario(
        "unreadable",
        (Said(b'{"thread_id": "h", "turn_id": "t"}'), Said(b"\xff"), Said(turn("u"))),
        {"u": [("Fine", FINISH)]},
    ),
)

# -- turns of several steps -------------------------------------------------------------------------------------------

LOOK = {"tool_call_delta": {"index": 0, "id": "c1", "name": "look_up", "arguments": '{"what": "5"}'}}
LOOK_TWICE = {"tool_call_delta": {"index": 1, "id": "c2", "name": "look_up", "arguments": '{"what": "6"}'}}
DELETE = {"tool_call_delta": {"index": 1, "id": "c3", "name": "delete_all", "arguments": "{}"}}
NO_SUCH_TOOL = {"tool_call_delta": {"index": 1, "id": "c4", "name": "fly", "arguments": "{}"}}
ASKED: tuple[Scripted, ...] = ("Let me see", " about 55", LOOK, CALLED)
FOUND: tuple[Scripted, ...] = ("5, it ", "is 555-", "0123.", FINISH)
FOUND_OUT = {"look_up": "the number is 555-0123", "delete_all": "gone"}
STEPS: dict[str, list[tuple[Scripted, ...]]] = {"t": [ASKED], "t/1": [FOUND]}
ENDLESS = {"t": [ASKED], **{f"t/{step}": [ASKED] for step in range(1, 9)}}
TOOLS = (look_up, delete_all)


def with_tools(**fields: Any) -> Deps:
    """Return a declaration with tools."""
    return Deps(tools=TOOLS, **fields)


STEPPED = (
    Scenario("tools-live", ONE, STEPS, with_tools(), tools=FOUND_OUT),
    Scenario("tools-whole", ONE, STEPS, with_tools(output_processors=[redact_whole]), tools=FOUND_OUT),
    Scenario("tools-incremental", ONE, STEPS, with_tools(output_processors=[redact]), tools=FOUND_OUT),
    Scenario("tools-scanned", ONE, STEPS, with_tools(output_processors=[NumberRedactor()]), tools=FOUND_OUT),
    Scenario(
        "tools-carried-incremental",
        ONE,
        STEPS,
        with_tools(output_processors=[redact], carry_across_steps=True),
        tools=FOUND_OUT,
    ),
    Scenario(
        "tools-carried-scanned",
        ONE,
        STEPS,
        with_tools(output_processors=[NumberRedactor()], carry_across_steps=True),
        tools=FOUND_OUT,
    ),
    Scenario(
        "tools-carried-whole",
        ONE,
        STEPS,
        with_tools(output_processors=[redact_whole], carry_across_steps=True),
        tools=FOUND_OUT,
    ),
    Scenario(
        "tools-masked-for-the-model",
        TWO,
        {"a": [ASKED], "a/1": [FOUND], "b": [("Second", FINISH)]},
        with_tools(input_processors=[mask_digits]),
        tools=FOUND_OUT,
    ),
    Scenario(
        "tools-ruled",
        ONE,
        {"t": [("Both. ", LOOK, DELETE, CALLED)], "t/1": [FOUND]},
        with_tools(governance=[house_rules, no_deletions]),
        tools=FOUND_OUT,
    ),
    Scenario(
        "tools-all-denied",
        ONE,
        {"t": [({"tool_call_delta": {**DELETE["tool_call_delta"], "index": 0}}, CALLED)], "t/1": [FOUND]},
        with_tools(governance=[no_deletions], output_processors=[redact]),
        tools=FOUND_OUT,
    ),
    Scenario(
        "tools-unknown",
        ONE,
        {"t": [(LOOK, NO_SUCH_TOOL, CALLED)], "t/1": [({**LOOK, "finish_reason": "tool_calls"},)], "t/2": [FOUND]},
        with_tools(output_processors=[redact_whole]),
        tools=FOUND_OUT,
    ),
    Scenario(
        "tools-in-parallel", ONE, {"t": [(LOOK, LOOK_TWICE, CALLED)], "t/1": [FOUND]}, with_tools(), tools=FOUND_OUT
    ),
    Scenario(
        "tools-that-never-answer",
        ONE,
        STEPS,
        with_tools(),
        tools={"look_up": None},
        patience_s=200,
    ),
    Scenario("tools-for-ever", ONE, ENDLESS, with_tools(), tools=FOUND_OUT),
    Scenario(
        "tools-rejected",
        ONE,
        {"t": [("a secret", LOOK, CALLED)]},
        with_tools(output_processors=[no_secrets]),
        tools=FOUND_OUT,
    ),
    Scenario(
        "tools-cancelled",
        (Said(turn()), Said(cancel(), frames=4)),
        STEPS,
        with_tools(output_processors=[redact]),
        tools={"look_up": None},
    ),
    Scenario(
        "tools-then-retried",
        ONE,
        {"t": [ASKED], "t/1": [("Half an ans", BROKEN_OFF), FOUND]},
        with_tools(output_processors=[NumberRedactor()]),
        tools=FOUND_OUT,
    ),
    Scenario(
        "tools-of-the-caller",
        (Said(turn(tools=[{"name": "look_up"}])),),
        {"t": [ASKED]},
        with_tools(post_processors=[footer]),
    ),
    Scenario("governed", ONE, {"t": [STORY]}, Deps(governance=[house_rules], output_processors=[redact])),
    Scenario("governed-away", (Said(turn(message="rude")),), {"t": [STORY]}, Deps(governance=[house_rules])),
    Scenario("post-processed", ONE, {"t": [STORY]}, Deps(post_processors=[footer], output_processors=[redact])),
    Scenario("post-processed-live", TWO, {"a": [STORY], "b": [STORY]}, Deps(post_processors=[footer])),
    Scenario("post-processed-unchanged", ONE, {"t": [STORY]}, Deps(post_processors=[same])),
    Scenario("post-processed-broken", ONE, {"t": [STORY]}, Deps(post_processors=[broken])),
    Scenario(
        "post-processed-final",
        (Said(turn(delivery="final")),),
        STEPS,
        with_tools(post_processors=[footer], output_processors=[redact]),
        tools=FOUND_OUT,
    ),
    Scenario(
        "post-processed-and-gated",
        ONE,
        {"t": [STORY]},
        Deps(post_processors=[footer], output_processors=[redact], gate_post_processed=True),
    ),
    Scenario(
        "retried-later",
        ONE,
        {"t": [("Half an ans", {"error": {"type": "RateLimitError", "retryable": True, "retry_after_s": 3}}), STORY]},
        INCREMENTAL,
        patience_s=20,
    ),
    Scenario(
        "fallback-model",
        ONE,
        {"t": [("Half an ans", BROKEN_FOR_GOOD), STORY]},
        INCREMENTAL,
        Policy(fallback_models=("other",)),
    ),
)
#: Two turns of one thread cost 14, and the third finds nothing left; a call that asks for a tool is estimated at more.
IN_A_ROW = (Said(turn("a")), Said(turn("b"), after="a"), Said(turn("c"), after="b"))
METERED = (
    Scenario(
        "budget-used-up",
        IN_A_ROW,
        {"a": [STORY], "b": [STORY], "c": [STORY]},
        Deps(budgets=[Budget("tenant", 14, 3600.0)], output_processors=[redact]),
    ),
    Scenario(
        "budget-used-up-between-steps", ONE, ENDLESS, with_tools(budgets=[Budget("user", 20, 3600.0)]), tools=FOUND_OUT
    ),
    Scenario(
        "rate-limited",
        IN_A_ROW,
        {"a": [STORY], "b": [STORY], "c": [STORY]},
        Deps(pre_processors=[rate_limit(2, 3600.0, clock=wall_clock)], output_processors=[redact]),
    ),
)
SCENARIOS: tuple[Scenario, ...] = (*PLAIN, *STEPPED, *METERED)
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
