"""What the operator declares, without the code: for those who decide about chains but do not run them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from processors.declare import Declaration, Kind
from processors.tools import ToolSpec

Window: TypeAlias = Literal["widest", "sum"]
ReleaseMode: TypeAlias = Literal["live", "whole", "incremental", "scan"]


@dataclass(frozen=True)
class Manifest:
    """What is declared, without the code: for those who decide about chains but do not run them.

    Each list is in the order its chain runs in, or, where nothing runs in a row, in that of the `Deps`. Can be sent to
    another process.
    """

    output: tuple[Declaration, ...] = ()
    input: tuple[Declaration, ...] = ()
    pre: tuple[Declaration, ...] = ()
    post: tuple[Declaration, ...] = ()
    required_controls: tuple[str, ...] = ()
    window: Window = "widest"
    tools: tuple[ToolSpec, ...] = ()

    def chain(self, kind: Kind) -> tuple[Declaration, ...]:
        """Return the members of one kind, in the order they run in."""
        members: tuple[Declaration, ...] = getattr(self, kind)
        return members

    def __bool__(self) -> bool:
        """Tell whether anything is declared at all."""
        return bool(self.output or self.input or self.pre or self.post)

    @property
    def release_mode(self) -> ReleaseMode:
        """How answers are released: as they come, after the whole answer is judged, prefix by prefix, or scanned."""
        if not self.output:
            return "live"
        if all(member.scans for member in self.output):
            return "scan"
        return "incremental" if all(member.incremental is not None for member in self.output) else "whole"

    @property
    def window_chars(self) -> int:
        """How many characters at the end of the chain's output an incremental release holds back."""
        lookbacks = [member.incremental.lookback_chars for member in self.output if member.incremental is not None]
        return sum(lookbacks) if self.window == "sum" else max(lookbacks, default=0)
