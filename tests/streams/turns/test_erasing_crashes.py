"""What is erased stays erased, and nothing else goes, wherever the worker dies."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from processors import Deps
from tests.memory.broker import Broker
from tests.memory.power import Power
from tests.memory.simtime import simulate
from tests.streams.turns.scenarios import FINISH
from tests.streams.turns.simulation import (
    ERASURES,
    JOURNAL,
    PROMPTS,
    Process,
    Said,
    Scenario,
    World,
    answers,
    look,
    turn,
)
from topics import codec, names
from topics.records import Erase, Erased, PromptRequest

SECRET = b"Rumpelstiltskin"
ASKED = f"I am {SECRET.decode()}"
TOLD = (f"Hello {SECRET.decode()}", FINISH)
ALICE = {"id": "alice"}


def erase(id_: str = "e", *, cancel_open: bool = False, **of: str) -> Erase:
    """Return an operator's wish, about thread `h` unless it says otherwise."""
    wish = {"id": id_, **(of or {"thread_id": "h"}), "cancel_open": cancel_open, "by": "an operator", "at": 1.0}
    return Erase.model_validate(wish)


OTHER = Said(turn("o", "other", message="remember me"))
AGAIN = Said(turn("o2", "other", message="do you?"), after="o", erased="e")

#: Two turns of one thread, erased; then another, which must know nothing, and one of a thread that nobody erased.
CLOSED = Scenario(
    "closed",
    (
        OTHER,
        Said(turn("a", message=ASKED, user=ALICE), after="o"),
        Said(turn("b", message=ASKED, user=ALICE), after="a"),
        Said(erase(), after="b"),
        Said(turn("c", message="who am I?"), erased="e"),
        AGAIN,
    ),
    {"a": [TOLD], "b": [TOLD], "c": [("no idea", FINISH)], "o": [("I will", FINISH)], "o2": [("I do", FINISH)]},
)
BY_USER = Scenario(
    "by-user",
    tuple(Said(erase(user_id="alice"), after="b") if isinstance(said.record, Erase) else said for said in CLOSED.said),
    CLOSED.answers,
)
#: A turn that is open, and one that waits behind it, when the thread is erased; its model never comes to an end.
OPEN = Scenario(
    "open",
    (
        OTHER,
        Said(turn("a", message=ASKED, user=ALICE), after="o"),
        Said(turn("b", message=ASKED, user=ALICE), after="a"),
        Said(turn("b2", message=ASKED, user=ALICE)),
        Said(erase(cancel_open=True), frames=5),
        Said(turn("c", message="who am I?"), erased="e"),
        AGAIN,
    ),
    {**CLOSED.answers, "b": [(SECRET.decode(),)], "b2": [TOLD]},
)
#: The same, but that open turns stand in the way: the thread stays as it is.
REFUSED = Scenario(
    "refused",
    (
        Said(turn("a", message=ASKED)),
        Said(turn("b", message=ASKED), after="a"),
        Said(erase(), frames=3),
        Said(
            codec.encode(names.REQUEST.validate_python({"type": "cancel", "thread_id": "h", "turn_id": "b"})),
            erased="e",
        ),
    ),
    {"a": [TOLD], "b": [(SECRET.decode(),)]},
)


async def played(
    scenario: Scenario,
    cuts: Sequence[int] = (),
    *,
    commits: bool = True,
    lagging: bool = False,
    compact: bool = False,
    fate: Random | None = None,
) -> tuple[World, Power]:
    """Play a scenario, with workers that die at these boundaries, and one after them that owns what they left."""
    world = World(scenario)
    for cut in cuts:
        process = Process(world, Power(cut_at=cut), deps=Deps(), commits=commits, lagging=lagging)
        over = await process.start() and await process.work()
        await process.end(fate)
        if over:
            break
        if compact:
            world.broker.logs[JOURNAL, 0].compact(drop_tombstones=True)
    last = Process(world, Power(), deps=Deps(), commits=commits, lagging=lagging)
    assert await last.start()
    assert await last.work()
    await last.end()
    # One more: what a journal says is only known once somebody has read it.
    heir = Process(world, Power(), deps=Deps(), commits=commits)
    assert await heir.start()
    assert await heir.work()
    await heir.end()
    return world, last.power


def kept(broker: Broker) -> list[bytes]:
    """Return the keys and values that compaction leaves in the journal."""
    broker.logs[JOURNAL, 0].compact(drop_tombstones=True)
    return [piece for one in broker.read(JOURNAL) for piece in (one.key or b"", one.value or b"")]


