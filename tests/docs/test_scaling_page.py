"""`docs/scaling.md` against the code: the worksheet's arithmetic, what a turn writes, and numbers that stand in the text."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter

import pytest

from bench.sizing import (
    END_BYTES,
    ENDED_BYTES,
    ENVELOPES,
    JOURNAL_PER_BYTE,
    JOURNAL_PER_RECORD,
    Demand,
    size,
    written_per_turn,
)
from streams.gate import events
from streams.gate.entries import Closed
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.settings import Settings
from streams.turns.desk import Desk
from streams.turns.desk_settings import DeskSettings
from streams.turns.inputs import Input, News
from streams.turns.loop import TICK_S
from streams.turns.wakeups import LOOK_S
from tests.docs.markdown import ROOT, code, sections
from tests.streams.turns.desks import source
from topics import codec, names
from topics.ids import TurnKey
from topics.layout import wanted_layout
from topics.records import ModelFrame, TurnRequest

PAGE = ROOT / "docs" / "scaling.md"
SECTIONS = sections(PAGE)
TEXT = " ".join(PAGE.read_text(encoding="utf-8").split())
TURN = TurnKey("acme", "0b5f8a6e-6f0a-4a52-9f0e-0d1a3c1f2b11", "7d1c1f7e-54c5-4b5a-8a55-5c1f4c1e9a33")


def example() -> Demand:
    """Return the demand of the page's worksheet."""
    rows = [row for row in SECTIONS["Worksheet"].rows if "input" in row]
    return Demand(**{code(row["input"]): float(row["the example"]) for row in rows})  # type: ignore[arg-type]


def outputs() -> dict[str, str]:
    """Return what the page says that comes of it."""
    return {code(row["output"]): row["the example"] for row in SECTIONS["Worksheet"].rows if "output" in row}


def test_the_worksheet_adds_up() -> None:
    """Every output of the function is on the page, with three digits of what it comes to for the inputs there."""
    found = dataclasses.asdict(size(example()))
    assert {name: float(shown) for name, shown in outputs().items()} == {
        name: float(f"{value:.3g}") for name, value in found.items()
    }


def test_the_snippet_asks_for_the_same() -> None:
    """What a reader copies is the table's example."""
    given = dict(re.findall(r"(\w+)=([\d.]+)", TEXT[TEXT.index("asked = Demand(") : TEXT.index("print(size(asked))")]))
    assert {name: float(value) for name, value in given.items()} == {
        name: float(getattr(example(), name)) for name in given
    }
    assert len(given) == len([row for row in SECTIONS["Worksheet"].rows if "input" in row])


def test_more_is_asked_of_a_pipeline_that_has_more_to_do() -> None:
    """Twice the turns want twice of what is counted by turns, and twice the answers twice their bytes."""
    one, two = size(example()), size(dataclasses.replace(example(), turns_per_s=2 * example().turns_per_s))
    assert two.open_turns == 2 * one.open_turns
    assert two.written_mb_per_s == pytest.approx(2 * one.written_mb_per_s)
    assert two.turn_workers >= one.turn_workers
    forgetful = size(dataclasses.replace(example(), remembered_days=0))
    assert forgetful.standstill_s < one.standstill_s
    assert forgetful.worker_memory_gb < one.worker_memory_gb


def test_a_worker_that_holds_few_turns_open_is_not_asked_for_more() -> None:
    """Long turns of few frames are bounded by how many are open."""
    slow = dataclasses.replace(example(), turn_s=3_000, frames_per_turn=1, answer_bytes=10)
    assert size(slow).turn_workers == 1 + 60_000 / 10_000 / 0.5


def written(frames: int, piece: str, message: str) -> Counter[str]:
    """Return the bytes that a turn writes by topic, keys included, without processors and without decisions."""
    desk = Desk(0, Policy(), DeskSettings(partitions=1))
    found: Counter[str] = Counter()
    key = len(TURN.thread.encode())

    def take(*inputs: Input) -> None:
        plan = desk.take(inputs, 1_800_000_000.123)
        for turn, record in plan.journal:
            found["journal"] += len(record.encode()) + len(f"{turn}/{record.n}/123456")
        found["journal"] += sum(len(row.value) + len(row.subject) for row in plan.remember)
        ended = []
        for out in plan.outgoing:
            desk.confirmed(out.turn, out.n)
            for effect in out.effects:
                found[effect.topic.name] += len(codec.encode(effect.record)) + key
                ended += [News(out.turn, events.Published(out.n, 123_456))] if effect.terminal else []
        if ended:
            take(*ended)

    fields = {**TURN._asdict(), "agent": "support", "channel": "web", "message": message}
    request = source(TurnRequest.model_validate(fields), partition=0)
    found["requests"] += len(request.value or b"") + key
    take(request)
    for seq in range(frames):
        end = {"finish_reason": "stop"} if seq == frames - 1 else {}
        frame = source(
            ModelFrame.model_validate({**TURN._asdict(), "seq": seq, "text": piece, **end}),
            topic=names.FRAMES,
            partition=0,
        )
        found["frames"] += len(frame.value or b"") + key
        take(frame)
    assert desk.turns == {}, "it has ended"
    return found


