"""Chain runs beside the ingest loop: one at a time for each turn, none twice, bounded in number."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from processors import Answer, Deps, IncomingMessage, Manifest, Prompt, Reply, ToolCallCheck, TurnContext
from processors.outcomes import (
    Allowed,
    Approved,
    Derived,
    InputOutcome,
    Modified,
    OutputOutcome,
    PostOutcome,
    PreOutcome,
    Proceeded,
    ToolOutcome,
)
from streams.gate import events
from streams.gate.policy import Policy
from streams.gate.state import Turn
from streams.gate.work import RunInput, RunPre
from streams.turns.chain_table import TurnChains
from streams.turns.chores import Chores
from tests.memory.simtime import settled, simulate
from tests.streams.turns.desks import NOW, a_desk, frame_source, key, source
from tests.streams.turns.simulation import cancel, turn
from topics.ids import TurnKey


class Slow:
    """A chain runner whose runs end when they are told to; `seen` is what was asked of it."""

    manifest: Manifest = Deps().manifest

    def __init__(self) -> None:
        self.seen: list[object] = []
        self.contexts: list[TurnContext] = []
        self.gates: list[asyncio.Future[None]] = []
        self.cancelled = 0

    async def start(self) -> None:
        """Do nothing."""

    async def stop(self) -> None:
        """Do nothing."""

    async def _run(self, subject: object, context: TurnContext) -> None:
        self.seen.append(subject)
        self.contexts.append(context)
        gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.gates.append(gate)
        try:
            await gate
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def run_output(self, answer: Answer) -> OutputOutcome:
        """Approve of the answer, when told to."""
        await self._run(answer, answer.context)
        return Approved(answer.text)

    async def run_input(self, prompt: Prompt, context: TurnContext, *, history: int = 0) -> InputOutcome:  # noqa: ARG002
        """Leave the prompt as it is, when told to."""
        await self._run(prompt, context)
        return Derived(prompt)

    async def run_pre(self, incoming: IncomingMessage) -> PreOutcome:
        """Let the message pass, when told to."""
        await self._run(incoming, incoming.context)
        return Proceeded(incoming.message)

    async def run_governance(self, incoming: IncomingMessage) -> PreOutcome:
        """Let the message pass, when told to."""
        await self._run(incoming, incoming.context)
        return Proceeded(incoming.message)

    async def run_tool_rules(self, check: ToolCallCheck) -> ToolOutcome:
        """Allow the call, when told to."""
        await self._run(check, check.context)
        return Allowed()

    async def run_post(self, reply: Reply) -> PostOutcome:
        """Leave the reply as it is, when told to."""
        await self._run(reply, reply.context)
        return Modified(reply.text)


class Office:
    """Chores at work for one turn."""

    def __init__(self, limit: int = 2) -> None:
        self.chains = Slow()
        self.reports: list[tuple[TurnKey, events.Event]] = []
        self.fatal: list[BaseException] = []
        self.chores = Chores(lambda _: TurnChains(Policy(), self.chains), self.fatal.append, limit=limit)
        self.chores.report_to(lambda turn, event: self.reports.append((turn, event)))
        self.desk = a_desk(Policy(mode="incremental"))
        self.desk.take([source(turn(user={"id": "u"}, attributes={"a": 1}))], NOW)

    def hear(self, text: str, seq: int, **fields: Any) -> None:
        """Take in a frame of the answer."""
        self.desk.take([frame_source(seq, text=text, **fields)], NOW)

    async def reconcile(self, turn_key: TurnKey | None = None) -> None:
        """Ask for the work that a turn waits for."""
        wanted = turn_key or key()
        self.chores.reconcile(wanted, self.desk.turns.get(wanted), self.desk.work(wanted))
        await settled()

    @property
    def state(self) -> Turn:
        """The turn."""
        return self.desk.turns[key()]


def in_an_office(test: Callable[[Office], Awaitable[None]], limit: int = 2) -> None:
    """Run `test` with chores at work."""

    async def main() -> None:
        office = Office(limit)
        await test(office)
        await office.chores.stop()

    simulate(main())


def test_a_pass_sees_the_prefix_and_the_turn_and_is_reported() -> None:
    """What it came to is told with what it was about."""

    async def test(office: Office) -> None:
        office.hear("one", 0)
        await office.reconcile()
        (answer,) = office.chains.seen
        assert isinstance(answer, Answer)
        assert (answer.text, answer.complete, answer.step, answer.attempt) == ("one", False, 0, 0)
        assert answer.context.idempotency_key == "default/h/t/0/0"
        assert answer.context.user is not None
        assert (answer.context.user.id, answer.context.attributes) == ("u", {"a": 1})
        assert office.reports == []
        office.chains.gates[0].set_result(None)
        await settled()
        assert office.reports == [(key(), events.PassDone(0, 0, 3, final=False, outcome=Approved("one")))]

    in_an_office(test)


def test_frames_that_come_during_a_pass_are_covered_by_one_pass_together() -> None:
    """At most one pass runs for a turn; the next sees everything that waits."""

    async def test(office: Office) -> None:
        office.hear("one", 0)
        await office.reconcile()
        for seq, text in enumerate((" two", " three", " four"), 1):
            office.hear(text, seq)
            await office.reconcile()
        assert len(office.chains.seen) == 1
        office.chains.gates[0].set_result(None)
        await settled()
        await office.reconcile()
        assert [answer.text for answer in office.chains.seen if isinstance(answer, Answer)] == [
            "one",
            "one two three four",
        ]

    in_an_office(test)


def test_equal_work_is_not_done_again() -> None:
    """A pass that released nothing is repeated only once there is more text."""

    async def test(office: Office) -> None:
        office.hear("one", 0)
        await office.reconcile()
        office.chains.gates[0].set_result(None)
        await settled()
        await office.reconcile()
        await office.reconcile()
        assert len(office.chains.seen) == 1
        office.hear("!", 1)
        await office.reconcile()
        assert len(office.chains.seen) == 2

    in_an_office(test)


def test_a_turn_that_ends_has_its_run_cancelled_and_hears_no_more() -> None:
    """Nobody waits for the outcome."""

    async def test(office: Office) -> None:
        office.hear("one", 0)
        await office.reconcile()
        office.desk.take([source(cancel(), 1)], NOW)
        assert office.state.over
        await office.reconcile()
        assert office.chains.cancelled == 1
        assert office.reports == []

    in_an_office(test)


def test_no_more_than_the_limit_run_at_once_and_the_rest_follow() -> None:
    """Those that wait begin as soon as there is room."""

    async def test(office: Office) -> None:
        for number in range(4):
            office.chores.reconcile(key(f"t{number}"), office.state, RunInput(0))
        await settled()
        assert len(office.chains.seen) == 2
        for gate in list(office.chains.gates):
            gate.set_result(None)
        await settled()
        assert len(office.chains.seen) == 4
        assert len(office.reports) == 2

    in_an_office(test)


def test_a_run_that_waits_for_its_place_can_be_cancelled() -> None:
    """It gives up its place in the queue, and takes nobody else's."""

    async def test(office: Office) -> None:
        state = office.state
        for name in ("a", "b", "c"):
            office.chores.reconcile(key(name), state, RunInput(0))
        await settled()
        assert len(office.chains.seen) == 1
        office.chores.reconcile(key("b"), None, None)
        office.chains.gates[0].set_result(None)
        await settled()
        assert [turn_key.turn_id for turn_key, _ in office.reports] == ["a"]
        assert len(office.chains.seen) == 2
        office.chains.gates[1].set_result(None)
        await settled()
        assert [turn_key.turn_id for turn_key, _ in office.reports] == ["a", "c"]

    in_an_office(test, limit=1)


