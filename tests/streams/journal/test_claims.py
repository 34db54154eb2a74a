"""The value of a claim, and the check of the number of partitions."""

from __future__ import annotations

import pytest

from streams.journal.claims import Claim
from streams.journal.errors import PartitionCountError


def test_a_claim_reads_back() -> None:
    """Worker and number of partitions survive."""
    claim = Claim("worker-1", 4)
    assert Claim.decode(claim.encode()) == claim


def test_a_claim_accepts_the_number_it_was_made_with() -> None:
    """Nothing happens as long as the pipeline keeps its shape."""
    Claim("worker", 4).expect(4, "journal")


def test_another_number_of_partitions_is_refused_with_both_numbers_and_a_way_out() -> None:
    """Threads would lose their journal; the message says what to do."""
    with pytest.raises(
        PartitionCountError, match=r"journal was claimed when.* 4 partitions, now it has 8.* new prefix"
    ):
        Claim("worker", 4).expect(8, "journal")
