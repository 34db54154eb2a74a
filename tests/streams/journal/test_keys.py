"""Keys of journal records: rows and claims can never be taken for each other."""

from __future__ import annotations

import pytest

from streams.journal.keys import RowKey, claim_key, is_claim


def test_a_row_key_reads_back() -> None:
    """Subject, number and epoch survive, also where the subject has slashes of its own."""
    key = RowKey("tenant/thread/turn", 12, 345)
    assert key.encode() == b"tenant/thread/turn/12/345"
    assert RowKey.parse(key.encode()) == key


@pytest.mark.parametrize("raw", [b"", b"subject", b"subject/1", b"subject/one/2", b"subject/1/two", b"\xff/1/2"])
def test_a_key_that_names_no_row_is_refused(raw: bytes) -> None:
    """What is no row key raises ValueError, not something else."""
    with pytest.raises(ValueError, match=r".+"):
        RowKey.parse(raw)


def test_claims_are_told_from_rows_by_their_key() -> None:
    """No subject can look like a claim: ids hold no control characters."""
    assert is_claim(claim_key("anything/1/2"))
    assert not is_claim(RowKey("claim", 1, 2).encode())
    assert not is_claim(None)


def test_claims_have_keys_of_their_own() -> None:
    """Compaction must not drop one claim in favour of another."""
    assert claim_key("a") != claim_key("b")
