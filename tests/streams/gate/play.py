"""A turn played by hand: what happens to it, what is journaled, what is published, and what a reader makes of that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, TypeAlias

from processors.outcomes import Approved, OutputOutcome, Refused, Report
from streams.gate import events, machine
from streams.gate.effects import Publish, effects_of
from streams.gate.entries import AnyEntry
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.gate.scan import AnswerScan
from streams.gate.state import Phase, Turn
from streams.gate.work import RunOutput, work_of
from topics.content import TextPart
from topics.fold import TurnView, fold
from topics.ids import TurnKey
from topics.names import RELEASED_FRAMES
from topics.records import ModelFrame, Record, TextFrame, ToolResult, TurnRequest

KEY = TurnKey("acme", "thread-1", "turn-1")
IDS: dict[str, Any] = KEY._asdict()
#: When played turns begin, in epoch seconds.
START = 1_000.0

#: An output chain as a plain function of the text and of whether it is complete.
Judge: TypeAlias = Callable[[str, bool], OutputOutcome]


def result(call_id: str, content: str | None = "found", **fields: Any) -> ToolResult:
    """Return what a tool answers."""
    return ToolResult(
        tenant=KEY.tenant,
        thread_id=KEY.thread_id,
        turn_id=KEY.turn_id,
        tool_call_id=call_id,
        content=content,
        **fields,
    )


def request(**fields: Any) -> TurnRequest:
    """Return a request for the played turn."""
    return TurnRequest(**{**IDS, "message": (TextPart(text="What is my number?"),), **fields})


def frame(seq: int | None, text: str | None = None, **fields: Any) -> ModelFrame:
    """Return a frame of the played turn's answer."""
    return ModelFrame(**IDS, seq=seq, text=text, **fields)


def answer_in(pieces: Sequence[str], finish: str | None = "stop") -> list[ModelFrame]:
    """Return frames, one per piece, and the finish in one of its own unless it is None."""
    frames = [frame(seq, piece) for seq, piece in enumerate(pieces)]
    return frames if finish is None else [*frames, frame(len(pieces), finish_reason=finish)]


def report(processor: str, verdict: str = "pass") -> Report:
    """Return what a processor of version 1 did."""
    return Report(processor, "1", verdict)  # type: ignore[arg-type]  # tests name verdicts as they are spelt


def mapped(change: Callable[[str], str]) -> Judge:
    """Return a chain that passes `change` of the text."""
    return lambda text, _complete: Approved(change(text))


def refusing(word: str) -> Judge:
    """Return a chain that refuses texts with `word` in them."""
    return lambda text, _complete: Refused("guard", "policy") if word in text else Approved(text)


class Play:
    """One turn. Every record goes through its bytes before it is folded, as it would in a worker.

    `records` is the journal and `published` what its effects were, in order. `scan` follows the answer, if anything does.
    """

    def __init__(self, policy: Policy | None = None, *, scan: AnswerScan | None = None, **fields: Any) -> None:
        self.policy = policy or Policy()
        self.scan = scan
        accepted = machine.accept(request(**fields), partition=3, order=7, now=START, policy=self.policy)
        self.records = [_journaled(JournalRecord(n=0, at=START, confirmed=-1, entry=accepted))]
        self.turn: Turn = machine.begin(self.records[0])
        self.published: list[Publish] = []

    @classmethod
    def resumed(cls, records: Iterable[JournalRecord], policy: Policy, scan: AnswerScan | None = None) -> Play:
        """Return the play as a worker finds it that takes the journal over, the effects published once more."""
        play = cls.__new__(cls)
        play.policy, play.scan = policy, scan
        first, *rest = records
        play.records = [_journaled(first)]
        play.turn = machine.begin(play.records[0])
        play.published = []
        for record in rest:
            play._apply(record)
        return play

    def happen(self, event: events.Event, now: float = START) -> list[AnyEntry]:
        """Let `event` happen; return the entries it gave."""
        entries = list(machine.decide(self.turn, event, now, self.policy, self.scan))
        for entry in entries:
            self._apply(JournalRecord(n=self.turn.n, at=now, confirmed=-1, entry=entry))
        return entries

    def start(self) -> Play:
        """Let the turn's thread be free."""
        self.happen(events.Start())
        return self

    def frames(self, *frames: ModelFrame, now: float = START) -> list[AnyEntry]:
        """Let frames arrive together."""
        return self.happen(events.Frames(frames), now)

    def text(self, *pieces: str) -> Play:
        """Let the next frames of the answer arrive, one text each."""
        following = self.turn.answer.next_seq
        self.frames(*(frame(following + i, piece) for i, piece in enumerate(pieces)))
        return self

    def finish(self, reason: str = "stop", **fields: Any) -> Play:
        """Let the answer's last frame arrive."""
        self.frames(frame(self.turn.answer.next_seq, finish_reason=reason, **fields))
        return self

    def judge(self, chain: Judge) -> list[AnyEntry]:
        """Run `chain` if the turn waits for it; return the entries this gave."""
        work = work_of(self.turn, self.policy)
        if not isinstance(work, RunOutput):
            return []
        return self.passed(chain(str(self.turn.buffer)[: work.upto], work.final), upto=work.upto, final=work.final)

    def passed(self, outcome: OutputOutcome, *, upto: int | None = None, final: bool = False) -> list[AnyEntry]:
        """Let a pass of the output chain come to `outcome`."""
        turn = self.turn
        covered = len(turn.buffer) if upto is None else upto
        return self.happen(events.PassDone(turn.step, turn.attempt, covered, final, outcome))

    def stream(self, frames: Iterable[ModelFrame], chain: Judge) -> Play:
        """Let frames arrive one by one, each followed by the pass it calls for."""
        for one in frames:
            self.frames(one)
            self.judge(chain)
        return self

    @property
    def phase(self) -> Phase:
        """Where the turn is."""
        return self.turn.phase

    @property
    def checkpoints(self) -> list[str]:
        """The names of the journal's records."""
        return [record.entry.checkpoint for record in self.records]

    @property
    def topics(self) -> list[str]:
        """The topics of what was published, in order."""
        return [effect.topic.name for effect in self.published]

    def of(self, kind: type[Any]) -> list[Any]:
        """Return the published records of a class."""
        return [effect.record for effect in self.published if isinstance(effect.record, kind)]

    @property
    def releases(self) -> list[str]:
        """The texts of the published text frames."""
        return [one.text for one in self.of(TextFrame)]

    @property
    def view(self) -> TurnView:
        """What a reader has."""
        return read(effect.record for effect in self.published if effect.topic is RELEASED_FRAMES)

    @property
    def outcome(self) -> str | None:
        """The kind of the terminal frame that took effect for a reader."""
        terminal = self.view.terminal
        return terminal.kind if terminal else None

    def _apply(self, record: JournalRecord) -> None:
        record = _journaled(record)
        self.published += effects_of(self.turn, record, self.policy.max_record_bytes)
        self.turn = machine.evolve(self.turn, record)
        self.records.append(record)


def read(frames: Iterable[Record]) -> TurnView:
    """Return what a reader of the played turn has after released frames."""
    return reduce(fold, frames, TurnView(KEY))  # type: ignore[arg-type]  # released frames are records too


def _journaled(record: JournalRecord) -> JournalRecord:
    """Return the record as it comes back from the journal; what is lost on the way is a fault."""
    back = JournalRecord.decode(record.n, record.encode())
    assert back == record
    return back
