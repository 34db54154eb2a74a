"""The scenarios that turn workers are killed in."""

from __future__ import annotations

import re

from processors import (
    Answer,
    Block,
    Deps,
    IncomingMessage,
    Incremental,
    Message,
    Pass,
    Proceed,
    Prompt,
    Reject,
    Replace,
    input_processor,
    output_processor,
    pre_processor,
)
from streams.gate.policy import Policy
from tests.streams.turns.simulation import Said, Scenario, cancel, turn

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


ONE = (Said(turn()),)
TWO = (Said(turn("a")), Said(turn("b")))
INCREMENTAL = Deps(output_processors=[redact])
SCANNED = Deps(output_processors=[NumberRedactor()])
WHOLE = Deps(output_processors=[redact_whole])

SCENARIOS = (
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
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
