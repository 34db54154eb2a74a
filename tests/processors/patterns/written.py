"""Patterns for tests, written at random as people write them, and texts that meet them often."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

#: Few characters, so that patterns match; of each kind that some class tells apart.
ALPHABET = "ab1- \n_é"
TEXTS = st.text(st.sampled_from(ALPHABET), max_size=9)

CLASSES = [*"ab1-_é", ".", r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", "[ab]", "[^a]", "[a-z1]", r"[^\W_]", r"[\s-]"]
REPEATS = ["", "", "", "?", "*", "+", "{2}", "{1,2}", "??", "+?", "*?"]


def examples(count: int) -> settings:
    """Return settings for `count` examples, however long a busy machine takes for them."""
    return settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def bodies(draw: st.DrawFn, classes: list[str] = CLASSES, repeats: list[str] = REPEATS) -> str:
    """Draw a pattern of a few parts that matches at least one character: one of them is never repeated."""
    parts = draw(st.lists(_parts(classes, repeats), max_size=3))
    parts.insert(draw(st.integers(0, len(parts))), draw(st.sampled_from(classes)))
    return "".join(parts)


def _parts(classes: list[str], repeats: list[str]) -> st.SearchStrategy[str]:
    one = st.sampled_from(classes)
    word = st.lists(one, min_size=1, max_size=3).map("".join)
    group = st.lists(word, min_size=1, max_size=3).map(lambda options: f"(?:{'|'.join(options)})")
    return st.builds(str.__add__, st.one_of(one, group), st.sampled_from(repeats))


BEFORE = ["", r"\b", r"(?<!a)", r"(?<![\w-])", r"(?<!\S)", "^", r"\A", r"\b(?<!-)", r"(?<![^a1])"]
AFTER = ["", r"(?!a)", r"(?![\w-])", r"(?!\S)", "$", r"\Z", r"(?!-)(?!b)"]
FLAGS = ["", "(?i)", "(?m)", "(?s)", "(?a)", "(?im)", "(?as)"]


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """Draw a body with something on both sides, and flags."""
    flags, before, after = (draw(st.sampled_from(some)) for some in (FLAGS, BEFORE, AFTER))
    return f"{flags}{before}{_alone(draw(bodies()), before + after)}{after}"


def _alone(body: str, edges: str) -> str:
    return f"(?:{body})" if edges else body
