"""Cases about what stands in records, and about records that nobody can read: through the desk, as bytes."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from processors import Answer
from streams.chains import InlineChainRunner
from streams.gate import events
from streams.gate.policy import Policy
from streams.gate.work import RunOutput
from streams.sources import Source
from streams.turns.desk import Desk
from streams.turns.desk_settings import DeskSettings
from streams.turns.inputs import Input, News
from streams.turns.plan import Plan
from tests.cases.case import Case, case, cases
from tests.cases.harness import policy_of
from tests.cases.made import output_deps
from tests.streams.gate.play import START
from topics import codec, names
from topics.fold import TurnView, fold
from topics.ids import TurnKey
from topics.names import Topic
from topics.records import ModelFrame, TurnRequest

CASES = [pytest.param(one, id=one.name) for one in cases("wire")]


@dataclass
class Partition:
    """One partition's desk with what it was told, and the records it planned to write."""

    runner: InlineChainRunner
    policy: Policy
    plans: list[Plan] = field(default_factory=list)
    offset: int = 0

    def __post_init__(self) -> None:
        self.desk = Desk(0, self.policy, DeskSettings(partitions=1))

    async def read(self, topic: Topic, value: bytes | None) -> None:
        """Read one record, and run whatever chains are waited for then."""
        self.take(Source(topic, 0, self.offset, value, ack=lambda: None))
        self.offset += 1
        for key, turn in list(self.desk.turns.items()):
            work = self.desk.work(key)
            if isinstance(work, RunOutput):
                answer = turn.answer
                outcome = await self.runner.run_output(_judged(str(answer.text), complete=work.final))
                self.take(News(key, events.PassDone(work.step, work.attempt, work.upto, work.final, outcome)))

    def take(self, item: Input) -> None:
        """Take one input in."""
        self.plans.append(self.desk.take([item], START))

    @property
    def values(self) -> list[bytes]:
        """Every record that is written: of the journal, and to every topic."""
        journal = [record.encode() for plan in self.plans for _, record in plan.journal]
        effects = [effect for plan in self.plans for out in plan.outgoing for effect in out.effects]
        return [*journal, *(codec.encode(effect.record) for effect in effects)]

    def view(self, key: TurnKey) -> TurnView:
        """What a reader of one turn has."""
        view = TurnView(key)
        for plan in self.plans:
            for effect in (effect for out in plan.outgoing for effect in out.effects):
                if effect.topic is names.RELEASED_FRAMES:
                    view = fold(view, effect.record)  # type: ignore[arg-type]  # records of that topic
        return view


def _judged(text: str, *, complete: bool) -> Answer:
    return Answer(text, complete=complete)


def key(turn: str) -> TurnKey:
    """Return a case's turn; each is of a thread of its own, since those of one thread wait for each other."""
    return TurnKey("default", f"thread-of-{turn}", turn)


def values(one: Case) -> list[bytes | None]:
    """Return the case's records as this project spells their fields; what is no record stays as it is."""
    return [_value(entry) for entry in one.fields["wire"]]


def _value(entry: str | dict[str, str] | None) -> bytes | None:
    if entry is None:
        return None
    raw = base64.b64decode(entry["b64"]) if isinstance(entry, dict) else entry.encode()
    for turn in ("t1", "t2"):
        ids = json.dumps({"thread_id": key(turn).thread_id, "turn_id": turn})[1:-1]
        raw = raw.replace(f'"turn":"{turn}"'.encode(), ids.encode())
    return raw.replace(b'"type":"finish","reason":', b'"finish_reason":')


@pytest.fixture
async def partition(request: pytest.FixtureRequest) -> AsyncIterator[Partition]:
    """Give the partition after a case's records, its turns having been asked for before."""
    one: Case = request.param
    runner = InlineChainRunner(output_deps(one))
    await runner.start()
    partition = Partition(runner, policy_of(one))
    for turn in ("t1", "t2"):
        request_ = TurnRequest.model_validate({**key(turn)._asdict(), "message": "hi"})
        await partition.read(names.REQUESTS, codec.encode(request_))
    for value in values(one):
        await partition.read(names.FRAMES, value)
    yield partition
    await runner.stop()


@pytest.mark.parametrize(("one", "partition"), [(p.values[0], p.values[0]) for p in CASES], indirect=["partition"])
def test_the_turns_end_with_the_text_that_the_case_states(one: Case, partition: Partition) -> None:
    """Every turn the case tells of, whatever else is in the partition; and all that is written is UTF-8.

    Judgement: halves of a character in neighbouring frames are joined, one that stays alone becomes U+FFFD.
    """
    final = one.expected["final"]
    for turn, text in (final if isinstance(final, dict) else {"t1": final}).items():
        view = partition.view(key(turn))
        assert view.terminal is not None
        assert (view.terminal.kind, view.text) == (one.expected["outcome"], text)
    for value in partition.values:
        value.decode()
        json.loads(value)


@pytest.mark.parametrize("partition", [case("poison-records")], indirect=True)
def test_every_unreadable_record_is_refused_and_the_partition_goes_on(partition: Partition) -> None:
    """`poison-records`: one refusal each, and the turn that some of them name visibly fails."""
    refused = [one for plan in partition.plans for one in plan.refused]
    assert len(refused) == 6
    assert {one.error for one in refused} == {"MalformedRecordError"}
    view = partition.view(key("t1"))
    assert view.terminal is not None
    assert view.terminal.kind == "failed"


def test_a_frame_survives_the_wire_with_its_half() -> None:
    """`surrogate-pair-split`: what orjson refuses is read all the same."""
    first = codec.decode(values(case("surrogate-pair-split"))[0], names.MODEL_FRAME)
    assert isinstance(first, ModelFrame)
    assert first.text == "Party \ud83c"
