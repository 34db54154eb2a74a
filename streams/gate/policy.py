"""What the operator decided, as far as a turn's decisions depend on it: handed to the machine, never looked up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

#: How an answer is gated: `live` without an output chain, `whole` after the step's end, `incremental` by prefix passes,
#: `scan` by a chain of scanners that read it once.
Mode: TypeAlias = Literal["live", "whole", "incremental", "scan"]


@dataclass(frozen=True, slots=True)
class Policy:
    """The active chains' shape, and the limits of a turn. Times in seconds, lengths in code points, sizes in bytes.

    `window` is how much of a prefix pass's output is held back. `on_retry` says what a new attempt does to text that is
    already out: `reset` drops it, `fail` fails the turn. `max_attempts` counts the first. `channel_defaults` are the
    replies of a block that gives none, `default_reply` the one for other channels.
    """

    mode: Mode = "live"
    window: int = 0
    has_pre: bool = False
    has_input: bool = False
    chain: tuple[str, ...] = ()
    max_attempts: int = 2
    on_retry: Literal["reset", "fail"] = "reset"
    turn_timeout_s: float = 600.0
    idle_timeout_s: float = 120.0
    gap_timeout_s: float = 30.0
    max_answer_chars: int = 2_000_000
    max_tool_call_bytes: int = 256 * 1024
    max_refusal_bytes: int = 64 * 1024
    max_entry_bytes: int = 950 * 1024
    max_prompt_bytes: int = 900 * 1024
    max_early_frames: int = 1_000
    max_record_bytes: int = 512 * 1024
    default_reply: str = "This request cannot be processed."
    channel_defaults: dict[str, str] = field(default_factory=dict)
