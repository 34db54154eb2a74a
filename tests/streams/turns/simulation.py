"""Whole turn workers in memory, killed at any boundary and started again from what was durable.

A `World` holds what outlives a worker: the broker, the model and the callers. The outside acts only while the worker
waits, one step at a time, so that every run of a scenario sees the same records in the same order, whenever its worker
dies; whatever a reader ends up with must therefore be the same too.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from processors import Deps
from streams.gate.policy import Policy
from streams.gate.transcript import Entry
from streams.journal.errors import SupersededError
from streams.journal.replay import Rows
from streams.runner.kind import CallKey
from streams.turns.chain_table import ChainTable, TurnChains
from streams.turns.desk_settings import DeskSettings, OnBusy
from streams.turns.loop import Ports
from streams.turns.meter import UsageMeter
from streams.turns.observer import Observer
from streams.turns.threads import entries_of, is_thread
from streams.turns.tracer import Tracer
from streams.turns.worker import TurnWorker, WorkerSettings
from tests.memory.broker import Broker
from tests.memory.chains import DirectChainRunner, policy_of
from tests.memory.ports import Feed, MemoryLogs, MemoryProducer, MemoryReader, replay_of
from tests.memory.power import Power, PowerCut
from tests.memory.simtime import jump, settled, wall_clock
from topics import codec, names
from topics.fold import TurnView, fold
from topics.ids import ThreadKey, TurnKey
from topics.names import Names
from topics.records import (
    TERMINAL_KINDS,
    CancelTurn,
    DeadLetter,
    Erase,
    Erased,
    ModelFrame,
    ToolResult,
    TurnRequest,
    UsageRecord,
)

NAMES = Names("sim.")
JOURNAL = NAMES.journal("turns")
REQUESTS, FRAMES, PROMPTS, CANCELS, TOOL_CALLS, TOOL_RESULTS, RELEASED, USAGE, DEAD_LETTERS, ERASURES = (
    NAMES.topic(topic)
    for topic in (
        names.REQUESTS,
        names.FRAMES,
        names.PROMPTS,
        names.CANCELS,
        names.TOOL_CALLS,
        names.TOOL_RESULTS,
        names.RELEASED_FRAMES,
        names.USAGE,
        names.DEAD_LETTERS,
        names.ERASURES,
    )
)


def turn(turn_id: str = "t", thread_id: str = "h", **fields: Any) -> TurnRequest:
    """Return a request for a turn."""
    return TurnRequest.model_validate({"turn_id": turn_id, "thread_id": thread_id, "message": "hello", **fields})


def cancel(turn_id: str = "t", thread_id: str = "h") -> CancelTurn:
    """Return a caller's wish to end a turn."""
    return CancelTurn(turn_id=turn_id, thread_id=thread_id)


#: A frame of a scripted answer: a text, or the fields of a `ModelFrame`.
Scripted = str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """A caller says `record` (raw bytes are written as they are) once `frames` frames of answers have been written.

    If `after` names a turn, its terminal frame must be out too; if `erased` names an erasure, that must be answered.
    """

    record: TurnRequest | CancelTurn | Erase | bytes
    frames: int = 0
    after: str | None = None
    erased: str | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """What happens in a world. `answers` gives each turn's scripted attempts; the last one serves all later attempts.

    Those of a later step stand under `turn/step`. `tools` are what tools answer by name: a text, or None for nothing ever.
    When nothing else happens and turns are open, time passes, up to `patience_s` seconds in all.
    """

    name: str
    said: tuple[Said, ...]
    answers: Mapping[str, Sequence[Sequence[Scripted]]]
    deps: Deps = field(default_factory=Deps)
    policy: Policy = field(default_factory=Policy)
    on_busy: OnBusy = "queue"
    patience_s: int = 0
    tools: Mapping[str, str | None] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