def prompts(broker: Broker, turn_id: str) -> list[PromptRequest]:
    """Return what the model was told for a turn."""
    found = [codec.decode(raw, names.PROMPT_REQUEST) for raw in broker.values(PROMPTS)]
    return [one for one in found if one.turn_id == turn_id]


def check_erased(world: World, power: Power, where: object) -> None:
    """Check that nothing is left of the erased turns, the next one began anew, and the other thread is as it was."""
    seen = look(world, power)
    assert not any(SECRET in piece or b"alice" in piece for piece in kept(world.broker)), where
    assert not {f"default/h/{name}" for name in ("a", "b", "b2")} & set(seen.journal), where
    assert "open" not in seen.outcomes.values(), where
    assert [said.turn_id for said in seen.transcripts["default/h"]] == ["c"], where
    assert [said.turn_id for said in seen.transcripts["default/other"]] == ["o", "o2"], where
    assert prompts(world.broker, "c"), where
    for one in prompts(world.broker, "c"):
        assert [message.content for message in one.prompt.messages] == ["who am I?"], where
    assert all(len(one.prompt.messages) == 3 for one in prompts(world.broker, "o2")), where
    (facts,) = {one.model_dump_json(exclude={"at", "open", "turns", "remembered"}) for one in answers(world.broker)}
    assert Erased.model_validate_json(facts.replace("}", ',"at":1}')).threads == ("h",), where


SCENARIOS = [CLOSED, BY_USER, OPEN]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_nothing_of_an_erased_thread_is_left(scenario: Scenario) -> None:
    """Where nobody dies; and the answer counts what went."""
    world, power = simulate(played(scenario))
    check_erased(world, power, "undisturbed")
    (answer,) = answers(world.broker)
    opened = 2 if scenario is OPEN else 0
    assert (answer.turns, answer.open, answer.remembered, answer.refused) == (
        2 + opened // 2,
        opened,
        2 - opened // 2,
        False,
    )
    ends = {key.rpartition("/")[2]: end for key, end in look(world, power).outcomes.items()}
    assert (ends["b"], ends["c"]) == ("cancelled" if opened else "completed", "completed")


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "uncommitted"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_a_worker_may_die_at_any_boundary(scenario: Scenario, commits: bool) -> None:
    """What was journaled before the erasure is erased, what comes after is not; no erased turn runs again.

    There are many boundaries: every other one is tried with what was committed, the rest with nothing committed.
    """
    _, undisturbed = simulate(played(scenario))
    for cut, boundary in list(enumerate(undisturbed.passed))[commits::2]:
        world, power = simulate(played(scenario, [cut], commits=commits))
        check_erased(world, power, f"died at boundary {cut}, {boundary}")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=st.data())
def test_workers_may_die_one_after_the_other(scenario: Scenario, data: st.DataObject) -> None:
    """Of what was on its way a part arrives, and the journal may be compacted in between."""
    cuts = data.draw(st.lists(st.integers(0, 80), min_size=2, max_size=4))
    commits, lagging, compact = (data.draw(st.booleans()) for _ in range(3))
    fate = Random(data.draw(st.integers(0, 1_000)))
    check = simulate(played(scenario, cuts, commits=commits, lagging=lagging, compact=compact, fate=fate))
    check_erased(*check, f"died at {cuts}")


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "uncommitted"])
def test_open_turns_stand_in_the_way(commits: bool) -> None:
    """Unless they may be cancelled: the thread remembers, whoever dies, and the operator is told of open turns."""
    _, undisturbed = simulate(played(REFUSED))
    for cut in [None, *range(len(undisturbed.passed))]:
        world, power = simulate(played(REFUSED, [] if cut is None else [cut], commits=commits))
        first, *_ = answers(world.broker)
        assert (first.refused, first.threads, first.open) == (True, (), 1)
        if commits:
            seen = look(world, power)
            assert [said.turn_id for said in seen.transcripts["default/h"]] == ["a", "b"]


def test_the_topic_says_who_wanted_what_and_what_became_of_it() -> None:
    """The wish stands there with its ids, the answer without more than the thread's."""
    world, _ = simulate(played(CLOSED))
    wish, answer = (codec.decode(raw, names.ERASURE) for raw in world.broker.values(ERASURES))
    assert isinstance(wish, Erase)
    assert isinstance(answer, Erased)
    assert SECRET not in codec.encode(answer)
