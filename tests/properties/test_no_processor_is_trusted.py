"""A chain that keeps no promise: what is out is of the settled answer, or the turn visibly fails and no more comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from processors.outcomes import Approved, Broken, OutputOutcome, Refused
from streams.gate.policy import Policy
from tests.properties.drive import Driven, disturbed, drive, random_splits
from tests.properties.keepers import TEXTS
from tests.streams.gate.play import Judge, Play
from topics.names import RELEASED_FRAMES
from topics.records import TextFrame


@dataclass
class Whim:
    """A chain that answers by whim, and keeps what it has said.

    `passes` are the texts of its prefix passes, `last` what it said last, `settled` whether that was of all the text.
    """

    answers: list[Callable[[str], OutputOutcome]]
    passes: list[str] = field(default_factory=list)
    last: OutputOutcome | None = None
    settled: bool = False
    asked: int = 0

    def __call__(self, text: str, complete: bool) -> OutputOutcome:
        """Answer with the next of `answers`, over and over."""
        outcome = self.answers[self.asked % len(self.answers)](text)
        self.asked += 1
        self.last, self.settled = outcome, complete
        if isinstance(outcome, Approved) and not complete:
            self.passes.append(outcome.text)
        return outcome


WHIMS: st.SearchStrategy[Callable[[str], OutputOutcome]] = st.one_of(
    st.sampled_from(
        [
            Approved,
            Approved,
            Approved,
            lambda text: Approved(text.upper()),
            lambda text: Approved(text[::-1]),
            lambda text: Approved(text[: len(text) // 2]),
            lambda text: Approved(text + text),
            lambda text: Approved("[checking] " + text),
            lambda _: Broken("whim", "KeyError"),
        ]
    ),
    st.text("ab\r\n", max_size=6).map(lambda said: lambda _: Approved(said)),
    st.sampled_from([lambda _: Refused("whim", "policy")]),
)


def run(whim: Judge, text: str, window: int, seed: int) -> Driven:
    """Drive one random split of a text, in disorder, through a chain."""
    (pieces,) = random_splits(text, 1, seed)
    policy = Policy(mode="incremental", window=window)
    return drive([[one] for batch in disturbed(pieces, seed) for one in batch], whim, policy)


@settings(max_examples=1_000)
@given(st.lists(WHIMS, min_size=1, max_size=6), TEXTS, st.integers(0, 4), st.integers(0, 2**16))
def test_released_text_is_of_the_settled_answer_or_the_turn_fails(
    answers: list[Callable[[str], OutputOutcome]], text: str, window: int, seed: int
) -> None:
    """Whatever the chain says from one pass to the next."""
    whim = Whim(answers)
    driven = run(whim, text, window, seed)
    for before, after in pairwise(driven.outs):
        assert after.startswith(before)
    out = driven.before_pass[-1]
    if isinstance(whim.last, Approved) and whim.last.text.startswith(out):
        assert whim.settled
        assert (driven.outcome, driven.released) == ("completed", whim.last.text)
    else:
        # Nothing came of the pass that ended it, and nothing after it.
        outcome = "rejected" if isinstance(whim.last, Refused) else "failed"
        assert whim.settled or outcome == "rejected"
        assert (driven.outcome, driven.released) == (outcome, out)


@settings(max_examples=500)
@given(st.lists(WHIMS, min_size=1, max_size=6), TEXTS, st.integers(0, 4), st.integers(0, 2**16))
def test_every_release_is_of_a_passes_output_and_leaves_its_window(
    answers: list[Callable[[str], OutputOutcome]], text: str, window: int, seed: int
) -> None:
    """No raw text, and no text that a pass did not approve."""
    whim = Whim(answers)
    driven = run(whim, text, window, seed)
    for out in driven.outs:
        of_a_pass = any(said.startswith(out) and len(out) <= max(len(said) - window, 0) for said in whim.passes)
        of_the_end = whim.settled and isinstance(whim.last, Approved) and out == whim.last.text
        assert out == "" or of_a_pass or of_the_end


@settings(max_examples=100)
@given(st.lists(WHIMS, min_size=1, max_size=6), TEXTS, st.integers(0, 2**16))
def test_a_reader_is_never_told_two_stories(
    answers: list[Callable[[str], OutputOutcome]], text: str, seed: int
) -> None:
    """One terminal frame, last; and the text before it in one piece."""
    (pieces,) = random_splits(text, 1, seed)
    play = Play(Policy(mode="incremental", window=1)).start()
    whim = Whim(answers)
    for batch in disturbed(pieces, seed):
        play.frames(*batch)
        play.judge(whim)
    released = [effect for effect in play.published if effect.topic is RELEASED_FRAMES]
    assert [effect.terminal for effect in released] == [False] * (len(released) - 1) + [True]
    assert play.outcome is not None
    assert not play.view.contradicted
    assert play.view.text == "".join(frame.text for frame in play.of(TextFrame))
