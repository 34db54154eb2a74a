"""What a channel can show: its marks, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

#: How a text can be set off, outermost first.
Mark: TypeAlias = Literal["bold", "italic", "strike"]
MARKS: tuple[Mark, ...] = ("bold", "italic", "strike")


@dataclass(frozen=True, slots=True)
class Style:
    """What stands around texts that are set off, and before lines. "" is nothing at all."""

    bold: str = ""
    italic: str = ""
    strike: str = ""
    code: str = ""
    fence: str = ""
    quote: str = ""

    def mark(self, mark: Mark) -> str:
        """Return what stands on both sides of a text that is set off so."""
        return {"bold": self.bold, "italic": self.italic, "strike": self.strike}[mark]


PLAIN = Style()
WHATSAPP = Style(bold="*", italic="_", strike="~", code="`", fence="```", quote="> ")
