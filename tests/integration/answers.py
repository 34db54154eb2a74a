"""Answers for scripted models: words and addresses, cut into frames so that addresses are split across them."""

from __future__ import annotations

import random

WORDS = (
    "the ",
    "account of ",
    "bob@example",
    ".com ",
    "is at ",
    "x.y@",
    "mail.example.org ",
    "5,",
    " and ",
    "für ",
    "👩‍💻 ",
)


def answer(seed: int | str, frames: int) -> list[str]:
    """Return the `frames` of one answer, the same for the same `seed`."""
    choice = random.Random(seed)
    return [choice.choice(WORDS) for _ in range(frames)]
