"""What a turn leaves in its thread: the entry of the conversation's memory, and how it is written down in rows.

The memory is canonical: it holds the user's message as the pre-processors left it, the replies as readers got them, tool
calls as the output chain passed them and tool results as they came. What input processors made of it for a model is
derived anew each time and never stored. A turn that was answered is remembered whole; of one that was rejected, failed or
was cancelled only the user's message is, with its outcome, and models are not told of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from streams.gate.records import JournalError, NewerJournalError
from streams.gate.release import pieces
from streams.gate.state import Turn
from topics import codec
from topics.content import Message
from topics.errors import WireError

#: The version of the rows' shape, as `records.JOURNAL_VERSION` is of turns' records.
TRANSCRIPT_VERSION = 1
#: Room for what a row says beside its messages.
_OVERHEAD_BYTES = 2_048

Outcome = Literal["completed", "blocked", "rejected", "failed", "cancelled"]
ANSWERED: frozenset[str] = frozenset({"completed", "blocked"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One turn as its thread remembers it: `at` is when it ended, in epoch seconds, `user` who asked, if that was said."""

    turn_id: str
    at: float
    outcome: str
    agent: str
    messages: tuple[Message, ...]
    user: str | None = None

    @property
    def answered(self) -> bool:
        """Whether models are told of this turn."""
        return self.outcome in ANSWERED


class Row(BaseModel):
    """One row of a thread's journal: messages of one turn, `last` if no more of them follow.

    The content of the first message goes on where the row before ended if `joined`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, populate_by_name=True)

    v: int = TRANSCRIPT_VERSION
    turn_id: str = Field(alias="t")
    at: float
    outcome: str = Field(alias="o")
    agent: str = Field(alias="a")
    messages: tuple[Message, ...] = Field(alias="m")
    user: str | None = Field(default=None, alias="u")
    joined: bool = Field(default=False, alias="j")
    last: bool = Field(default=True, alias="z")

    def encode(self) -> bytes:
        """Return the row's value as JSON."""
        return codec.dump(self.model_dump(mode="json", by_alias=True, exclude_none=True))

    @classmethod
    def decode(cls, value: bytes) -> Row:
        """Return the row that `encode` wrote.

        Raises:
            NewerJournalError: a newer turngate wrote it.
            JournalError: it is no row of a transcript.
        """
        try:
            data = codec.load(value)
            if data["v"] > TRANSCRIPT_VERSION:
                raise NewerJournalError(
                    f"a transcript's row has version {data['v']}, this build knows {TRANSCRIPT_VERSION}: "
                    "start the newer turngate again"
                )
            return cls.model_validate(data)
        except (KeyError, TypeError, ValueError, WireError) as exc:
            raise JournalError(f"a row of a transcript cannot be read ({type(exc).__name__})") from None


def entry_of(turn: Turn) -> Entry | None:
    """Return what is remembered of a `turn` that is over: None if its caller keeps the conversation, or it never began."""
    if turn.stateless or not turn.begun or turn.outcome is None:
        return None
    return Entry(turn.key.turn_id, turn.progress_at, turn.outcome, turn.request.agent, _messages(turn), turn.user_id)


def _messages(turn: Turn) -> tuple[Message, ...]:
    asked = turn.user_message()
    if turn.outcome == "blocked" and turn.reply:
        return (asked, Message(role="assistant", content=turn.reply))
    if turn.outcome != "completed":
        return (asked,)
    if turn.reply is None:
        # Never nothing at all: providers take no message of the assistant that neither says nor calls anything.
        said = turn.step_text or turn.answer.refusal
        return (asked, *turn.messages, Message(role="assistant", content=said))
    # The post-processed reply stands for the text of all steps.
    calls = (one.model_copy(update={"content": None}) if one.role == "assistant" else one for one in turn.messages)
    return (asked, *calls, Message(role="assistant", content=turn.reply))


def rows_of(entry: Entry, max_bytes: int) -> list[Row]:
    """Return the rows that `entry` is written down in, each of at most about `max_bytes`."""
    rows: list[Row] = []
    for group, joined in _groups(entry.messages, max_bytes - _OVERHEAD_BYTES):
        rows.append(
            Row(
                turn_id=entry.turn_id,
                at=entry.at,
                outcome=entry.outcome,
                agent=entry.agent,
                messages=group,
                user=entry.user,
                joined=joined,
                last=False,
            )
        )
    rows[-1] = rows[-1].model_copy(update={"last": True})
    return rows


def _groups(messages: Iterable[Message], max_bytes: int) -> Iterator[tuple[tuple[Message, ...], bool]]:
    group: list[Message] = []
    size, joined = 0, False
    for piece, goes_on in _cut(messages, max_bytes):
        weight = _size(piece)
        if group and (goes_on or size + weight > max_bytes):
            yield tuple(group), joined
            group, size, joined = [], 0, goes_on
        group.append(piece)
        size += weight
    yield tuple(group), joined


def _cut(messages: Iterable[Message], max_bytes: int) -> Iterator[tuple[Message, bool]]:
    """Yield the messages, long texts in several, and of each whether it goes on with the one before."""
    for message in messages:
        if not isinstance(message.content, str) or _size(message) <= max_bytes:
            yield message, False
            continue
        first = True
        for piece in pieces(message.content, max_bytes // 2):
            cut = message if first else message.model_copy(update={"tool_calls": ()})
            yield cut.model_copy(update={"content": piece}), not first
            first = False


def _size(message: Message) -> int:
    return len(message.model_dump_json(exclude_none=True).encode())


def read(rows: Iterable[Row]) -> list[Entry]:
    """Return the entries that complete sets of `rows`, in order, stand for; an unfinished last one is left out."""
    found: list[Entry] = []
    messages: list[Message] = []
    for row in rows:
        first, *others = row.messages
        if row.joined and messages:
            last = messages[-1]
            messages[-1] = last.model_copy(update={"content": f"{last.content}{first.content}"})
        else:
            messages.append(first)
        messages += others
        if row.last:
            found.append(Entry(row.turn_id, row.at, row.outcome, row.agent, tuple(messages), row.user))
            messages = []
    return found
