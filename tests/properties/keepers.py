"""Chains that keep a promise: what they say of a text stays, but for a known number of characters at its end."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from processors.outcomes import Approved
from tests.streams.gate.play import Judge

#: Letters that meet the patterns below often, and whatever makes cutting a text delicate.
ALPHABET = [*"aab1 2@", "\r", "\n", "\u0301", "\u200d", "\U0001f469", "\U0001f1e9", "\u00e9", "\U0001f600"]
TEXTS = st.text(st.sampled_from(ALPHABET), max_size=20)

#: Pieces of patterns, and the longest text that each matches. None looks around itself, so that a match depends on
#: nothing but the characters from its beginning on.
ATOMS = [("a", 1), ("[ab]", 1), (r"\d", 1), ("a{1,3}", 3), (r"(?:1|12)", 2), ("b?", 1), (r"[a-z@]{2,4}", 4), (r".", 1)]
REPLACEMENTS = ["", "*", "[x]", "aa", "\u0301", "\r"]


@dataclass(frozen=True)
class Keeper:
    """A function of texts, and the window that keeps its promise for an input of which `unstable` characters may change.

    `window(unstable)` is how many characters at the end of its output may then.
    """

    label: str
    change: Callable[[str], str]
    window: Callable[[int], int]

    @property
    def judge(self) -> Judge:
        """The keeper as a chain."""
        return lambda text, _complete: Approved(self.change(text))


def redactor(pattern: str, longest: int, replacement: str) -> Keeper:
    """Return what replaces matches of a pattern that is never longer than `longest`.

    The first characters of the last `longest` - 1 may turn out to begin a match; each of them, or of those that are not
    settled in the input, may be one that is replaced.
    """
    compiled = re.compile(pattern, re.DOTALL)
    width = max(1, len(replacement))
    return Keeper(
        f"{pattern!r} to {replacement!r}",
        lambda text: compiled.sub(lambda match: replacement if match.group() else "", text),
        lambda unstable: (longest - 1 + unstable) * width,
    )


def spelling(table: dict[str, str]) -> Keeper:
    """Return what replaces each character by itself, so that nothing changes when more comes."""
    width = max(1, *map(len, table.values()))
    return Keeper(f"{table}", lambda text: "".join(table.get(char, char) for char in text), lambda n: n * width)


def alternating() -> Keeper:
    """Return a map that keeps lengths and depends on everything before a character."""
    return Keeper(
        "every other one upper",
        lambda text: "".join(char.upper() if i % 2 and len(char.upper()) == 1 else char for i, char in enumerate(text)),
        lambda unstable: unstable,
    )


def cap(limit: int) -> Keeper:
    """Return what cuts a text short: the last character that it shows may turn into an ellipsis."""
    return Keeper(
        f"at most {limit}",
        lambda text: text if len(text) <= limit else f"{text[: limit - 1]}\u2026",
        lambda unstable: unstable + 1,
    )


@st.composite
def redactors(draw: st.DrawFn) -> Keeper:
    """Draw a redactor with a pattern of a few atoms that matches at least one character."""
    atoms = draw(
        st.lists(st.sampled_from(ATOMS), min_size=1, max_size=4).filter(lambda found: found != [ATOMS[5]] * len(found))
    )
    pattern = "".join(atom for atom, _ in atoms)
    return redactor(pattern, sum(longest for _, longest in atoms), draw(st.sampled_from(REPLACEMENTS)))


SPELLINGS = st.dictionaries(st.sampled_from(ALPHABET), st.sampled_from(REPLACEMENTS), min_size=1).map(spelling)
KEEPERS = st.one_of(
    st.just(Keeper("identity", str, lambda unstable: unstable)),
    st.just(alternating()),
    st.integers(1, 9).map(cap),
    SPELLINGS,
    redactors(),
)


def chained(keepers: list[Keeper]) -> tuple[Keeper, int]:
    """Return keepers one after the other, and the window that the last one's output needs."""

    def change(text: str) -> str:
        for keeper in keepers:
            text = keeper.change(text)
        return text

    window = 0
    for keeper in keepers:
        window = keeper.window(window)
    return Keeper(" | ".join(keeper.label for keeper in keepers), change, lambda _: window), window
