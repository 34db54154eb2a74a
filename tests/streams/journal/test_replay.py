"""Which rows of a journal hold: by claims, tombstones and epochs, whatever compaction has taken away."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streams.journal.claims import Claim
from streams.journal.keys import RowKey, claim_key
from streams.journal.replay import Replay
from tests.memory.broker import Log

Record = tuple[bytes, bytes | None]


def claim(name: str) -> Record:
    """Return a claim record."""
    return claim_key(name), Claim(name, 1).encode()


def row(n: int, epoch: int, value: bytes | None = b"v", subject: str = "s") -> Record:
    """Return a row of a subject, or its tombstone."""
    return RowKey(subject, n, epoch).encode(), value


def log_of(*records: Record) -> Log:
    """Return a log that holds `records`."""
    log = Log()
    for key, value in records:
        log.append(0, key, value)
    return log


def replayed(log: Log) -> Replay:
    """Return the replay of a log."""
    replay = Replay()
    for one in log.records:
        assert one.key is not None
        replay.apply(one.offset, one.key, one.value)
    return replay


def held(replay: Replay) -> dict[tuple[str, int], int]:
    """Return the rows that hold, with their epochs."""
    return {(subject, n): epoch for subject, rows in replay.rows.items() for n, (epoch, _) in rows.items()}


def test_rows_under_the_latest_claim_hold() -> None:
    """The ordinary case: a claim, then its owner's rows."""
    replay = replayed(log_of(claim("a"), row(0, 0), row(1, 0)))
    assert held(replay) == {("s", 0): 0, ("s", 1): 0}
    assert replay.void == []


def test_rows_under_an_older_claim_hold_if_they_came_before_the_next_one() -> None:
    """An owner's rows outlive its ownership."""
    replay = replayed(log_of(claim("a"), row(0, 0), claim("b"), row(1, 2)))
    assert held(replay) == {("s", 0): 0, ("s", 1): 2}


def test_rows_of_a_superseded_owner_are_void() -> None:
    """What comes under an old epoch after a newer claim never happened; its key is known, so that it can be cleared."""
    replay = replayed(log_of(claim("a"), row(0, 0), claim("b"), row(1, 0), row(1, 2, b"other")))
    assert replay.rows["s"][1] == (2, b"other")
    assert replay.void == [RowKey("s", 1, 0).encode()]


def test_a_superseded_producers_retry_of_a_row_that_holds_is_left_alone() -> None:
    """It has the key of the row that holds: clearing it would clear the row."""
    replay = replayed(log_of(claim("a"), row(0, 0), claim("b"), row(0, 0)))
    assert held(replay) == {("s", 0): 0}
    assert replay.litter(claim_key("b")) == [claim_key("a")]


def test_tombstones_hold_at_any_epoch() -> None:
    """They are sent for closed subjects only, so it does not matter who sends them, or when."""
    replay = replayed(log_of(claim("a"), row(0, 0), row(1, 0), claim("b"), row(0, 0, None)))
    assert held(replay) == {("s", 1): 0}


def test_a_tombstone_clears_no_row_of_another_epoch() -> None:
    """A void row's tombstone leaves the valid row with that number alone."""
    replay = replayed(log_of(claim("a"), claim("b"), row(0, 0), row(0, 1), row(0, 0, None)))
    assert held(replay) == {("s", 0): 1}
    assert replay.void == []


def test_a_subject_without_rows_is_gone() -> None:
    """Nothing of a cleared subject stays in memory."""
    replay = replayed(log_of(claim("a"), row(0, 0), row(0, 0, None)))
    assert replay.rows == {}


def test_litter_is_void_rows_first_and_then_older_claims() -> None:
    """The order matters: once the newer claim is gone, a void row that is still there would hold."""
    replay = replayed(log_of(claim("a"), claim("b"), row(0, 0), claim("c")))
    assert replay.litter(claim_key("c")) == [RowKey("s", 0, 0).encode(), claim_key("a"), claim_key("b")]


def test_claims_already_cleared_are_no_litter() -> None:
    """Their tombstones are read too."""
    replay = replayed(log_of(claim("a"), claim("b"), (claim_key("a"), None), claim("c")))
    assert replay.litter(claim_key("c")) == [claim_key("b")]


def test_rows_hold_after_the_claim_they_were_written_under_was_cleared_and_compacted_away() -> None:
    """Turns outlive several owners: each clears its predecessors' claims and none of their rows."""
    log = log_of(
        claim("a"), row(0, 0), claim("b"), (claim_key("a"), None), row(1, 2), claim("c"), (claim_key("b"), None)
    )
    log.compact(drop_tombstones=True)
    assert held(replayed(log)) == {("s", 0): 0, ("s", 1): 2}


def test_own_duplicates_change_nothing() -> None:
    """A producer that retries may write a row twice under the claim that is in force."""
    replay = replayed(log_of(claim("a"), row(0, 0), row(0, 0), row(1, 0)))
    assert held(replay) == {("s", 0): 0, ("s", 1): 0}


@given(
    moves=st.lists(st.sampled_from(["row", "late row", "own retry", "close", "take over"]), max_size=30),
    cut=st.floats(0, 1),
    drop=st.booleans(),
)
def test_compaction_at_any_place_changes_nothing_that_holds(moves: list[str], cut: float, drop: bool) -> None:
    """A journal as owners write it, void rows of superseded ones in between, holds the same rows before and after."""
    log = Log()
    epochs = [log.append(0, *claim("0"))]
    subject, n = 0, 0
    for move in moves:
        if move == "row":
            log.append(0, *row(n, epochs[-1], subject=str(subject)))
            n += 1
        elif move == "late row" and len(epochs) > 1:
            log.append(0, *row(n, epochs[-2], b"void", subject=str(subject)))
        elif move == "own retry" and n:
            log.append(0, *row(n - 1, epochs[-1], subject=str(subject)))
        elif move == "close" and n:
            keys = [key for key, _ in (row(at, ep, subject=str(subject)) for at in range(n) for ep in epochs)]
            for key in keys:
                log.append(0, key, None)
            subject, n = subject + 1, 0
        elif move == "take over":
            name = str(len(epochs))
            epochs.append(log.append(0, *claim(name)))
            for key in replayed(log).litter(claim_key(name)):
                log.append(0, key, None)
    before = replayed(log)
    log.compact(int(cut * log.end), drop_tombstones=drop)
    after = replayed(log)
    assert after.rows == before.rows
