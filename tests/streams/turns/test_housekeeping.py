"""What thousands of finished turns leave behind in a worker: little each while they can be asked for, nothing after."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Iterable

from processors import Deps
from processors.builtin import emails, redact
from streams.gate.policy import Policy
from streams.journal.keys import is_claim
from streams.turns.wakeups import LOOK_S
from tests.memory.simtime import jump, settled
from tests.streams.turns.simulation import JOURNAL, RELEASED, turn
from tests.streams.turns.test_loop import Bench, on_a_bench
from topics import names
from topics.records import ModelFrame

PAGE = 250
OURS = ("streams.", "topics.", "processors.")
#: What is kept of a finished turn: its key, and where its end is.
KEPT = {"Done": 1, "TurnKey": 1}


async def finish(bench: Bench, numbers: Iterable[int]) -> None:
    """Have a worker take turns from their request to their end, a page at a time."""
    waiting = list(numbers)
    for start in range(0, len(waiting), PAGE):
        page = waiting[start : start + PAGE]
        await bench.deliver(*(turn(f"t-{number}", f"h-{number}", history=[]) for number in page))
        await bench.deliver(*(frame for number in page for frame in answer(number)), topic=names.FRAMES)
        assert not bench.loop.desk.turns, "all of them have ended"
        forget_the_rest_of_the_world(bench)


def answer(number: int) -> list[ModelFrame]:
    """Return the frames of a turn's answer."""
    texts = ("write to bob@exam", None), ("ple.com, please", "stop")
    return [
        ModelFrame(turn_id=f"t-{number}", thread_id=f"h-{number}", seq=seq, text=text, finish_reason=finish)
        for seq, (text, finish) in enumerate(texts)
    ]


def forget_the_rest_of_the_world(bench: Bench) -> None:
    """Drop what the broker keeps in this process, and the trace: they are no part of the worker."""
    bench.trace.clear()
    bench.process.power.passed.clear()
    for (topic, _), log in bench.broker.logs.items():
        if topic != JOURNAL:
            log.records.clear()


async def look_at_all(bench: Bench) -> None:
    """Let the time come to look at every turn: only then is that time forgotten, not when the turn ends."""
    jump(LOOK_S + 1)
    await asyncio.sleep(2)
    await settled()
    forget_the_rest_of_the_world(bench)


def ours() -> Counter[str]:
    """Count the living objects of the project's own classes."""
    gc.collect()
    return Counter(type(one).__name__ for one in gc.get_objects() if str(type(one).__module__).startswith(OURS))


def test_a_finished_turn_leaves_its_key_and_where_its_end_is() -> None:
    """No state, record, effect, scanner, task or result of it stays, whatever released its text; in the end, nothing."""

    async def test(bench: Bench) -> None:
        elsewhere = ours()["Done"]  # whatever other tests still hold
        await finish(bench, range(PAGE))
        await look_at_all(bench)
        before = ours()
        await finish(bench, range(PAGE, 9 * PAGE))
        await look_at_all(bench)
        grown = ours() - before
        # A few more or less: what is under way, and what was given to be used again.
        assert {name: count // (8 * PAGE - 10) for name, count in grown.items() if count > 10} == KEPT
        jump(25 * 3600)
        await asyncio.sleep(61)
        await settled()
        forget_the_rest_of_the_world(bench)
        left = ours() - before
        assert {name: count for name, count in left.items() if count > 10} == {}
        assert ours()["Done"] <= elsewhere

    for deps in (Deps(), Deps(output_processors=[redact([emails()])])):
        on_a_bench(test, deps=deps)


def test_finished_turns_shrink_to_one_record_each_and_expire_from_the_journal() -> None:
    """Once the log is cleaned it holds a record for each turn that can be asked for, and then the claim alone."""

    async def test(bench: Bench) -> None:
        log = bench.broker.logs[JOURNAL, 0]
        await finish(bench, range(2 * PAGE))
        log.compact(drop_tombstones=True)
        assert len(log.records) == 2 * PAGE + 1
        assert all(len(one.value or b"") < 150 for one in log.records)
        jump(25 * 3600)
        await asyncio.sleep(61)
        await settled()
        log.compact(drop_tombstones=True)
        (claim,) = log.records
        assert is_claim(claim.key)

    on_a_bench(test)


def test_turns_that_failed_leave_no_more_than_those_that_went_well() -> None:
    """Timed out, while the model was silent and frames were missing."""

    async def silent(bench: Bench, numbers: range) -> None:
        await bench.deliver(*(turn(f"t-{number}", f"h-{number}", history=[]) for number in numbers))
        late = [answer(number)[1] for number in numbers]
        await bench.deliver(*late, topic=names.FRAMES)
        await asyncio.sleep(40)
        await settled()
        assert len(bench.broker.values(RELEASED)) == len(numbers)
        assert not bench.loop.desk.turns
        forget_the_rest_of_the_world(bench)

    async def test(bench: Bench) -> None:
        await silent(bench, range(PAGE))
        before = ours()
        await silent(bench, range(PAGE, 4 * PAGE))
        grown = ours() - before
        assert {name: count // (3 * PAGE - 10) for name, count in grown.items() if count > 10} == KEPT

    on_a_bench(test, policy=Policy(gap_timeout_s=30))
