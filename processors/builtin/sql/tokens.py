"""A text as words, numbers and signs, taken apart no further than somebody looks, and the names among them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from processors.builtin.sql.wordlist import words

_TOKEN = re.compile(r"(?P<word>[^\W\d][\w$]*)|(?P<number>\d\w*)|(?P<symbol>\S)")
_COMMENT = re.compile(r"/\*|--")
#: How far a statement is looked at.
MOST_TOKENS = 160

#: Words that stand before or after a name in a sentence, and are none of a table's.
ARTICLES = words(
    "the your my our their his her its this that these those an any each every both another which here there us it them"
    " among between all with without and or in is are was were be been can will would should may might must has have"
    " but when if to where as on not"
)
#: What may follow a table called `a`.
_AFTER_TABLE = words(
    "where set values select as join inner left right full cross on order group having limit using union add drop"
    " rename cascade if exists"
)
FILE_ENDINGS = words(
    "py json yaml yml toml txt md js ts tsx jsx html css csv xml ini cfg conf pdf docx xlsx exe sh png jpg"
)
_QUOTES = {'"': '"', "`": "`", "[": "]"}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number or a single sign, and where it stands."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        """The text in lower case."""
        return self.text.lower()


@dataclass(slots=True)
class Name:
    """A name that may be a table's."""

    after: int
    signs: bool = False
    article: bool = False
    file: bool = False


class TooMuchError(Exception):
    """A text has more in it that could be SQL than is going to be looked at."""


@dataclass(slots=True)
class Budget:
    """How many tokens may still be looked at."""

    tokens: int

    def spend(self) -> None:
        """Look at one more.

        Raises:
            TooMuchError: that would be one too many.
        """
        self.tokens -= 1
        if self.tokens < 0:
            raise TooMuchError


class Words:
    """The tokens from a statement's first word on, taken from the text as they are asked for."""

    def __init__(self, tokens: Iterator[Token], budget: Budget) -> None:
        self._coming = tokens
        self._budget = budget
        self._tokens: list[Token] = []

    def get(self, at: int) -> Token | None:
        """Return a token, None past the end."""
        while len(self._tokens) <= at < MOST_TOKENS:
            self._budget.spend()
            token = next(self._coming, None)
            if token is None:
                return None
            self._tokens.append(token)
        return self._tokens[at] if 0 <= at < len(self._tokens) else None

    def since(self, at: int) -> Words:
        """Return the same without the tokens before one of them."""
        self.get(at)
        return Words(chain(self._tokens[at:], self._coming), self._budget)

    def find(self, first: int, last: int, *texts: str) -> int | None:
        """Return the first place from `first` to before `last` where one of these stands, in lower case."""
        for at in range(first, last):
            token = self.get(at)
            if token is None:
                return None
            if token.lower in texts:
                return at
        return None

    def lower(self, at: int) -> str:
        """Return a token's text in lower case, "" past the end."""
        token = self.get(at)
        return token.lower if token is not None else ""

    def is_word(self, at: int) -> bool:
        """Tell whether there is a word."""
        token = self.get(at)
        return token is not None and token.kind == "word"

    def capitals(self, *places: int) -> bool:
        """Tell whether all these words are in capitals."""
        found = [self.get(at) for at in places]
        return all(token is not None and token.kind == "word" and token.text.isupper() for token in found)

    def touches(self, at: int) -> bool:
        """Tell whether a token follows the one before it with nothing between."""
        before, token = self.get(at - 1), self.get(at)
        return before is not None and token is not None and token.start == before.end

    def end(self, at: int) -> int:
        """Return where in the text the token before a place ends."""
        token = self.get(at - 1)
        return token.end if token is not None else 0

    def name(self, at: int) -> Name | None:
        """Return the name that begins at a token, with all its parts; None if none does."""
        signs = file = False
        first = self.lower(at)
        parts = 0
        while True:
            if self.lower(at) in _QUOTES:
                close = _QUOTES[self.lower(at)]
                end = self.find(at + 1, at + 9, close)
                if end is None:
                    return None
                signs, at = True, end + 1
            elif self.is_word(at):
                signs = signs or "_" in self.lower(at)
                at += 1
            elif self.lower(at) in {"@", "#"} and self.is_word(at + 1):
                signs, at = True, at + 2
            else:
                return None
            parts += 1
            if not (self.lower(at) == "." and self.touches(at) and self.touches(at + 1)):
                break
            file = self.lower(at + 1) in FILE_ENDINGS
            signs = signs or not file
            at += 1
        article = parts == 1 and (
            first in ARTICLES or (first == "a" and self.is_word(at) and self.lower(at) not in _AFTER_TABLE)
        )
        return Name(at, signs, article, file)

    def ends_or(self, at: int, *texts: str) -> bool:
        """Tell whether a token is one of these, or a semicolon."""
        return self.lower(at) in {";", *texts}


def tokens_from(text: str, start: int, budget: Budget) -> Words:
    """Return the tokens of a text from a place on."""
    found = (Token(one.lastgroup or "", one.group(), one.start(), one.end()) for one in _TOKEN.finditer(text, start))
    return Words(found, budget)


def comments_blanked(text: str) -> str:
    """Return a text of the same length with spaces in place of SQL's comments."""
    out: list[str] = []
    place = 0
    while (match := _COMMENT.search(text, place)) is not None:
        start = match.start()
        if match.group() == "--":
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
        else:
            end = text.find("*/", start + 2) + 2
            if end < start + 2:  # nor does any later one end
                return "".join([*out, text[place:]])
        out += [text[place:start], " " * (end - start)]
        place = end
    return "".join([*out, text[place:]])