class Model:
    """A model runner that never dies: one call for each attempt, however often its prompt is published."""

    def __init__(self, broker: Broker, answers: Mapping[str, Sequence[Sequence[Scripted]]]) -> None:
        self._broker = broker
        self._answers = answers
        self._calls: dict[CallKey, list[ModelFrame]] = {}
        self._prompts_seen = 0
        self._cancels_seen = 0
        self.written = 0

    def act(self) -> bool:
        """Write the next frame of the oldest open call; return whether there was one."""
        self._look_at_topics()
        for frames in self._calls.values():
            if frames:
                frame = frames.pop(0)
                key = ThreadKey(frame.tenant, frame.thread_id).encode()
                self._broker.append(FRAMES, 0, key, codec.encode(frame))
                self.written += 1
                return True
        return False

    def _look_at_topics(self) -> None:
        prompts = self._broker.values(PROMPTS)[self._prompts_seen :]
        self._prompts_seen += len(prompts)
        for raw in prompts:
            request = codec.decode(raw, names.PROMPT_REQUEST)
            call = CallKey.of(request)
            if call not in self._calls:
                attempts = self._answers[f"{request.turn_id}/{request.step}" if request.step else request.turn_id]
                script = attempts[min(request.attempt, len(attempts) - 1)]
                ids = request.model_dump(include={"tenant", "thread_id", "turn_id", "step", "attempt"})
                self._calls[call] = [
                    ModelFrame.model_validate({**ids, "seq": seq, **_fields(item)}) for seq, item in enumerate(script)
                ]
        cancels = self._broker.values(CANCELS)[self._cancels_seen :]
        self._cancels_seen += len(cancels)
        for raw in cancels:
            self._calls[CallKey.of(codec.decode(raw, names.CANCEL_CALL))] = []


class Tools:
    """A tool runner that never dies: each call is answered once, however often it is published."""

    def __init__(self, broker: Broker, answers: Mapping[str, str | None]) -> None:
        self._broker = broker
        self._answers = answers
        self._seen = 0
        self._known: set[tuple[CallKey, str]] = set()
        self._waiting: list[ToolResult] = []

    def act(self) -> bool:
        """Write the next result; return whether there was one."""
        calls = self._broker.values(TOOL_CALLS)[self._seen :]
        self._seen += len(calls)
        for raw in calls:
            request = codec.decode(raw, names.TOOL_CALLS.shape)
            answer = self._answers.get(request.call.name)
            if (CallKey.of(request), request.call.id) in self._known or answer is None:
                continue
            self._known.add((CallKey.of(request), request.call.id))
            ids = request.model_dump(include={"tenant", "thread_id", "turn_id", "step", "attempt"})
            self._waiting.append(ToolResult(**ids, tool_call_id=request.call.id, content=answer))
        if not self._waiting:
            return False
        result = self._waiting.pop(0)
        self._broker.append(TOOL_RESULTS, 0, result.turn.thread.encode(), codec.encode(result))
        return True


def _fields(item: Scripted) -> Mapping[str, Any]:
    return {"text": item} if isinstance(item, str) else item


