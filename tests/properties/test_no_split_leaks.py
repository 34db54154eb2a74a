"""A chain that keeps its promise: however its answers are cut, everything that is out is what it settled on."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streams.gate.policy import Policy
from tests.properties.drive import Batches, disturbed, drive, one_by_one, random_splits, splits
from tests.properties.keepers import KEEPERS, TEXTS, Keeper, alternating, cap, chained, redactor, spelling
from tests.streams.gate.play import Judge, Play, mapped
from topics.graphemes import safe_length
from topics.records import CompletedFrame

LIVE = Policy()
WHOLE = Policy(mode="whole")


def check(batches: Batches, chain: Judge, policy: Policy, settled: str) -> list[str]:
    """Check that every release is of the settled text, and all of it in the end; return what was out over time."""
    driven = drive(batches, chain, policy)
    assert driven.outcome == "completed"
    assert driven.released == settled
    for out in driven.outs:
        assert settled.startswith(out)
    assert driven.outs == sorted(driven.outs, key=len)
    return driven.outs


EMAILS = redactor(r"[a-z]{1,8}@[a-z]{1,8}\.[a-z]{2,3}", 21, "[email]")
NUMBERS = redactor(r"\d{3}-\d{2}-\d{4}", 11, "[number]")
GROWING = redactor(r"\d{2,4}", 4, "<a longer replacement>")
VANISHING = redactor("[aeiou]{1,2}", 2, "")
PLAIN = (
    "Write to bob@acme.example, or anna@b.de; 000-12-3456 and 12345678 "
    "\U0001f469\u200d\U0001f4bb\r\nbye\u0301 \U0001f1e9\U0001f1ea."
)

CHAINS = {
    "emails": [EMAILS],
    "numbers": [NUMBERS],
    "growing": [GROWING],
    "vanishing": [VANISHING],
    "all": [EMAILS, NUMBERS, VANISHING],
    "cap": [cap(30)],
    "spelling": [spelling({"a": "aa", " ": "", "1": "\r"})],
    "alternating": [alternating()],
}


@pytest.mark.parametrize("disorder", [False, True], ids=["in order", "in disorder"])
@pytest.mark.parametrize("keepers", CHAINS.values(), ids=CHAINS.keys())
def test_no_split_of_a_text_leaks(keepers: list[Keeper], disorder: bool) -> None:
    """All two-way splits, per character, and 200 random ones."""
    keeper, window = chained(keepers)
    policy = Policy(mode="incremental", window=window)
    settled = keeper.change(PLAIN)
    flowed = False
    for number, pieces in enumerate(splits(PLAIN, 200, seed=7)):
        batches = disturbed(pieces, seed=number) if disorder else one_by_one(pieces)
        outs = check(batches, keeper.judge, policy, settled)
        flowed = flowed or any(outs[:-1])
    assert flowed or window >= len(settled)


@settings(max_examples=500)
@given(st.lists(KEEPERS, min_size=1, max_size=3), TEXTS, st.integers(0, 3), st.integers(0, 2**16))
@example([redactor(r"(?:1|12)b?", 3, "[x]")], "1a12b1", 0, 0)
def test_random_chains_that_keep_their_promise_leak_nothing(
    keepers: list[Keeper], text: str, spare: int, seed: int
) -> None:
    """With just the window they need, or a little more."""
    keeper, needed = chained(keepers)
    policy = Policy(mode="incremental", window=needed + spare)
    settled = keeper.change(text)
    for number, pieces in enumerate(splits(text, 10, seed)):
        check(one_by_one(pieces), keeper.judge, policy, settled)
        check(disturbed(pieces, seed + number), keeper.judge, policy, settled)


@settings(max_examples=60)
@given(st.lists(KEEPERS, min_size=1, max_size=2), TEXTS, st.integers(0, 2**16))
def test_a_whole_answer_chain_shows_nothing_before_the_end(keepers: list[Keeper], text: str, seed: int) -> None:
    """Whatever it promises."""
    keeper, _ = chained(keepers)
    for pieces in random_splits(text, 8, seed):
        settled = keeper.change(text)
        assert set(check(disturbed(pieces, seed), keeper.judge, WHOLE, settled)) <= {"", settled}


@settings(max_examples=100)
@given(TEXTS, st.integers(0, 2**16))
def test_without_a_chain_every_release_is_of_the_text(text: str, seed: int) -> None:
    """Every two-way split among them, none of which shows half of something."""
    for pieces in splits(text, 5, seed):
        outs = check(one_by_one(pieces), mapped(str), LIVE, text)
        for out in outs[:-1]:
            assert safe_length(text, len(out)) == len(out) or text[len(out)] in "\u0301\u200d"
        check(disturbed(pieces, seed), mapped(str), LIVE, text)


@settings(max_examples=60)
@given(st.text(st.sampled_from([*"ab\r\n", "\U0001f600", "\U0001f1e9"]), max_size=12), st.booleans())
def test_no_split_of_a_character_into_halves_changes_the_text(text: str, gated: bool) -> None:
    """Each half in a frame of its own, as JSON can spell them."""
    raw = text.encode("utf-16-le")
    halves = [raw[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(raw), 2)]
    policy = Policy(mode="incremental", window=1) if gated else LIVE
    check(one_by_one(halves), mapped(str), policy, text)
    check(disturbed(halves, seed=len(text)), mapped(str), policy, text)


@settings(max_examples=60)
@given(TEXTS, st.integers(0, 6), st.integers(0, 2**16))
def test_what_may_go_out_does(text: str, window: int, seed: int) -> None:
    """The gate holds back the window and what a boundary asks for, and not more."""
    policy = Policy(mode="incremental", window=window)
    for pieces in splits(text, 3, seed):
        outs = drive(one_by_one(pieces), mapped(str), policy).outs
        so_far = ""
        for piece, out in zip(pieces[:-1], outs[:-1], strict=True):
            so_far += piece
            assert len(out) >= safe_length(so_far, max(len(so_far) - window, 0))
            assert len(out) <= max(len(so_far) - window, 0)


@settings(max_examples=60)
@given(st.lists(KEEPERS, min_size=1, max_size=2), TEXTS, st.integers(0, 2**16))
def test_readers_have_what_the_machine_released(keepers: list[Keeper], text: str, seed: int) -> None:
    """Through bytes, effects and the reader's fold, with records so small that texts are cut."""
    keeper, window = chained(keepers)
    policy = Policy(mode="incremental", window=window, max_record_bytes=24)
    for batch_seed, pieces in enumerate(random_splits(text, 3, seed)):
        play = Play(policy).start()
        for batch in disturbed(pieces, batch_seed):
            play.frames(*batch)
            play.judge(keeper.judge)
        settled = keeper.change(text)
        assert play.view.text == "".join(play.releases) == settled
        assert play.of(CompletedFrame)[0].length == len(settled)
        assert play.outcome == "completed"


def test_the_window_that_a_chain_needs_is_needed() -> None:
    """The properties above are not true for want of trying: with one character less, some split leaks."""
    keeper, window = chained([redactor(r"\d{3}-\d{2}", 6, "[no]")])
    text = "call 000-12 now"
    settled = keeper.change(text)
    needed = 6 - 1  # the replacement is shorter than the beginning of a match
    assert window >= needed
    for narrow, leaks in ((needed, False), (needed - 1, True)):
        policy = Policy(mode="incremental", window=narrow)
        runs = [drive(one_by_one(pieces), keeper.judge, policy) for pieces in splits(text, 0, seed=0)]
        assert any(run.outcome == "failed" for run in runs) == leaks
        assert all(run.released == settled for run in runs) != leaks


def test_the_window_counts_what_the_chain_makes() -> None:
    """That the model's text is longer, for parts of it were dropped, is no reason to hold less."""

    def change(text: str) -> str:
        return re.sub(r"\d{3}-\d{2}", "[no]", text.replace("(padding)", ""))

    text = "(padding)(padding)call 000-12 now"
    for pieces in splits(text, 20, seed=1):
        check(one_by_one(pieces), mapped(change), Policy(mode="incremental", window=8), "call [no] now")
