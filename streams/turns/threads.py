"""The threads of one partition: what each remembers, which rows say so, and what a new turn's model is told of it.

Pure planning, as in `desk`: rows returned here are already counted, so whoever gets them must journal them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from streams.gate.state import Turn
from streams.gate.transcript import ANSWERED, Entry, Row, entry_of, read, rows_of
from streams.journal.replay import Rows
from streams.journal.writer import Row as JournalRow
from streams.steps import Steps
from topics.content import Message
from topics.ids import ThreadKey, TurnKey

#: Chooses what of a conversation rides along: pure, the newest messages, oldest first.
Window = Callable[[tuple[Message, ...]], tuple[Message, ...]]


@dataclass(frozen=True, slots=True)
class ThreadSettings:
    """How much is remembered, and told. Times in seconds, sizes in bytes of JSON.

    A thread keeps its last `max_turns` turns in at most `max_bytes`, for `retention_s` after the last of them. Of these
    the model is told what `window` chooses, or the one that `windows` names for the turn's agent, at most
    `max_told_bytes` of it.
    """

    window: Window | None = None
    windows: Mapping[str, Window] = field(default_factory=dict)
    max_turns: int = 200
    max_bytes: int = 1024 * 1024
    max_told_bytes: int = 256 * 1024
    max_row_bytes: int = 900 * 1024
    retention_s: float = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class _Remembered:
    """One turn of a thread: its rows, numbered from `first` on, as they are in the journal: most are never read again."""

    turn_id: str
    at: float
    outcome: str
    user: str | None
    first: int
    rows: tuple[bytes, ...]

    @property
    def size(self) -> int:
        return sum(map(len, self.rows))

    def messages(self) -> tuple[Message, ...]:
        (entry,) = read(map(Row.decode, self.rows))
        return entry.messages


@dataclass(slots=True)
class _Thread:
    turns: list[_Remembered] = field(default_factory=list)
    unfinished: list[bytes] = field(default_factory=list)
    unfinished_turn: str = ""
    next_n: int = 0


@dataclass(frozen=True, slots=True)
class Trim:
    """Rows of `subject` before number `keep_from` can go: the thread has outgrown them."""

    subject: str
    keep_from: int


def subject_of(thread: ThreadKey) -> str:
    """Return the journal's subject for a thread: two parts where a turn's has three."""
    return f"{thread.tenant}/{thread.thread_id}"


def is_thread(subject: str) -> bool:
    """Return whether a subject of the journal is a thread."""
    return subject.count("/") == 1


class Threads:
    """What the threads of one partition remember."""

    def __init__(self, settings: ThreadSettings | None = None) -> None:
        self._settings = settings or ThreadSettings()
        self._threads: dict[str, _Thread] = {}

    def __len__(self) -> int:
        return len(self._threads)

    def restore(self, rows: Mapping[str, Rows]) -> Steps[None]:
        """Take over what the journal says of the threads, step by step.

        Raises:
            JournalError: a row cannot be read.
        """
        for subject, numbered in rows.items():
            yield
            thread = _Thread()
            for n, (_, value) in sorted(numbered.items()):
                thread.next_n = n
                self._note(thread, Row.decode(value), value)
            self._threads[subject] = thread

    def __iter__(self) -> Iterator[ThreadKey]:
        return (ThreadKey(*subject.split("/")) for subject in list(self._threads))

    def of_user(self, tenant: str, user: str | None) -> list[ThreadKey]:
        """Return the threads of `tenant` that remember a turn of `user`."""
        return [
            key
            for key in self
            if key.tenant == tenant and any(one.user == user for one in self._threads[subject_of(key)].turns)
        ]

    def turns_of(self, thread: ThreadKey) -> list[TurnKey]:
        """Return the turns of which `thread` remembers anything."""
        known = self._threads.get(subject_of(thread), _Thread())
        ids = [one.turn_id for one in known.turns] + ([known.unfinished_turn] if known.unfinished else [])
        return [TurnKey(*thread, turn_id) for turn_id in ids]

    def forget(self, thread: ThreadKey, erased: Callable[[TurnKey], bool]) -> list[Trim]:
        """Forget the turns of `thread` that were `erased`, the oldest ones always, and return what of it can go.

        As with `trimmed`: while one of them is open, whoever resumes it must find what it was told.
        """
        subject = subject_of(thread)
        known = self._threads.get(subject, _Thread())
        turns = [one for one in known.turns if not erased(TurnKey(*thread, one.turn_id))]
        half = bool(known.unfinished) and erased(TurnKey(*thread, known.unfinished_turn))
        if len(turns) == len(known.turns) and not half:
            return []
        known.turns = turns
        known.unfinished = [] if half else known.unfinished
        # Numbers go on: rows of the next turn may be journaled before these are cleared.
        return [Trim(subject, turns[0].first if turns else known.next_n - len(known.unfinished))]

    def history(self, turn: TurnKey, agent: str) -> tuple[Message, ...]:
        """Return what the model of `turn`, as `agent`, is told of those before it: answered turns, oldest first."""
        told: list[tuple[Message, ...]] = []
        size = 0
        for one in self._answered_before(turn):
            size += one.size
            if size > self._settings.max_told_bytes:
                break
            told.append(one.messages())
        messages = tuple(message for turn in reversed(told) for message in turn)
        window = self._settings.windows.get(agent, self._settings.window)
        return window(messages) if window is not None else messages

    def newest(self, turn: TurnKey, count: int) -> tuple[Message, ...]:
        """Return the last `count` messages before `turn`: what its model was told, however that was chosen then."""
        messages: tuple[Message, ...] = ()
        for one in self._answered_before(turn):
            if len(messages) >= count:
                break
            messages = (*one.messages(), *messages)
        return messages[-count:] if count else ()

    def _answered_before(self, turn: TurnKey) -> Iterator[_Remembered]:
        """Yield the answered turns of the thread before `turn`, which may be remembered itself by now; newest first."""
        thread = self._threads.get(subject_of(turn.thread))
        for one in reversed(thread.turns if thread is not None else []):
            if one.outcome in ANSWERED and one.turn_id != turn.turn_id:
                yield one

    def recent(self, turn: TurnKey, user: str | None) -> dict[TurnKey, float]:
        """Return the turns of `user` before `turn` in its thread, each with when it ended. Those blocked are none."""
        thread = self._threads.get(subject_of(turn.thread))
        return {
            turn._replace(turn_id=one.turn_id): one.at
            for one in (thread.turns if thread is not None else ())
            if one.user == user and one.outcome != "blocked" and one.turn_id != turn.turn_id
        }

    def remember(self, turn: Turn) -> list[JournalRow]:
        """Return the rows that are still to be journaled of a turn that is over."""
        entry = entry_of(turn)
        if entry is None:
            return []
        subject = subject_of(turn.key.thread)
        thread = self._threads.setdefault(subject, _Thread())
        if thread.turns and (thread.turns[-1].turn_id, thread.turns[-1].at) == (entry.turn_id, entry.at):
            return []
        made: list[JournalRow] = []
        for row in rows_of(entry, self._settings.max_row_bytes)[len(thread.unfinished) :]:
            value = row.encode()
            made.append(JournalRow(subject, thread.next_n, value))
            self._note(thread, row, value)
        return made

    def trimmed(self, thread: ThreadKey) -> list[Trim]:
        """Forget what `thread` has outgrown, and return what of it can go.

        To be called when a turn there is closed: as long as one is open, whoever resumes it must find what it was told.
        """
        subject = subject_of(thread)
        known = self._threads.get(subject)
        return self._trim(subject, known) if known is not None else []

    def outgrown(self, busy: Iterable[ThreadKey]) -> list[Trim]:
        """Forget what a dead worker did not come to clear of threads that are not `busy`, and return what can go."""
        kept = set(map(subject_of, busy))
        return [
            trim
            for subject, thread in self._threads.items()
            if subject not in kept
            for trim in self._trim(subject, thread)
        ]

    def expired(self, now: float, busy: Iterable[ThreadKey] = ()) -> list[str]:
        """Forget threads in which nothing was said for too long, but for those `busy` now, and return their subjects."""
        limit = now - self._settings.retention_s
        kept = set(map(subject_of, busy))
        old = [
            name
            for name, thread in self._threads.items()
            if name not in kept and (thread.turns[-1].at < limit if thread.turns else not thread.unfinished)
        ]
        for name in old:
            del self._threads[name]
        return old

    def _note(self, thread: _Thread, row: Row, value: bytes) -> None:
        if thread.unfinished_turn != row.turn_id:
            thread.unfinished = []
        thread.unfinished.append(value)
        thread.unfinished_turn = row.turn_id
        thread.next_n += 1
        if row.last:
            rows = tuple(thread.unfinished)
            first = thread.next_n - len(rows)
            thread.turns.append(_Remembered(row.turn_id, row.at, row.outcome, row.user, first, rows))
            thread.unfinished = []

    def _trim(self, subject: str, thread: _Thread) -> list[Trim]:
        settings = self._settings
        kept, size = 0, 0
        for one in reversed(thread.turns):
            size += one.size
            if kept and (kept >= settings.max_turns or size > settings.max_bytes):
                break
            kept += 1
        gone = len(thread.turns) - kept
        if not gone:
            return []
        thread.turns = thread.turns[gone:]
        return [Trim(subject, thread.turns[0].first)]


def entries_of(rows: Mapping[str, Rows], thread: ThreadKey) -> Sequence[Entry]:
    """Return what the journal's `rows` say of one thread, for whoever only reads."""
    numbered = rows.get(subject_of(thread), {})
    return read(Row.decode(value) for _, (_, value) in sorted(numbered.items()))
