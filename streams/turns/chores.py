"""The slow things turns wait for: chain runs, one at a time per turn, off the ingest loop and bounded in number."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from processors import Answer, IncomingMessage, TurnContext
from processors.outcomes import OutputOutcome
from streams.gate import events
from streams.gate.state import Turn
from streams.gate.work import RunGovernance, RunInput, RunOutput, RunPost, RunPre, RunRules, Work
from streams.judging import context_of, judge, judge_calls, judge_reply, subject
from streams.ports import Fatal
from streams.turns.chain_table import TurnChains
from topics.ids import TurnKey

#: Told a turn and what became of its chain run.
Report = Callable[[TurnKey, events.Event], None]
#: Told a turn, a whole answer of it, and what the output chain made of that.
Judged = Callable[[Turn, Answer, OutputOutcome], None]


@dataclass(slots=True)
class _Chore:
    work: Work
    task: asyncio.Task[None] | None


class Chores:
    """Runs the work that turns ask for, each turn's with the `chains` that it has pinned.

    Work that equals what was done last for the turn is not done again: a pass that released nothing is repeated only
    once there is more text. Frames that arrive during a pass are covered by the next one together.
    """

    def __init__(
        self, chains: Callable[[Turn], TurnChains], fatal: Fatal, *, limit: int, judged: Judged | None = None
    ) -> None:
        self._judged = judged
        self._chains = chains
        self._report: Report = _nobody_asked
        self._fatal = fatal
        self._slots = asyncio.Semaphore(limit)
        self._chores: dict[TurnKey, _Chore] = {}

    def report_to(self, report: Report) -> None:
        """Have results told to `report`; must be called before the first work is given."""
        self._report = report

    def reconcile(self, key: TurnKey, turn: Turn | None, work: Work | None) -> None:
        """Have `work` done for `turn` (None: it is closed): begin it, let it run, or stop what nobody waits for."""
        chore = self._chores.get(key)
        if turn is None or turn.over:
            self._drop(key)
        elif work is not None and (chore is None or (chore.task is None and chore.work != work)):
            task = asyncio.get_running_loop().create_task(self._run(key, turn, work))
            self._chores[key] = _Chore(work, task)

    async def stop(self) -> None:
        """Cancel everything that runs and wait for it to end."""
        tasks = [chore.task for chore in self._chores.values() if chore.task is not None]
        self._chores.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _drop(self, key: TurnKey) -> None:
        chore = self._chores.pop(key, None)
        if chore is not None and chore.task is not None:
            chore.task.cancel()

    async def _run(self, key: TurnKey, turn: Turn, work: Work) -> None:
        try:
            async with self._slots:
                event = await self._do(turn, work)
            chore = self._chores.get(key)
            if chore is not None and chore.work == work:
                chore.task = None
                self._report(key, event)
        except Exception as exc:  # noqa: BLE001 - a chain runner turns every processor's failure into an outcome
            self._fatal(exc)

    async def _do(self, turn: Turn, work: Work) -> events.Event:
        context = context_of(turn)
        chains = self._chains(turn).runner
        if chains is None:
            raise RuntimeError("there is work for chains that nobody runs")
        match work:
            case RunGovernance():
                return events.GovernanceDone(await chains.run_governance(_incoming(turn, context)))
            case RunPre():
                return events.PreDone(await chains.run_pre(_incoming(turn, context)))
            case RunInput(step=step):
                prompt, earlier = turn.base_prompt(), len(turn.earlier)
                return events.InputDone(step, await chains.run_input(prompt, context, history=earlier))
            case RunOutput(step=step, attempt=attempt, upto=upto, final=final):
                answer = subject(turn, work, context)
                outcome = await judge(chains, answer)
                if final and self._judged is not None:
                    self._judged(turn, answer, outcome)
                return events.PassDone(step, attempt, upto, final, outcome)
            case RunRules(step=step):
                return events.RulesDone(step, await judge_calls(chains, turn, context))
            case RunPost():
                return events.PostDone(await judge_reply(chains, turn, context))


def _incoming(turn: Turn, context: TurnContext) -> IncomingMessage:
    request = turn.request
    return IncomingMessage(
        message=turn.message,
        user=request.user,
        channel=request.channel,
        metadata=turn.metadata,
        context=context,
    )


def _nobody_asked(key: TurnKey, event: events.Event) -> None:
    raise RuntimeError(f"{type(event).__name__} of {key.turn_id} before report_to was called")
