"""What was erased in one partition, as the journal remembers it: digests of turns, and answers that are still owed.

The journal must not forget that it forgot. A request may come again after its turn was erased, and must not run a second
time; and a worker may die between the decision and the last tombstone. So the decision is a row of the journal itself,
written before anything else that follows from it: it names the erased turns by digests, which say nothing of anybody.
From then on every one of these turns is erased, whoever owns the partition: what its rows still say is passed over and
cleared, and if it is still open, it goes when it closes. The rows go when no request can come again that late.

Subjects without a slash are these; a thread's has one, a turn's two. `erasure-<id>` has the digests, `answer-<id>` what is
to be told the operator, which may name threads: it goes as soon as it is told. The answer's row is the last to be written,
so digests that have neither an answer nor a note that it was told are half a decision: none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from streams.gate.records import JournalError, NewerJournalError
from streams.journal.replay import Rows
from streams.journal.writer import Row
from topics import codec, names
from topics.errors import WireError
from topics.ids import TurnKey
from topics.records import Erased

#: The version of these rows' shape.
ERASURES_VERSION = 1
#: Digests in one row: they take 19 bytes each.
_DIGESTS_PER_ROW = 20_000
_DIGESTS, _ANSWER = "erasure-", "answer-"


def is_erasure(subject: str) -> bool:
    """Return whether a subject of the turns' journal is about what was erased."""
    return "/" not in subject


def digest_of(turn: TurnKey) -> str:
    """Return what an erased turn is recognised by."""
    return blake2b(str(turn).encode(errors="surrogatepass"), digest_size=8).hexdigest()


class Erasures:
    """The erasures of one partition. Pure planning: rows returned here must be journaled."""

    def __init__(self) -> None:
        self._digests: dict[str, set[str]] = {}
        self._at: dict[str, float] = {}
        self._next_n: dict[str, int] = {}
        self._turns: set[str] = set()

    def __len__(self) -> int:
        return len(self._at)

    def restore(self, rows: Mapping[str, Rows]) -> tuple[list[Erased], list[str]]:
        """Take over what the journal says; return the answers that are owed, and subjects that are to be cleared.

        Raises:
            JournalError: a row cannot be read.
        """
        owed = [
            codec.decode(codec.dump(_read(numbered[0][1])["answer"]), names.ERASED)
            for subject, numbered in rows.items()
            if subject.startswith(_ANSWER)
        ]
        told = {answer.id for answer in owed}
        litter: list[str] = []
        for subject, numbered in rows.items():
            if not subject.startswith(_DIGESTS):
                continue
            id_ = subject.removeprefix(_DIGESTS)
            found = [_read(value) for _, (_, value) in sorted(numbered.items())]
            if id_ not in told and not any(row.get("told") for row in found):
                litter.append(subject)
                continue
            self._digests[id_] = {digest for row in found for digest in row["turns"]}
            self._at[id_] = min(row["at"] for row in found)
            self._next_n[id_] = max(numbered) + 1
            self._turns |= self._digests[id_]
        return owed, litter

    def knows(self, id_: str) -> bool:
        """Return whether this erasure was decided before."""
        return id_ in self._at

    def covers(self, turn: TurnKey) -> bool:
        """Return whether a turn was erased."""
        return bool(self._turns) and digest_of(turn) in self._turns

    def decide(self, answer: Erased, turns: Iterable[TurnKey]) -> list[Row]:
        """Note that `turns` are erased; return the rows to be journaled before everything that follows from it."""
        digests = sorted(set(map(digest_of, turns)))
        pieces = [digests[at : at + _DIGESTS_PER_ROW] for at in range(0, len(digests), _DIGESTS_PER_ROW)] or [[]]
        rows = [Row(_DIGESTS + answer.id, n, _value(answer.at, turns=piece)) for n, piece in enumerate(pieces)]
        self._digests[answer.id] = set(digests)
        self._at[answer.id] = answer.at
        self._next_n[answer.id] = len(rows)
        self._turns |= self._digests[answer.id]
        told = answer.model_dump(mode="json", exclude_defaults=True) | {"type": "erased"}
        return [*rows, Row(_ANSWER + answer.id, 0, _value(answer.at, answer=told))]

    def told(self, answer: Erased) -> Row:
        """Note that an answer is durable; return the row that says so. After it the `owed_subject` can be cleared."""
        n = self._next_n[answer.id]
        self._next_n[answer.id] = n + 1
        return Row(_DIGESTS + answer.id, n, _value(answer.at, turns=[], told=True))

    def expired(self, before: float) -> list[str]:
        """Forget erasures decided `before`, and return their subjects: no request of theirs can come again."""
        old = [id_ for id_, at in self._at.items() if at < before]
        for id_ in old:
            del self._digests[id_], self._at[id_], self._next_n[id_]
        if old:
            self._turns = set().union(*self._digests.values())
        return [_DIGESTS + id_ for id_ in old]


def owed_subject(answer: Erased) -> str:
    """Return the subject that holds an answer until it is told."""
    return _ANSWER + answer.id


def _value(at: float, **fields: Any) -> bytes:
    return codec.dump({"v": ERASURES_VERSION, "at": at, **fields})


def _read(value: bytes) -> dict[str, Any]:
    try:
        data: dict[str, Any] = codec.load(value)
        if data["v"] > ERASURES_VERSION:
            raise NewerJournalError(
                f"a row about erased turns has version {data['v']}, this build knows {ERASURES_VERSION}: "
                "start the newer turngate again"
            )
    except (KeyError, TypeError, ValueError, WireError) as exc:
        raise JournalError(f"a row about erased turns cannot be read ({type(exc).__name__})") from None
    return data
