"""Owning partitions in step with rebalances: claim, read, work, lose."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from streams.journal.claims import Claim
from streams.journal.errors import PartitionCountError, SupersededError
from streams.journal.keys import RowKey, claim_key
from streams.journal.owner import JournalOwner
from streams.journal.replay import Replay
from streams.journal.writer import JournalWriter, Row
from tests.memory.broker import Broker
from tests.memory.ports import MemoryLogs, MemoryProducer, replay_of
from tests.memory.power import Power
from tests.memory.simtime import simulate


class Working:
    """A loop that only says when it is stopped."""

    def __init__(self, name: str, trace: list[str]) -> None:
        self._name = name
        self._trace = trace

    async def stop(self) -> None:
        """Say so."""
        self._trace.append(f"stop {self._name}")


class Member:
    """A member of the group, with what it does in order."""

    def __init__(self, broker: Broker, names: itertools.count[int], partitions: int = 3) -> None:
        self.trace: list[str] = []
        self.journals: dict[int, JournalWriter] = {}
        self.replays: dict[int, Replay] = {}
        self.pause: asyncio.Event | None = None
        self.claimed: set[int] = set()
        self.owner: JournalOwner[Working] = JournalOwner(
            MemoryLogs(MemoryProducer(broker, Power(), self.trace.append), "journal"),
            Claim("member", partitions),
            self._open,
            replays=lambda: {partition: replay_of(broker, "journal", partition) for partition in self.claimed},
            unique=lambda: str(next(names)),
        )

    async def _open(self, partition: int, journal: JournalWriter, replay: Replay) -> Working:
        self.trace.append(f"open {partition}")
        self.journals[partition], self.replays[partition] = journal, replay
        if self.pause is not None:
            await self.pause.wait()
        return Working(str(partition), self.trace)

    async def get(self, *partitions: int) -> None:
        """Be assigned `partitions`."""
        self.claimed = set(partitions)
        await self.owner.lose()
        await self.owner.claim(self.claimed)
        await self.owner.restore()


def test_partitions_are_claimed_before_any_is_opened() -> None:
    """Whoever owned them before is superseded by the time their journals are read."""

    async def main() -> None:
        broker = Broker()
        member = Member(broker, itertools.count())
        await member.get(2, 0)
        sent = ["send journal", "durable journal"]
        assert member.trace == [*sent, *sent, "open 0", "open 2"]
        assert set(member.owner.loops) == {0, 2}
        assert broker.read("journal", 1) == []

    simulate(main())


def test_losing_stops_every_loop_and_forgets_it() -> None:
    """Nothing is delivered to a loop that was stopped."""

    async def main() -> None:
        member = Member(Broker(), itertools.count())
        await member.get(0, 1)
        member.trace.clear()
        await member.owner.lose()
        assert member.trace == ["stop 0", "stop 1"]
        assert member.owner.loops == {}
        await member.owner.lose()
        await member.owner.restore()
        assert member.owner.loops == {}, "a lost claim is not restored from"

    simulate(main())


def test_a_successor_gets_the_rows_and_supersedes_the_predecessor() -> None:
    """What the predecessor appends later is void, and it is told so."""

    async def main() -> None:
        broker, names = Broker(), itertools.count()
        first, second = Member(broker, names), Member(broker, names)
        await first.get(0)
        await first.journals[0].append([Row("s", 0, b"a")])
        await second.get(0)
        assert second.replays[0].rows == {"s": {0: (0, b"a")}}
        with pytest.raises(SupersededError):
            await first.journals[0].append([Row("s", 1, b"b")])

    simulate(main())


def test_void_rows_and_older_claims_are_cleared_before_work_begins() -> None:
    """Void rows first; the own claim and the rows that hold stay."""

    async def main() -> None:
        broker, names = Broker(), itertools.count()
        first, second, third = (Member(broker, names) for _ in range(3))
        await first.get(0)
        await second.get(0)
        with pytest.raises(SupersededError):
            await first.journals[0].append([Row("s", 0, b"void")])
        await third.get(0)
        tombstones = [one.key for one in broker.read("journal") if one.value is None]
        assert tombstones == [claim_key("0"), RowKey("s", 0, 0).encode(), claim_key("1")]
        assert third.trace[-1] == "open 0"
        assert [one.owner.void for one in (first, second, third)] == [0, 0, 1]
        await third.owner.lose()
        assert third.owner.void == 1

    simulate(main())


def test_a_journal_claimed_with_another_number_of_partitions_is_not_opened() -> None:
    """Neither by more nor by fewer."""

    async def main(partitions: int) -> None:
        broker, names = Broker(), itertools.count()
        await Member(broker, names, 3).get(0)
        late = Member(broker, names, partitions)
        with pytest.raises(PartitionCountError):
            await late.get(0)
        assert "open 0" not in late.trace

    simulate(main(6))
    simulate(main(2))


def test_a_member_that_gets_its_partition_again_claims_it_again() -> None:
    """Eager rebalances take everything away and give it back: its own older claim is a predecessor's like any other."""

    async def main() -> None:
        broker = Broker()
        member = Member(broker, itertools.count())
        await member.get(0)
        await member.journals[0].append([Row("s", 0, b"a")])
        await member.get(0)
        assert member.journals[0].epoch == 2
        await member.journals[0].append([Row("s", 1, b"b")])
        replay = replay_of(broker, "journal", 0)
        assert {n: epoch for n, (epoch, _) in replay.rows["s"].items()} == {0: 0, 1: 2}

    simulate(main())


@pytest.mark.parametrize("again", [False, True])
def test_partitions_that_are_lost_while_they_are_restored_are_not_worked_on(*, again: bool) -> None:
    """To read many turns takes seconds, and a rebalance may come; the same partition may even be assigned once more."""

    async def main() -> None:
        member = Member(Broker(), itertools.count())
        member.pause = asyncio.Event()
        getting = asyncio.create_task(member.get(0, 1))
        while "open 0" not in member.trace:  # noqa: ASYNC110 - the simulated clock jumps
            await asyncio.sleep(0.1)
        await member.owner.lose()
        pause, member.pause = member.pause, None
        if again:
            await member.owner.claim({0, 1})
            await member.owner.restore()
        held = dict(member.owner.loops)
        pause.set()
        await getting
        assert member.owner.loops == held
        assert (set(held), member.trace.count("stop 0")) == ({0, 1} if again else set(), 1)

    simulate(main())


@pytest.mark.parametrize("lost", [False, True])
def test_a_claim_of_its_own_that_supersedes_a_restore_is_no_reason_to_stop(*, lost: bool) -> None:
    """Another worker's is: this one may have released what that one does not know of."""

    async def main() -> None:
        broker, names = Broker(), itertools.count()
        member, other = Member(broker, names), Member(broker, names)
        await other.get(0)
        await other.journals[0].append([Row("s", 0, b"a")])
        await member.owner.claim({0})
        member.claimed = {0}
        await other.get(0)
        restoring = asyncio.create_task(member.owner.restore())
        await asyncio.sleep(0)
        if lost:
            await member.owner.lose()
            await restoring
        else:
            with pytest.raises(SupersededError):
                await restoring
        assert member.owner.loops == {}

    simulate(main())
