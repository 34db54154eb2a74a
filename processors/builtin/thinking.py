"""Stripping what a model thinks aloud between tags, the same whether the answer is seen whole or growing.

A tag is what an HTML parser takes for one: `<name`, then `>`, or a space or slash and anything up to the next `>`. Upper
and lower case are equal. A block reaches from its first tag to the one that closes it, tags of the same name inside
counted; one that nothing closes reaches to the end. A tag that ends in `/>` opens no block and is dropped by itself. What
looked like a tag until the answer ended is ordinary text, and so is a closing tag that closes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from processors.contracts import Answer
from processors.declare import Incremental
from processors.errors import DeclarationError
from processors.verdicts import Replace

_AFTER_NAME = frozenset(" \t\r\n\f/")


class ThinkingScanner:
    """Reads one answer; `changes` counts the blocks, and the tags without one, that it dropped.

    What it holds back is a beginning of a tag at the end of the text, and nothing else.
    """

    def __init__(self, tags: Sequence[str], *, inside: str | None = None) -> None:
        self._tags = tuple(tags)
        self._block = inside or ""
        self._depth = 1 if inside else 0
        self._tag: list[str] = []
        self._name = ""
        self._named = False
        self.changes = self._depth

    def feed(self, delta: str) -> str:
        """Take in what follows; return what is outside of blocks, whatever comes next."""
        out: list[str] = []
        place = 0
        while place < len(delta):
            place = self._in_tag(delta, place, out) if self._tag else self._in_text(delta, place, out)
        return "".join(out)

    def finish(self) -> str:
        """Return the rest: a tag that was never finished."""
        rest = "" if self._depth else "".join(self._tag)
        self._tag = []
        return rest

    def _in_text(self, text: str, place: int, out: list[str]) -> int:
        """Go on to the next `<`."""
        found = text.find("<", place)
        end = len(text) if found < 0 else found
        if not self._depth:
            out.append(text[place:end])
        if found < 0:
            return end
        self._tag = ["<"]
        self._name = ""
        self._named = False
        return end + 1

    def _in_tag(self, text: str, place: int, out: list[str]) -> int:
        """Go on in what may become a tag."""
        if self._named:
            found = text.find(">", place)
            end = len(text) if found < 0 else found + 1
            self._tag.append(text[place:end])
            if found >= 0:
                self._tag_ends()
            return end
        char = text[place]
        if self._name in self._expected() and (char == ">" or char in _AFTER_NAME):
            self._tag.append(char)
            self._named = True
            if char == ">":
                self._tag_ends()
            return place + 1
        if any(name.startswith(self._name + char.lower()) for name in self._expected()):
            self._name += char.lower()
            self._tag.append(char)
            return place + 1
        if not self._depth:
            out.extend(self._tag)
        self._tag = []
        return place

    def _expected(self) -> tuple[str, ...]:
        return (self._block, f"/{self._block}") if self._depth else self._tags

    def _tag_ends(self) -> None:
        closes = self._name.startswith("/")
        # Two pieces at most need a look: the last may be the `>` alone.
        empty = "".join(self._tag[-2:]).endswith("/>")
        self._tag = []
        if not self._depth:
            self.changes += 1
        if closes:
            self._depth -= 1
        elif not empty:
            self._block = self._name
            self._depth += 1


class ThinkingStripper:
    """An output processor that drops blocks of thinking, and scans."""

    kind = "output"
    incremental = Incremental(lookback_chars=0)
    linear_time = True

    def __init__(self, tags: Sequence[str], *, name: str, starts_inside: bool, version: str) -> None:
        self.name = name
        self.version = version
        self._tags = tuple(tags)
        self._inside = self._tags[0] if starts_inside else None

    def process(self, answer: Answer) -> Replace:
        """Return the answer without its blocks."""
        scanner = self.open_scanner()
        text = scanner.feed(answer.text)
        if answer.complete:
            text += scanner.finish()
        return Replace(text, changes=scanner.changes)

    def open_scanner(self) -> ThinkingScanner:
        """Return a scanner for one answer."""
        return ThinkingScanner(self._tags, inside=self._inside)


def strip_thinking(
    tags: Sequence[str] = ("think", "thinking", "reasoning"),
    *,
    starts_inside: bool = False,
    name: str = "strip-thinking",
    version: str = "1",
) -> ThinkingStripper:
    """Return an output processor that drops `<think>...</think>` and the like from answers.

    `starts_inside` is for models whose prompt already opens the block, so that the answer begins within one of the first
    of `tags`. White space around a block stays.

    Raises:
        DeclarationError: there are no tags, or one is no name: a letter, then letters, digits, `_` and `-`.
    """
    if isinstance(tags, str) or not tags or not all(_is_tag(tag) for tag in tags):
        raise DeclarationError(
            "strip_thinking: tags must be a list of names without brackets, e.g. ['think']: letters, digits, _ and -"
        )
    return ThinkingStripper([tag.lower() for tag in tags], name=name, starts_inside=starts_inside, version=version)


def _is_tag(tag: object) -> bool:
    if not isinstance(tag, str) or not tag.isascii() or not tag[:1].isalpha():
        return False
    return tag.replace("_", "").replace("-", "").isalnum()
