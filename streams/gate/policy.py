"""What the operator decided, as far as a turn's decisions depend on it: handed to the machine, never looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from streams.gate.entries import Persona

#: How an answer is gated: `live` without an output chain, `whole` after the step's end, `incremental` by prefix passes,
#: `scan` by a chain of scanners that read it once.
Mode: TypeAlias = Literal["live", "whole", "incremental", "scan"]


@dataclass(frozen=True, slots=True)
class Policy:
    """The active chains' shape, and the limits of a turn. Times in seconds, lengths in code points, sizes in bytes.

    `chain` lists the processors as `kind/name@version`, `pin` is the id of all of them together, "" where there are none.
    `window` is how much of a prefix pass's output is held back; `carry` has each step's answer judged together with those
    before it. `personas` are the declared agents by name; where there are any, no other agent is taken. Without
    any, `default_persona` says which tools there are for everybody.

    `on_retry` says what a new attempt does to text that is already out: `reset` drops it, `fail` fails the turn.
    `max_attempts` counts the first, for each model: the one asked for, then `fallback_models` in order. A provider that
    asks for more than `max_retry_wait_s` of patience counts as failed.

    `post_budget_s` is how long a reader who has the streamed reply waits for its final version. `channel_defaults` are the
    replies of a block that gives none, `default_reply` the one for other channels, `budget_reply` that of a turn whose
    token budget is used up.
    """

    mode: Mode = "live"
    window: int = 0
    carry: bool = False
    has_governance: bool = False
    has_pre: bool = False
    has_input: bool = False
    has_rules: bool = False
    has_post: bool = False
    chain: tuple[str, ...] = ()
    pin: str = ""
    personas: Mapping[str, Persona] = field(default_factory=dict)
    default_persona: Persona | None = None
    max_attempts: int = 2
    fallback_models: tuple[str, ...] = ()
    max_retry_wait_s: float = 30.0
    on_retry: Literal["reset", "fail"] = "reset"
    turn_timeout_s: float = 600.0
    idle_timeout_s: float = 120.0
    gap_timeout_s: float = 30.0
    post_budget_s: float = 10.0
    max_answer_chars: int = 2_000_000
    max_tool_call_bytes: int = 256 * 1024
    max_tool_result_bytes: int = 256 * 1024
    max_refusal_bytes: int = 64 * 1024
    max_entry_bytes: int = 950 * 1024
    max_prompt_bytes: int = 900 * 1024
    max_early_frames: int = 1_000
    max_record_bytes: int = 512 * 1024
    default_reply: str = "This request cannot be processed."
    budget_reply: str = "The token budget is used up for now. Please try again later."
    channel_defaults: dict[str, str] = field(default_factory=dict)

    def reply_in(self, channel: str) -> str:
        """Return what a reader in `channel` is told where a block says nothing."""
        return self.channel_defaults.get(channel, self.default_reply)