@pytest.mark.parametrize(("frames", "piece"), [(200, "ten chars "), (10, "a longer piece of text. " * 20)])
def test_what_a_turn_writes_is_what_is_counted_with(frames: int, piece: str) -> None:
    """Within a tenth; the journal is a bound, so it is at most that and not far below."""
    message = "Where is my order, and when will it be here? " * 6
    found = written(frames, piece, message)
    demand = dataclasses.replace(
        example(), frames_per_turn=frames, answer_bytes=frames * len(piece), message_bytes=len(message)
    )
    counted = written_per_turn(dataclasses.replace(demand, prompt_bytes=len(message)))
    for topic in (names.REQUESTS, names.PROMPTS, names.FRAMES, names.RELEASED_FRAMES, names.USAGE):
        assert found[topic.name] == pytest.approx(counted[topic.name], rel=0.1), topic.name
    assert 0.5 * counted["journal"] < found["journal"] < 1.2 * counted["journal"]


def test_what_a_closed_turn_leaves_is_small() -> None:
    """Its last record and its key."""
    record = JournalRecord(9, 1_800_000_000.123, 8, Closed(outcome="completed", partition=7, offset=123_456))
    assert len(record.encode()) + len(f"{TURN}/9/123456") == pytest.approx(ENDED_BYTES, rel=0.25)


def test_numbers_in_the_text_are_those_of_the_code() -> None:
    """Envelopes, bounds, retention, limits and what follows from the example."""
    rows = {row["topic"]: row["bytes of a turn"] for row in SECTIONS["Bytes"].rows}
    assert rows["`requests`"] == f"{ENVELOPES[names.REQUESTS]} + m"
    assert rows["`prompts`"] == f"{ENVELOPES[names.PROMPTS]} + p"
    assert rows["`frames`"] == f"{ENVELOPES[names.FRAMES]} f + a"
    assert rows["`released`"].startswith(f"{ENVELOPES[names.RELEASED_FRAMES]} r + {END_BYTES} + 2a")
    assert rows["journal"].startswith(f"at most {JOURNAL_PER_BYTE} a + {JOURNAL_PER_RECORD} r")
    assert rows["`usage`, `decisions`"].startswith(f"{ENVELOPES[names.USAGE]}, and {ENVELOPES[names.DECISIONS]} ")
    kept = {row["topic"]: row["kept, by default"] for row in SECTIONS["Bytes"].rows}
    for topic in (names.REQUESTS, names.PROMPTS, names.FRAMES, names.RELEASED_FRAMES):
        assert kept[f"`{topic.name}`"].startswith(f"{(topic.retention_s or 0) // 86_400} day")
    assert f"every {LOOK_S:g} s" in TEXT
    assert 1 / TICK_S == 4
    assert "four times a second" in TEXT
    per_n = [sum(one.partitions for one in wanted_layout(names.Names(), n)) for n in (1, 2)]
    assert f"A prefix has {per_n[1] - per_n[0]} n + {2 * per_n[0] - per_n[1]}, times replicas" in TEXT
    assert 4_000 * 0.8 < sum(one.partitions for one in wanted_layout(names.Names(), 256)) < 4_000


def test_the_cluster_on_paper_adds_up() -> None:
    """From the example: three brokers with three replicas, each writing 100 MB/s; a gateway at 1 Gbit/s."""
    a_turn = sum(written_per_turn(example()).values())
    assert f"writes {round(a_turn / 1e3, -1):.0f} kB before replication" in TEXT
    turns = 100e6 / a_turn
    assert f"that is {round(turns, -2):.0f} turns a second" in TEXT
    assert f"{round(turns * example().turn_s, -3):,.0f} open turns and {round(turns * 200, -4):,.0f} frames" in TEXT
    assert 125e6 / written_per_turn(example())["released"] > 2_000


def test_the_defaults_are_those_of_the_settings() -> None:
    """What one process may have open."""
    settings = Settings()
    demand = example()
    assert demand.worker_open_turns == settings.max_open_turns
    assert f"its default of {settings.max_open_turns:,}" in TEXT
    assert f"without it {demand.worker_frames_per_s:,.0f} are counted with" in TEXT
    assert demand.runner_calls == settings.max_calls
    assert demand.gateway_streams == settings.gateway_max_streams
    assert Demand.__dataclass_fields__["remembered_days"].default == settings.thread_retention_s / 86_400