class World:
    """What outlives any worker."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.broker = Broker()
        self.model = Model(self.broker, scenario.answers)
        self.tools = Tools(self.broker, scenario.tools)
        self._unsaid = list(scenario.said)
        self._unique = itertools.count()
        self._waited_s = 0

    def unique(self) -> str:
        """Return a text that was never returned before."""
        return str(next(self._unique))

    def act(self) -> bool:
        """Let one thing happen outside; return whether there was anything."""
        if self._unsaid and self._due(self._unsaid[0]):
            record = self._unsaid.pop(0).record
            raw = record if isinstance(record, bytes) else codec.encode(record)
            self.broker.append(ERASURES if isinstance(record, Erase) else REQUESTS, 0, None, raw)
            return True
        return self.model.act() or self.tools.act()

    def wait(self) -> bool:
        """Let a second pass, if somebody waits for something and has not waited too long."""
        over = {view.turn for view in self.views() if view.closed}
        asked = {said.record.turn for said in self.scenario.said if isinstance(said.record, TurnRequest)}
        if self._waited_s >= self.scenario.patience_s or asked <= over:
            return False
        self._waited_s += 1
        jump(1.0)
        return True

    def _due(self, said: Said) -> bool:
        ended = said.after is None or any(view.closed and view.turn.turn_id == said.after for view in self.views())
        answered = said.erased is None or any(one.id == said.erased for one in answers(self.broker))
        return ended and answered and self.model.written >= said.frames

    def views(self) -> list[TurnView]:
        """Return what readers make of the released frames."""
        views: dict[TurnKey, TurnView] = {}
        for raw in self.broker.values(RELEASED):
            frame = codec.decode(raw, names.RELEASED)
            views[frame.turn] = fold(views.get(frame.turn, TurnView(frame.turn)), frame)
        return list(views.values())


def answers(broker: Broker) -> list[Erased]:
    """Return what operators were answered."""
    found = [codec.decode(raw, names.ERASURE) for raw in broker.values(ERASURES)]
    return [one for one in found if isinstance(one, Erased)]


class Process:
    """One turn worker process, from its start to its death or to the end of the scenario."""

    def __init__(
        self,
        world: World,
        power: Power,
        *,
        deps: Deps | None = None,
        commits: bool = True,
        flood: bool = False,
        lagging: bool = False,
        settings: WorkerSettings | None = None,
        trace: Callable[[str], None] | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        scenario = world.scenario
        self.world = world
        self.power = power
        self.producer = MemoryProducer(
            world.broker, power, trace, slow=(lambda topic: topic != JOURNAL) if lagging else None
        )
        self.fatal: list[BaseException] = []
        self._starting: asyncio.Task[None] | None = None
        self._flood = flood
        self._commits = commits
        self._trace = trace
        self.feed: Feed | None = None
        deps = scenario.deps if deps is None else deps
        scanner = deps.scanners() if deps.manifest.release_mode == "scan" else None
        self.worker = TurnWorker(
            ChainTable(TurnChains(policy_of(deps, scenario.policy), DirectChainRunner(deps), scanner)),
            settings or WorkerSettings(DeskSettings(partitions=1, on_busy=scenario.on_busy, traced=tracer is not None)),
            Ports(
                self.producer,
                MemoryReader(world.broker),
                NAMES,
                "worker",
                wall_clock,
                self._on_fatal,
                Observer(),
                tracer,
            ),
            MemoryLogs(self.producer, JOURNAL),
            meter=_meter(deps, world.broker),
            replays=lambda: {0: replay_of(world.broker, JOURNAL, 0)},
            unique=world.unique,
        )

    def _on_fatal(self, exc: BaseException) -> None:
        """End the process, as the real one does."""
        self.fatal.append(exc)
        self.power.cut()

    async def start(self) -> bool:
        """Claim, replay, restore; return whether the process came through."""
        self._starting = asyncio.create_task(self._take_over())
        await settled()
        if not self._starting.done():
            return False
        if isinstance(self._starting.exception(), PowerCut):
            return False
        self._starting.result()
        # What the group has committed is asked for only now, as at a rebalance.
        self.feed = Feed(
            self.world.broker,
            self.power,
            {
                REQUESTS: names.REQUESTS,
                FRAMES: names.FRAMES,
                TOOL_RESULTS: names.TOOL_RESULTS,
                ERASURES: names.ERASURES,
            },
            commits=self._commits,
            trace=self._trace,
        )
        await settled()
        return not self.power.off

    async def _take_over(self) -> None:
        await self.worker.partitions.claim({0})
        await self.worker.partitions.restore()

    async def work(self) -> bool:
        """Take what comes until the scenario is over (True), or the process is dead or frozen (False)."""
        while not (self.power.off or self.power.frozen):
            if not (await self._take_in() or self.world.act() or await self._land_slow_record() or self.world.wait()):
                return not self.power.off
        return False

    async def work_a_little(self) -> bool:
        """Take in one record, or let one thing happen outside; return whether there was anything."""
        return await self._take_in() or self.world.act()

    async def _land_slow_record(self) -> bool:
        """Have one more of the records arrive that are slow; return whether there was one."""
        landed = self.producer.deliver_next()
        await settled()
        return landed

    async def read_on(self) -> bool:
        """Take in the next record, if the process has ever come to read any; return whether there was one."""
        return self.feed is not None and await self._take_in()

    async def _take_in(self) -> bool:
        assert self.feed is not None
        taken = False
        while (source := self.feed.take()) is not None:
            taken = True
            await self.worker.deliver(source)
            if not self._flood:
                break
        await settled()
        return taken

    async def end(self, fate: Random | None = None) -> None:
        """Clear away what is left of the process."""
        self.power.cut()
        self.power.thaw()
        if fate is not None:
            self.producer.lose_connection(fate)
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await self.worker.partitions.lose()


def _meter(deps: Deps, broker: Broker) -> UsageMeter | None:
    """Return a meter that has read all usage there is, as the tail does before a worker takes turns."""
    if not deps.budgets and not deps.manifest.recent_turns_s:
        return None
    meter = UsageMeter(deps.budgets, deps.manifest.recent_turns_s)
    for raw in broker.values(USAGE):
        meter.take(codec.decode(raw, names.USAGE.shape), wall_clock())
    return meter


@dataclass(frozen=True, slots=True)
class Seen:
    """What readers, and those who count, ended up with, and what threads remember (times aside).

    `journal` counts the rows of each turn. `boundaries` are those that the last process passed.
    """

    views: Mapping[str, TurnView]
    released: tuple[bytes, ...]
    usage: Mapping[str, frozenset[bytes]]
    prompts: Mapping[CallKey, frozenset[bytes]]
    calls: Mapping[str, frozenset[bytes]]
    dead_letters: frozenset[str]
    journal: Mapping[str, int]
    transcripts: Mapping[str, Sequence[Entry]]
    boundaries: tuple[str, ...]

    @property
    def texts(self) -> dict[str, str]:
        """The text of each turn."""
        return {name: view.text for name, view in self.views.items()}

    @property
    def replies(self) -> dict[str, str]:
        """What to show the user of each turn."""
        return {name: view.reply for name, view in self.views.items()}

    @property
    def outcomes(self) -> dict[str, str]:
        """The terminal kind of each turn; "open" if it has none."""
        return {name: view.terminal.kind if view.terminal else "open" for name, view in self.views.items()}


def look(world: World, power: Power) -> Seen:
    """Return what is to be seen in a world, checking what must hold in every one of them."""
    broker = world.broker
    frames = [codec.decode(raw, names.RELEASED) for raw in broker.values(RELEASED)]
    ends: dict[TurnKey, set[bytes]] = {}
    for frame in frames:
        if frame.kind in TERMINAL_KINDS:
            ends.setdefault(frame.turn, set()).add(codec.encode(frame))
    usage: dict[str, set[bytes]] = {}
    for raw in broker.values(USAGE):
        usage.setdefault(codec.decode(raw, _usage_shape()).id, set()).add(raw)
    prompts: dict[CallKey, set[bytes]] = {}
    for raw in broker.values(PROMPTS):
        prompts.setdefault(CallKey.of(codec.decode(raw, names.PROMPT_REQUEST)), set()).add(raw)
    calls: dict[str, set[bytes]] = {}
    for raw in broker.values(TOOL_CALLS):
        request = codec.decode(raw, names.TOOL_CALLS.shape)
        calls.setdefault(f"{CallKey.of(request)}/{request.call.id}", set()).add(raw)
    views = {str(view.turn): view for view in world.views()}

    rows = replay_of(broker, JOURNAL, 0).rows

    assert all(len(kinds) == 1 for kinds in ends.values()), "a turn has two different endings"
    assert all(len(copies) == 1 for copies in usage.values()), "usage of one call was written with different bytes"
    assert all(len(copies) == 1 for copies in prompts.values()), "a prompt was published with different bytes"
    assert all(len(copies) == 1 for copies in calls.values()), "a tool call was published with different bytes"
    assert not any(view.contradicted for view in views.values()), "a reader was contradicted"
    assert _usage_first(broker), "a reader was told of an end before its usage was recorded"
    return Seen(
        views=views,
        released=tuple(broker.values(RELEASED)),
        usage={key: frozenset(copies) for key, copies in usage.items()},
        prompts={key: frozenset(copies) for key, copies in prompts.items()},
        calls={key: frozenset(copies) for key, copies in calls.items()},
        dead_letters=frozenset(_letter(raw).id for raw in broker.values(DEAD_LETTERS)),
        journal={subject: len(numbered) for subject, numbered in rows.items() if subject.count("/") == 2},
        transcripts={subject: _remembered(rows, subject) for subject in rows if is_thread(subject)},
        boundaries=tuple(power.passed),
    )


def _remembered(rows: Mapping[str, Rows], subject: str) -> list[Entry]:
    tenant, thread_id = subject.split("/")
    return [replace(entry, at=0.0) for entry in entries_of(rows, ThreadKey(tenant, thread_id))]


def _letter(raw: bytes) -> DeadLetter:
    return codec.decode(raw, names.DEAD_LETTER)


def _usage_shape() -> Any:
    return names.USAGE.shape


def _usage_first(broker: Broker) -> bool:
    """Return whether the usage of every turn's calls was durable before any of its terminal frames."""
    told: dict[TurnKey, int] = {}
    for one in broker.read(RELEASED):
        frame = codec.decode(one.value, names.RELEASED)
        if frame.kind in TERMINAL_KINDS:
            told.setdefault(frame.turn, one.serial)
    counted: dict[str, tuple[TurnKey, int]] = {}
    for one in broker.read(USAGE):
        record: UsageRecord = codec.decode(one.value, _usage_shape())
        counted.setdefault(record.id, (record.turn, one.serial))
    return all(serial < told.get(key, serial + 1) for key, serial in counted.values())


