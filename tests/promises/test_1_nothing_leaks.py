"""Promise 1: whatever way an answer is cut into frames, readers only ever have a prefix of what the chain approved.

The promise with processors as people write them; `tests/properties` has it for arbitrary ones, promise-breaking included.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors import Answer, Deps, Incremental, Pass, Reject, Replace, output_processor
from processors.patterns import Pattern
from processors.patterns.redactor import Redactor, Rule
from processors.testing import run_gate

EMAIL = re.compile(r"[\w.+-]{1,20}@[A-Za-z0-9-]{1,20}(?:\.[A-Za-z0-9-]{1,20}){1,3}")
SECRETS = ("bob@example.com", "x.y@mail.example.co.uk", "fk-live-abcdef0123456789")
TEXT = (
    f"Write to {SECRETS[0]}, or \u201c{SECRETS[1]}\u201d; the key {SECRETS[2]} "
    "is \U0001f469\u200d\U0001f4bb's. e\u0301\r\nDone."
)


@output_processor(name="emails", incremental=Incremental(lookback_chars=110))
def emails(answer: Answer) -> Replace:
    """Replace addresses, on any prefix."""
    return Replace(EMAIL.sub("[email]", answer.text))


@output_processor(name="keys", incremental=Incremental(lookback_chars=64))
def keys(answer: Answer) -> Replace:
    """Replace keys, on any prefix."""
    return Replace(re.sub(r"fk-live-[a-z0-9]{10,40}", "[key]", answer.text))


@output_processor(name="whole")
def whole(answer: Answer) -> Replace:
    """Replace both, once the answer is whole."""
    return keys(Answer(text=emails(answer).text))


@output_processor(name="no-keys", incremental=Incremental(lookback_chars=64))
def no_keys(answer: Answer) -> Pass | Reject:
    """Reject an answer with a key in it."""
    return Reject("a key") if "fk-live-" in answer.text else Pass()


CHAINS = {
    "scanned": Deps(
        output_processors=[
            Redactor("emails", [Rule("email", Pattern(r"[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"))]),
            Redactor("keys", [Rule("key", Pattern(r"fk-live-[a-z0-9]{10,}"))]),
        ]
    ),
    "incremental": Deps(output_processors=[emails, keys], window="sum"),
    "whole": Deps(output_processors=[whole]),
    "rejecting": Deps(output_processors=[emails, no_keys]),
}


def splits() -> Iterator[list[str]]:
    """Yield the text in one piece, in every two pieces, by the character, and in 50 random ways."""
    yield [TEXT]
    yield list(TEXT)
    for place in range(1, len(TEXT)):
        yield [TEXT[:place], TEXT[place:]]
    choice = random.Random(7)
    for _ in range(50):
        places = sorted(choice.sample(range(1, len(TEXT)), choice.randint(2, 20)))
        yield [TEXT[a:b] for a, b in zip([0, *places], [*places, len(TEXT)], strict=True)]


@pytest.mark.parametrize("name", CHAINS)
def test_no_split_shows_anything_that_was_not_approved(name: str) -> None:
    """Every cumulative release is a prefix of the one settled answer, or of nothing at all where it was rejected."""
    settled = run_gate(CHAINS[name], [TEXT])
    assert settled.outcome == ("rejected" if name == "rejecting" else "completed")
    for frames in splits():
        run = run_gate(CHAINS[name], frames)
        assert run.outcome == settled.outcome
        shown = ""
        for release in run.releases:
            shown += release
            assert not any(secret[:4] in shown for secret in SECRETS)
        if settled.outcome == "completed":
            assert shown == settled.text


@given(order=st.permutations(range(12)), repeats=st.lists(st.integers(0, 11), max_size=6))
def test_disorder_and_repetition_show_nothing_more(order: list[int], repeats: list[int]) -> None:
    """Frames that come early, late or twice change when text goes out, and never what."""
    step = -(-len(TEXT) // 11)
    frames = [{"seq": number, "text": TEXT[number * step : (number + 1) * step]} for number in range(11)]
    frames.append({"seq": 11, "finish_reason": "stop"})
    run = run_gate(CHAINS["scanned"], [frames[number] for number in [*order, *repeats]])
    assert run.text == run_gate(CHAINS["scanned"], [TEXT]).text
    assert not any(secret[:4] in run.text for secret in SECRETS)
