"""What a partition's desk is told once, beside the turns' policy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from streams.gate.records import JOURNAL_VERSION
from streams.turns.threads import ThreadSettings

OnBusy = Literal["queue", "reject", "cancel_previous"]


@dataclass(frozen=True, slots=True)
class DeskSettings:
    """What a desk needs to know beside the turns' policy. Times in seconds, sizes in bytes.

    `partitions` is the pipeline's number of partitions. `on_busy` says what becomes of a request whose thread is busy;
    `max_thread_turns` bounds how many turns of one thread may be open, so that no thread takes a worker's room, and
    `max_user_bytes` what a request says of its user, which goes along with each tool call. With `traced`, the trace that a
    request belongs to is kept. What only a newer version of the journal than `journal_version` can say is not written:
    released text is spelt out, and a turn is in a trace of its own.
    """

    partitions: int
    on_busy: OnBusy = "queue"
    max_thread_turns: int = 100
    max_request_bytes: int = 768 * 1024
    max_user_bytes: int = 512 * 1024
    max_frame_bytes: int = 900 * 1024
    threads: ThreadSettings = field(default_factory=ThreadSettings)
    idempotency_window_s: float = 24 * 3600.0
    traced: bool = False
    journal_version: int = JOURNAL_VERSION
