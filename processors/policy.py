"""What becomes of a turn when a processor fails: the whole failure policy, in this one table.

| kind                      | throws, times out, answers nonsense       | in a voice channel                      |
|---------------------------|-------------------------------------------|-----------------------------------------|
| governance, input, output | the turn fails                            | the turn fails                          |
| pre                       | skipped, the message goes on unchanged    | the turn is blocked, a sentence is said |
| post                      | skipped, the reply is sent as it was      | skipped, the reply is sent as it was    |

`on_failure` of a pre- or post-processor may make this stricter (`skip` < `block` < `fail`), never laxer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from processors.declare import OnFailure

FailingKind: TypeAlias = Literal["governance", "input", "output", "pre", "post"]

VOICE_CHANNELS = frozenset({"voice", "phone"})
SPOKEN_SENTENCE = "Sorry, I cannot answer that right now. Please try again in a moment."

_STRICTNESS: Mapping[OnFailure, int] = MappingProxyType({"skip": 0, "block": 1, "fail": 2})


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table: what happens by default, and in voice channels."""

    otherwise: OnFailure
    voice: OnFailure


TABLE: Mapping[FailingKind, Rule] = MappingProxyType(
    {
        "governance": Rule(otherwise="fail", voice="fail"),
        "input": Rule(otherwise="fail", voice="fail"),
        "output": Rule(otherwise="fail", voice="fail"),
        "pre": Rule(otherwise="skip", voice="block"),
        "post": Rule(otherwise="skip", voice="skip"),
    }
)


@dataclass(frozen=True, slots=True)
class FailurePolicy:
    """The table, with what an operator may choose: which channels are spoken, and what is said in them."""

    voice_channels: frozenset[str] = VOICE_CHANNELS
    spoken_sentence: str = SPOKEN_SENTENCE

    def action(self, kind: FailingKind, channel: str, on_failure: OnFailure = "skip") -> OnFailure:
        """Return what to do when a processor of `kind` that asks for `on_failure` fails in `channel`."""
        rule = TABLE[kind]
        base = rule.voice if channel in self.voice_channels else rule.otherwise
        return max(base, on_failure, key=lambda action: _STRICTNESS[action])

    def response(self, channel: str) -> str:
        """Return the reply of a turn that a failure blocks: a sentence to speak, or "" for the channel's default."""
        return self.spoken_sentence if channel in self.voice_channels else ""
