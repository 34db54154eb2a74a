"""What an answer costs in the journal: at most 2.5 times its bytes, and 160 for each record, tombstones included."""

from __future__ import annotations

import re

import pytest

from processors import Answer, Deps, Incremental, Replace, output_processor
from processors.builtin import cards, emails
from streams.gate.records import JournalRecord
from streams.journal.keys import RowKey, is_claim
from tests.streams.turns.simulation import JOURNAL, turn
from tests.streams.turns.test_loop import Bench, on_a_bench
from topics import names
from topics.records import ModelFrame

PER_BYTE, PER_RECORD = 2.5, 160
#: A message is no part of the answer, and its thread remembers it too.
QUESTION = "hello"

PROSE = "The parcel for Bob goes out on Tuesday; write to bob.ray@example.com if it does not. It weighs two pounds. "
TEXTS = {
    "prose with addresses": PROSE,
    "code": 'if (name == "Bob") {\n    print("It\'s \\"here\\"");\n}\n\n',
    "json": '{"name": "Bob Ray", "items": [{"sku": "A-17", "count": 2}],\n "note": "call first"}\n',
    "Chinese": "\u4f60\u597d\uff0c\u5305\u88f9\u5468\u4e8c\u5bc4\u51fa\u3002\u8bf7\u8054\u7cfb bob.ray@example.com\u3002",
    "emoji": "On its way \U0001f69a\U0001f4e6! \U0001f468\u200d\U0001f469\u200d\U0001f467 say hello \u2764\ufe0f ",
}


@output_processor(name="redact-whole")
def redact_whole(answer: Answer) -> Replace:
    """Replace addresses, once the answer is complete."""
    return Replace(re.sub(r"\S+@\S+", "[email]", answer.text))


@output_processor(name="redact-incrementally", incremental=Incremental(lookback_chars=64))
def redact_incrementally(answer: Answer) -> Replace:
    """Replace addresses, while the answer is written."""
    return Replace(re.sub(r"\S{1,32}@\S{1,31}", "[email]", answer.text))


CHAINS = {
    "none": Deps(),
    "whole": Deps(output_processors=[redact_whole]),
    "incremental": Deps(output_processors=[redact_incrementally]),
    "scanners": Deps(output_processors=[emails(), cards()]),
}


class Cost:
    """The bytes and records of the journal after one answer, and the bytes of that."""

    def __init__(self, chain: str, words: str, length: int, size: int, *, at_once: int = 1) -> None:
        self.answer = (words * (length // len(words) + 1))[:length]
        self.bytes = self.records = 0
        self._frames = [self.answer[start : start + size] for start in range(0, length, size)]
        self._at_once = at_once
        on_a_bench(self._play, CHAINS[chain])

    async def _play(self, bench: Bench) -> None:
        await bench.deliver(turn("turn-1", "thread-1", message=QUESTION))
        texts = [*self._frames, ""]
        frames = [
            ModelFrame(turn_id="turn-1", thread_id="thread-1", seq=seq, text=text) for seq, text in enumerate(texts)
        ]
        frames[-1] = frames[-1].model_copy(update={"finish_reason": "stop"})
        for start in range(0, len(frames), self._at_once):
            await bench.deliver(*frames[start : start + self._at_once], topic=names.FRAMES)
        assert not bench.loop.desk.turns, "it is over, and its rows are cleared"
        self.rows = bench.broker.read(JOURNAL)
        self.bytes = sum(len(one.key or b"") + len(one.value or b"") for one in self.rows)
        self.records = len(self.rows)
        assert any(is_claim(one.key) for one in self.rows)
        assert any(one.value is None for one in self.rows), "tombstones count"

    @property
    def allowed(self) -> float:
        """How many bytes it may be."""
        return PER_BYTE * len(self.answer.encode()) + PER_RECORD * self.records


@pytest.mark.parametrize("words", TEXTS)
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize(("length", "size"), [(0, 1), (1, 1), (60, 1), (400, 4), (4_000, 20), (20_000, 2_000)])
def test_an_answer_costs_at_most_so_much(chain: str, words: str, length: int, size: int) -> None:
    """Whatever lets it out, in whatever language, in frames of whatever size, each a record of its own."""
    cost = Cost(chain, TEXTS[words], length, size)
    assert cost.bytes <= cost.allowed


@pytest.mark.parametrize("chain", CHAINS)
def test_a_long_answer_costs_no_more_for_each_of_its_bytes(chain: str) -> None:
    """Two hundred thousand characters, with thousands of findings; many frames are one record then."""
    cost = Cost(chain, PROSE, 200_000, 100, at_once=20)
    assert cost.bytes <= cost.allowed
    # Without the allowance for records, which a long answer hardly has: as it came, and as its thread remembers it.
    assert cost.bytes <= PER_BYTE * len(cost.answer)


def test_frames_that_wait_together_are_one_record() -> None:
    """And so the cost of records is that of batches."""
    alone, together = Cost("scanners", PROSE, 2_000, 20), Cost("scanners", PROSE, 2_000, 20, at_once=50)
    rows = [one for one in together.rows if one.value is not None and b'"llm:0"' in one.value]
    assert len(rows) == len(range(0, 101, 50))
    assert together.records < alone.records / 10


def test_what_a_redactor_leaves_is_not_written_twice() -> None:
    """The text of a release is in the journal once, as it arrived: the release says where."""
    cost = Cost("scanners", "nothing to be found in here, whoever looks ", 4_000, 200)
    rows = [one for one in cost.rows if one.value is not None and b'"llm:0"' in one.value]
    read = [JournalRecord.decode(RowKey.parse(one.key or b"").n, one.value or b"") for one in rows]
    assert sum(len(getattr(record.entry, "text", "")) for record in read) == 4_000
    assert not any(getattr(record.entry, "release", "") for record in read)


def test_text_of_nothing_but_escapes_costs_what_its_json_does() -> None:
    """The bound is one of text as people and models write it: JSON spells a quote with two bytes."""
    cost = Cost("none", '"', 4_000, 200)
    assert cost.bytes > cost.allowed
    assert cost.bytes <= PER_BYTE * 2 * len(cost.answer) + PER_RECORD * cost.records
