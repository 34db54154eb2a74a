"""Versions that judge live answers beside those that count: compared and recorded, never enforced, never waited for.

They run in a process of their own, after the active chain has judged a whole answer. Where that process does not keep up,
answers are left out: what counts is never delayed by what does not.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from processors.board import Plan
from processors.contracts import Answer
from processors.errors import DepsError
from processors.outcomes import Approved, Broken, OutputOutcome, Refused
from streams.chains import ChainRunner
from streams.chains.errors import ChainsError
from streams.gate.decisions import decision_of
from streams.gate.state import Turn
from streams.judging import judge
from streams.ports import Clock, Producer
from topics import codec, names
from topics.names import Names

log = logging.getLogger(__name__)

#: How many answers are being judged in the shadow at once; more than that are left out.
LIMIT = 8


class ShadowRunner(ChainRunner, Protocol):
    """What runs the versions in the shadow."""

    async def install(self, plan: Plan) -> ChainRunner:
        """Make ready to run the chains of a plan."""

    def uninstall(self, chains: ChainRunner) -> None:
        """Forget chains."""


class Shadow:
    """The shadow of one worker. `make_runner` makes what it runs in, when it is needed for the first time.

    `told` is called once for each answer, with whether the outcome was the same, or why there is none.
    """

    def __init__(
        self,
        make_runner: Callable[[], ShadowRunner],
        topic_names: Names,
        clock: Clock,
        told: Callable[[str], None],
    ) -> None:
        self._make_runner = make_runner
        #: What decisions are written with; none are before it is there.
        self.producer: Producer | None = None
        self._topic = topic_names.topic(names.DECISIONS)
        self._clock = clock
        self._told = told
        self._runner: ShadowRunner | None = None
        self._plan: Plan | None = None
        self._chains: ChainRunner | None = None
        self._members: frozenset[str] = frozenset()
        self._tasks: set[asyncio.Task[None]] = set()

    async def use(self, plan: Plan | None, members: frozenset[str]) -> str | None:
        """Have `plan` run from now on, whose processors called `members` are the shadows; return what is wrong with it."""
        if plan == self._plan:
            return None
        self._plan, before, self._chains = plan, self._chains, None
        self._members = members
        if before is not None and self._runner is not None:
            self._runner.uninstall(before)
        if plan is None:
            return None
        try:
            if self._runner is None:
                runner = self._make_runner()
                await runner.start()
                self._runner = runner
            self._chains = await self._runner.install(plan)
        except (DepsError, ChainsError) as error:
            self._plan = None
            return str(error)
        return None

    def judged(self, turn: Turn, answer: Answer, outcome: OutputOutcome) -> None:
        """Have an answer judged here too, which the active chain has judged."""
        if self._chains is None or self.producer is None:
            return
        if len(self._tasks) >= LIMIT:
            self._told("left out")
            return
        task = asyncio.get_running_loop().create_task(self._judge(self._chains, self.producer, turn, answer, outcome))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """End it, and what runs in it."""
        self._chains = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._runner is not None:
            await self._runner.stop()

    async def _judge(
        self, chains: ChainRunner, producer: Producer, turn: Turn, answer: Answer, outcome: OutputOutcome
    ) -> None:
        try:
            other = await judge(chains, answer)
            same = _said(other) == _said(outcome)
            at = round(self._clock(), 3)
            for report in other.reports:
                if report.processor in self._members:
                    told = decision_of(turn, "output", report, at).model_copy(update={"shadow": True, "same": same})
                    key = turn.key.thread.encode()
                    await (await producer.send(self._topic, turn.partition, key, codec.encode(told)))
            self._told("failed" if isinstance(other, Broken) else "same" if same else "different")
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing that counts depends on it
            log.warning("an answer was not judged in the shadow: %s", type(error).__name__)
            self._told("failed")


def _said(outcome: OutputOutcome) -> tuple[object, ...]:
    """Return what an outcome comes to for the reader."""
    match outcome:
        case Approved():
            return ("approved", outcome.text, outcome.tool_calls, outcome.refusal)
        case Refused():
            return ("refused",)
        case _:
            return ("broken",)
