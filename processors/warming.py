"""Having scanners read before it counts: what they learn of a language once, they need not learn from people's answers.

Much of what a scanner's first frames cost is the making of tables: of what may follow, and of the engine's own. They are
shared by all scanners of a processor, so that one which has read other texts makes them for those that read answers. The
texts are made up and always the same: common words, numbers, the marks of prose, Markdown, JSON and programs, and examples
of what is looked for, whole and cut off.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from processors.patterns.redactor import RedactingScanner

_TEXTS = 60
_WORDS_IN_TEXT = 90
#: Frames of servers that write each token, a few together, and many.
_PIECES = (4, 9, 22)
_COMMON = (
    "the of and to a in is that for it as was with be by on not he his but at are this have from which one had or all "
    "they you were their has would who will more no if out so what up said about into than them can only other new some "
    "could time these two may then do first any my now such like our over man me even most made after also did many "
    "before must through years where much your way well down should because each just those people how too little state "
    "good very make world still own see men work long get here between both life being under never day same another know "
    "while last might us great old year off come since against go came right used take three however code data value "
    "example function file list number user error return result name type string using order please note following step"
)
_MARKS = (
    ". ",
    ", ",
    ": ",
    "; ",
    "? ",
    "! ",
    " - ",
    " (",
    ") ",
    '" ',
    ' "',
    "\n",
    "\n\n",
    "\n- ",
    "\n1. ",
    "\n## ",
    "**",
)
_OTHER = (
    "`", "```\n", " = ", "/", "@", "_", "-", "+", "'s ", "#", "&", "%", "*", "|", "\\", "$", "~", "^", "<", ">", "[", "]",
    "{", "}", '": "', '", "', "://", "==", "()", "=", ".", ",", ":", "e.g. ", "\t", "\r\n",
)  # fmt: skip


class Reads(Protocol):
    """As much of a scanner as reads an answer while it grows."""

    def feed(self, delta: str) -> str:
        """Take in what follows."""


def warming(open_scanner: Callable[[], Reads]) -> Iterator[None]:
    """Have scanners read made-up texts, one each time that this is asked for more.

    A scanner that breaks is not given any more: whether its processor is broken is for an answer to show.
    """
    rng = random.Random(1)  # noqa: S311 - the same each time
    for number in range(_TEXTS):
        size = _PIECES[number % len(_PIECES)]
        try:
            scanner = open_scanner()
            text = "".join(_passage(rng, _examples(scanner, rng)))
            for place in range(0, len(text), size):
                scanner.feed(text[place : place + size])
        except Exception:  # noqa: BLE001 - an operator's code may raise anything
            return
        yield


def _examples(scanner: Reads, rng: random.Random) -> list[str]:
    """Return texts of the kinds that a scanner, or those in it, say they look for."""
    found: list[str] = []
    for stage in getattr(scanner, "stages", (scanner,)):
        if isinstance(stage, RedactingScanner):
            found += filter(None, stage.examples(rng))
    return found


def _passage(rng: random.Random, examples: Sequence[str]) -> Iterator[str]:
    common = _COMMON.split()
    for _ in range(_WORDS_IN_TEXT):
        word = rng.choice(common)
        kind = rng.random()
        if kind < 0.06:  # noqa: PLR2004 - one in so many
            yield str(rng.randrange(10 ** rng.randint(1, 8)))
        elif kind < 0.12 and examples:  # noqa: PLR2004 - as above
            example = rng.choice(examples)
            yield example[: rng.choice((len(example), rng.randint(1, len(example))))]
        else:
            yield word if kind < 0.85 else word.capitalize() if kind < 0.95 else word.upper()  # noqa: PLR2004 - as above
        kind = rng.random()
        yield " " if kind < 0.75 else rng.choice(_MARKS) if kind < 0.9 else rng.choice(_OTHER)  # noqa: PLR2004 - as above