async def run(
    scenario: Scenario,
    cuts: Iterable[int] = (),
    *,
    redeclared: Deps | None = None,
    commits: bool = True,
    flood: bool = False,
    lagging: bool = False,
    fate: Random | None = None,
    compact: bool = False,
) -> Seen:
    """Play `scenario` with one worker after the other, each but the last cut off at its boundary, and look.

    From the second worker on the chains are `redeclared`. `fate` decides how much of what is on its way when a worker
    dies still arrives (nothing without it). With `lagging`, everything but the journal is slow: what is published becomes
    durable only after later records were journaled. With `compact`, the journal is compacted between workers.
    """
    world = World(scenario)
    deps = scenario.deps
    for cut in cuts:
        power = Power(cut_at=cut)
        process = Process(world, power, deps=deps, commits=commits, flood=flood, lagging=lagging)
        over = await process.start() and await process.work()
        _check_alive(process)
        await process.end(fate)
        if over:
            break
        if compact:
            world.broker.logs[JOURNAL, 0].compact(drop_tombstones=True)
        deps = deps if redeclared is None else redeclared
    power = Power()
    process = Process(world, power, deps=deps, commits=commits, flood=flood, lagging=lagging)
    over = await process.start() and await process.work()
    _check_alive(process)
    assert over, "the undisturbed worker did not come to the end"
    await process.end()
    return look(world, power)