def test_stopping_cancels_everything_and_waits_for_it() -> None:
    """Afterwards nothing is running and nothing is reported."""

    async def test(office: Office) -> None:
        office.hear("one", 0)
        await office.reconcile()
        await office.chores.stop()
        assert office.chains.cancelled == 1
        await settled()
        assert office.reports == []

    in_an_office(test)


def test_a_chain_runner_that_breaks_is_fatal() -> None:
    """Processors' failures are outcomes; anything else means that nobody judges any more."""

    async def test(office: Office) -> None:
        office.hear("one", 0)
        await office.reconcile()
        office.chains.gates[0].set_exception(RuntimeError("broken"))
        await settled()
        assert [type(exc) for exc in office.fatal] == [RuntimeError]
        assert office.reports == []

    in_an_office(test)


def test_pre_and_input_runs_see_what_the_turn_has() -> None:
    """The message for the one, the prompt made of it for the other."""

    async def test(office: Office) -> None:
        office.chores.reconcile(key("a"), office.state, RunPre())
        office.chores.reconcile(key("b"), office.state, RunInput(0))
        await settled()
        incoming, prompt = office.chains.seen
        assert isinstance(incoming, IncomingMessage)
        assert isinstance(prompt, Prompt)
        assert incoming.text == "hello"
        assert prompt.messages[-1].content == "hello"
        for gate in office.chains.gates:
            gate.set_result(None)
        await settled()
        assert [type(event) for _, event in office.reports] == [events.PreDone, events.InputDone]

    in_an_office(test)


def test_work_before_anybody_listens_is_refused() -> None:
    """Its outcome would be lost."""

    async def main() -> None:
        office = Office()
        chores = Chores(lambda _: TurnChains(Policy(), office.chains), office.fatal.append, limit=1)
        chores.reconcile(key(), office.state, RunInput(0))
        await settled()
        office.chains.gates[0].set_result(None)
        await settled()
        (exc,) = office.fatal
        assert isinstance(exc, RuntimeError)
        assert "report_to" in str(exc)

    simulate(main())
