"""The turn worker: records find their partition's loop, and only new turns wait when it is full."""

from __future__ import annotations

from streams.turns.desk_settings import DeskSettings
from streams.turns.worker import WorkerSettings
from tests.memory.power import Power
from tests.memory.simtime import settled, simulate
from tests.streams.turns.desks import source
from tests.streams.turns.simulation import JOURNAL, Process, Scenario, World, cancel, turn


def test_a_record_of_a_partition_that_is_not_owned_is_left_to_its_owner() -> None:
    """It is neither taken nor acknowledged."""

    async def main() -> None:
        process = Process(World(Scenario("", (), {})), Power())
        assert await process.start()
        await process.worker.deliver(source(turn(), partition=3))
        await settled()
        assert process.worker.partitions.loops[0].desk.turns == {}
        await process.end()
        await process.worker.deliver(source(turn(), partition=0))

    simulate(main())


def test_a_worker_is_full_when_as_many_turns_are_open_as_may_be() -> None:
    """Closed turns do not count."""

    async def main() -> None:
        world = World(Scenario("", (), {}))
        process = Process(world, Power(), settings=WorkerSettings(DeskSettings(partitions=1), max_open_turns=2))
        assert await process.start()
        assert not process.worker.full
        await process.worker.deliver(source(turn("a"), 0, partition=0))
        await settled()
        assert not process.worker.full
        await process.worker.deliver(source(turn("b", "h2"), 1, partition=0))
        await settled()
        assert process.worker.full
        await process.end()

    simulate(main())


def test_a_worker_is_full_before_it_has_opened_the_turns_it_was_given() -> None:
    """A burst is delivered faster than it is journaled; what was delivered counts, cancels and all, until it is taken."""

    async def main() -> None:
        world = World(Scenario("", (), {}))
        process = Process(world, Power(), settings=WorkerSettings(DeskSettings(partitions=1), max_open_turns=3))
        assert await process.start()
        for number in range(3):
            assert not process.worker.full
            await process.worker.deliver(source(turn(f"t{number}", f"h{number}"), number, partition=0))
        assert process.worker.partitions.loops[0].desk.turns == {}
        assert process.worker.full
        await settled()
        assert process.worker.full
        for number in range(3):
            await process.worker.deliver(source(cancel(f"t{number}", f"h{number}"), 3 + number, partition=0))
        await settled()
        assert not process.worker.full
        await process.end()

    simulate(main())


def test_losing_partitions_leaves_their_journal_as_it_is() -> None:
    """Nothing is appended on the way out: whatever is open is the next owner's."""

    async def main() -> None:
        process = Process(World(Scenario("", (), {})), Power())
        assert await process.start()
        await process.worker.deliver(source(turn(), partition=0))
        await settled()
        before = process.world.broker.read(JOURNAL)
        await process.worker.partitions.lose()
        await settled()
        assert process.world.broker.read(JOURNAL) == before
        assert process.worker.partitions.loops == {}
        await process.end()

    simulate(main())