async def run_with_a_sleeper(
    scenario: Scenario, freeze_at: int, *, wakes_early: bool, redeclared: Deps | None = None
) -> Seen:
    """Play `scenario` with a worker that stands still at a boundary, and goes on after a successor took over.

    It wakes as soon as the successor owns the partition, or else when the successor has done everything there is to do.
    Then it goes on to read records, as a process does that does not know yet that it was stopped. The successor's chains
    are `redeclared`.
    """
    world = World(scenario)
    sleeper = Process(world, Power(freeze_at=freeze_at))
    over = await sleeper.start() and await sleeper.work()
    successor = Process(world, Power(), deps=redeclared)
    if sleeper.feed is not None:
        sleeper.feed.current = False
    assert await successor.start()
    if not wakes_early:
        over = await successor.work()
    sleeper.power.thaw()
    await settled()
    while not sleeper.power.off and await sleeper.read_on():
        pass
    over = await successor.work()
    assert over, "the successor did not come to the end"
    _check_alive(successor)
    for exc in sleeper.fatal:
        if not isinstance(exc, PowerCut | SupersededError):
            raise exc
    await sleeper.end()
    await successor.end()
    return look(world, successor.power)


def _check_alive(process: Process) -> None:
    """Fail if the process ended for any reason but that its power was cut."""
    for exc in process.fatal:
        if not isinstance(exc, PowerCut):
            raise exc
