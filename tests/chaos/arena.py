"""One fault after the other, each in the middle of a wave of turns, and what readers made of it."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from processors import Deps
from processors.testing import run_gate
from tests.brokers.broker import Broker
from tests.chaos.crew import LIMIT_S, Crew
from tests.chaos.faults import Fault, Scene
from tests.chaos.readers import Readers
from tests.chaos.report import Form, Row, Rows
from tests.integration import chains
from tests.integration.answers import answer
from tests.integration.pipeline import COMMAND, Pipeline
from topics.fold import TurnView
from topics.ids import TurnKey

#: How answers are released, and the chain that makes it so; None is no chain at all.
MODES: Mapping[str, str | None] = {
    "incremental": "streaming",
    "whole": "whole",
    "scan": "scanning",
    "live": None,
}
#: More than any single fault can cost, so that a turn never fails for having been unlucky twice.
ATTEMPTS = 6
_FINAL_EVERY = 10


@dataclass(frozen=True, slots=True)
class Size:
    """How many turns a wave has, of how many frames each, one every `delay_s` seconds."""

    turns: int
    frames: int
    delay_s: float


SHORT = Size(turns=24, frames=16, delay_s=0.5)
LONG = Size(turns=100, frames=24, delay_s=0.5)


@cache
def expected(chain: str | None, seed: int, attempt: int, frames: int) -> str:
    """Return the text that a reader of an undisturbed run ends with."""
    deps: Deps = Deps() if chain is None else getattr(chains, chain)
    return run_gate(deps, answer(f"{seed}/{attempt}", frames)).text


class Arena:
    """A pipeline with its crew and readers, and the table that results go into."""

    def __init__(
        self,
        pipeline: Pipeline,
        crew: Crew,
        readers: Readers,
        rows: Rows,
        *,
        broker: str,
        mode: str,
        members: str,
        size: Size,
        hit_broker: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.crew = crew
        self.readers = readers
        self._rows = rows
        self._broker = broker
        self._mode = mode
        self._members = members
        self._size = size
        #: How readers ended in the latest wave, in words, and how many in each way.
        self.verdicts: Counter[str] = Counter()
        self._chance = random.Random(f"{broker}/{mode}")
        self._scene = Scene(crew, hit_broker or _no_broker)

    async def strike_all(self, faults: Sequence[Fault]) -> None:
        """Inject one fault after the other, each into a whole crew."""
        for number, fault in enumerate(faults):
            if number:
                await self.crew.settle()
            await self.strike(fault)

    async def strike(self, fault: Fault, *, chain_after: str | None = None) -> Row:
        """Open a wave of turns, inject `fault` in their middle, and compare what all readers end with.

        With `chain_after`, the chain that the fault changes to, a turn may end as either chain has it, or `failed` on the
        way to one of them.
        """
        calls_lost = self.crew.claims("models")
        turns = await self._open_wave(fault)
        await self._until_half_way(list(turns))
        open_ = len(self.readers.open(turns))
        fault_at = asyncio.get_running_loop().time()
        await fault.inject(self._scene)
        await self.readers.until(lambda: not self.readers.open(turns), LIMIT_S)
        late = await self.pipeline.read(turns, timeout_s=LIMIT_S)
        calls_lost = self.crew.claims("models") - calls_lost
        self.verdicts = Counter(
            [
                await asyncio.to_thread(self._verdict, view, seed, chain_after)
                for turn, seed in turns.items()
                for view in (self.readers.of[turn].view, late[turn])
            ]
        )
        readings = [self.readers.of[turn] for turn in turns]
        attempts = [view.terminal.attempt + 1 for view in late.values() if view.terminal is not None]
        row = Row(
            broker=self._broker,
            mode=self._mode,
            members=self._members,
            fault=fault.name,
            turns=len(turns),
            open=open_,
            readers=self.verdicts.total(),
            equal=self.verdicts["equal"] + self.verdicts["as changed"],
            failed=self.verdicts["failed"],
            dropped=sum(reading.dropped for reading in readings),
            attempts=sum(attempts),
            ended_themselves=self.crew.ended_themselves,
            recovery_s=round(self.readers.recovery_s(turns, fault_at), 1),
            # A whole answer comes at once, or not at all: there is no pause in it.
            pause_s=None if self._mode == "whole" else round(max(r.longest_pause_s for r in readings), 1),
        )
        self.crew.ended_themselves = 0
        self._rows.add(row)
        assert open_ > len(turns) / 2, "most turns were over before the fault: it shows nothing"
        wrong = sorted(set(self.verdicts) - {"equal"} - ({"as changed", "failed"} if chain_after else set()))
        assert not wrong, f"{fault.name}: {wrong}"
        if fault.spares_calls and not calls_lost:
            assert set(attempts) == {1}, f"{fault.name}: calls were made again although no runner lost its partitions"
        return row

    async def _open_wave(self, fault: Fault) -> dict[TurnKey, int]:
        """Submit a wave of turns and return them, each with the seed of its answers."""
        wave = f"{fault.name.replace(' ', '-')}"
        turns = {TurnKey("default", f"{wave}-{seed}", f"turn-{seed}"): seed for seed in range(self._size.turns)}
        for turn in turns:
            self.readers.watch(turn)
        await asyncio.gather(*(self._submit(turn, seed) for turn, seed in turns.items()))
        return turns

    async def _submit(self, turn: TurnKey, seed: int) -> None:
        await self.pipeline.submit(
            "hello",
            turn.thread_id,
            [
                {"text": text, "attempt": attempt}
                for attempt in range(ATTEMPTS)
                for text in answer(f"{seed}/{attempt}", self._size.frames)
            ],
            turn_id=turn.turn_id,
            params={"delay_s": self._size.delay_s},
            delivery="final" if seed % _FINAL_EVERY == _FINAL_EVERY - 1 else "stream",
        )

    async def _until_half_way(self, turns: Sequence[TurnKey]) -> None:
        """Return when most of the turns are under way, at a moment that chance chooses."""
        if self._mode == "whole":  # nothing is to be seen of it
            await asyncio.sleep(self._size.frames * self._size.delay_s / 3)
        else:
            enough = len(turns) / 2
            await self.readers.until(
                lambda: sum(bool(self.readers.of[turn].text_at) for turn in turns) >= enough, LIMIT_S
            )
        await asyncio.sleep(self._chance.uniform(0.0, 2 * self._size.delay_s))

    def _verdict(self, view: TurnView, seed: int, chain_after: str | None) -> str:
        """Say in a word how a reader's end compares with the undisturbed one."""
        end = view.terminal
        if end is None or view.contradicted:
            return "contradicted"
        undisturbed = expected(MODES[self._mode], seed, end.attempt, self._size.frames)
        changed = undisturbed if chain_after is None else expected(chain_after, seed, end.attempt, self._size.frames)
        allowed = {changed: "as changed", undisturbed: "equal"}
        if end.kind == "completed":
            return allowed.get(view.text, "different")
        if end.kind == "failed" and any(text.startswith(view.text) for text in allowed):
            return "failed"
        return end.kind


