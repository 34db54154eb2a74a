"""The faults, as one list: what is done to a running pipeline, to whom, and in which form of the suite."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from streams.gate.records import JOURNAL_VERSION
from tests.chaos.crew import Crew, Member, eventually
from tests.integration.pipeline import COMMAND

#: How long a zombie is left lying once its partitions are somebody else's, so that its successor is at work.
_DEAD_FOR_S = 1.0
CHANGED_CHAIN = "tests.integration.chains:streaming_changed"

Suits = Literal["anywhere", "restarts", "broker"]


@dataclass(frozen=True, slots=True)
class Scene:
    """What a fault can get at."""

    crew: Crew
    #: Kills one broker without warning and starts it again, or does without it for the rest of the wave.
    hit_broker: Callable[[], Awaitable[None]]


Inject = Callable[[Scene], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to disturb a pipeline.

    `spares_calls` says that no model call is lost to it, so that every answer is the first attempt's. `suits` says where
    it is injected: in any pipeline, in the tests of restarts, or where the broker can be hit.
    """

    name: str
    inject: Inject
    spares_calls: bool
    suits: Suits = "anywhere"
    short: bool = False


async def _nothing(_: Scene) -> None:
    """The undisturbed run, for comparison."""


def _kill(role: str) -> Inject:
    async def inject(scene: Scene) -> None:
        scene.crew.of(role)[0].worker.kill()

    return inject


def _make_zombie(role: str) -> Inject:
    async def inject(scene: Scene) -> None:
        await _zombie(scene.crew, scene.crew.of(role)[0])

    return inject


async def _zombie(crew: Crew, member: Member) -> None:
    before = crew.claims(member.role)
    zombie = member.worker
    zombie.pause()
    await eventually(lambda: crew.claims(member.role) > before, "the group gives a paused worker's partitions away")
    await asyncio.sleep(_DEAD_FOR_S)
    zombie.resume()


async def _storm(scene: Scene) -> None:
    """One worker of each kind is killed, and of those left one turn worker is paused until it has been replaced."""
    doomed, zombie, *_ = scene.crew.of("turns")
    scene.crew.of("models")[0].worker.kill()
    doomed.worker.kill()
    await _zombie(scene.crew, zombie)


async def _join_and_leave(scene: Scene) -> None:
    for role in ("turns", "models"):
        oldest = scene.crew.of(role)[0]
        joined = scene.crew.add(role)
        await _at_work(joined)
        await scene.crew.dismiss(oldest)


async def _kill_and_restart(scene: Scene) -> None:
    member = scene.crew.of("turns")[0]
    member.worker.kill()
    scene.crew.replace(member)
    await _at_work(member)


def _roll(role: str, *, command: Sequence[str] = COMMAND, **changes: str) -> Inject:
    async def inject(scene: Scene) -> None:
        for member in scene.crew.of(role):
            await asyncio.to_thread(member.worker.stop)
            scene.crew.replace(member, command=command, **changes)
            await _at_work(member)

    return inject


def older_build(known: int) -> tuple[str, ...]:
    """Return the command of a worker whose build knows journal records up to the version `known`."""
    return (sys.executable, "-m", "tests.chaos.other_build", str(known))


async def _at_work(member: Member) -> None:
    await eventually(lambda: not member.worker.alive or member.worker.claims > 0, "a new worker gets partitions")


async def _hit_broker(scene: Scene) -> None:
    await scene.hit_broker()


FAULTS: tuple[Fault, ...] = (
    Fault("nothing", _nothing, spares_calls=True),
    Fault("kill -9 a turn worker", _kill("turns"), spares_calls=True),
    Fault("kill -9 a model runner", _kill("models"), spares_calls=False),
    Fault("pause a turn worker (zombie)", _make_zombie("turns"), spares_calls=True),
    Fault("pause a model runner (zombie)", _make_zombie("models"), spares_calls=False),
    Fault("kill both kinds, and a zombie", _storm, spares_calls=False, short=True),
    Fault("workers join and leave", _join_and_leave, spares_calls=False),
    Fault("kill -9, restarted at once", _kill_and_restart, spares_calls=True, suits="restarts"),
    Fault("rolling restart of turn workers", _roll("turns"), spares_calls=True, suits="restarts"),
    Fault("rolling restart of model runners", _roll("models"), spares_calls=False, suits="restarts"),
    Fault("the broker is killed", _hit_broker, spares_calls=False, suits="broker"),
)
CHANGED = Fault("rolling restart, chain changed", _roll("turns", deps=CHANGED_CHAIN), spares_calls=True)
#: To a build that knows a newer journal than the one before, and back again: `journal_version` has it write no newer one.
UPGRADED = Fault("rolling restart, newer journal", _roll("turns"), spares_calls=True)
ROLLED_BACK = Fault(
    "rolling restart, older journal", _roll("turns", command=older_build(JOURNAL_VERSION - 1)), spares_calls=True
)