async def _no_broker() -> None:
    raise AssertionError("this fault needs a broker that can be hit")


@asynccontextmanager
async def open_arena(
    broker: Broker,
    prefix: str,
    directory: Path,
    rows: Rows,
    *,
    mode: str,
    form: Form,
    static: bool = False,
    hit_broker: Callable[[], Awaitable[None]] | None = None,
    turns_command: Sequence[str] = COMMAND,
    **settings: Any,
) -> AsyncIterator[Arena]:
    """Give a pipeline with three turn workers and two model runners on `broker`, ready for the first fault.

    With `static`, the workers are known to their groups by name. `settings` are of the pipeline; `turns_command` starts the
    first turn workers.
    """
    chain = MODES[mode]
    settings = {"processor_workers": 1, "max_attempts": ATTEMPTS, "retries_per_minute": 100_000.0, **settings}
    deps = chain and f"tests.integration.chains:{chain}"
    async with Pipeline(broker.bootstrap, prefix, directory, deps, **settings) as pipeline:
        crew = Crew(pipeline, static=static)
        crew.start(turns=3, models=2, turns_command=turns_command)
        try:
            await crew.settle()
            async with Readers(pipeline) as readers:
                yield Arena(
                    pipeline,
                    crew,
                    readers,
                    rows,
                    broker=broker.name,
                    mode=mode,
                    members="static" if static else "dynamic",
                    size=LONG if form == "full" else SHORT,
                    hit_broker=hit_broker,
                )
        finally:
            await crew.stop()
