"""How the demo is shown: drawn on a terminal, as two plain columns elsewhere, or as JSON."""

from __future__ import annotations

import sys
import textwrap
import time
from typing import Final, Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from streams.cli import output
from streams.cli.work.demo_turns import TURNS, DemoTurn
from streams.cli.work.frames import ending
from topics.fold import TurnView

_WIDTH: Final = 44
_HEADS: Final = ("the model wrote", "readers saw")


class Show(Protocol):
    """What happens, in order."""

    def start(self, number: int, turn: DemoTurn) -> None:
        """A turn is about to be sent."""

    def wrote(self, text: str) -> None:
        """The model has written `text`."""

    def noted(self, text: str) -> None:
        """Something has passed between the model and a tool."""

    def saw(self, text: str) -> None:
        """Readers have been given `text`."""

    def end(self, view: TurnView, *, ok: bool) -> None:
        """The turn has ended, as it should or not."""

    def leave(self) -> None:
        """Nothing more will happen, for whatever reason: leave the terminal in order."""

    def close(self, *, ok: bool, seconds: float) -> None:
        """All is over, and stopped."""


def show_for(*, as_json: bool) -> Show:
    """Return the way to show it that fits the output."""
    if as_json:
        return JsonShow()
    return DrawnShow() if sys.stdout.isatty() else PlainShow()


class PlainShow:
    """Two columns of text, a line for each piece."""

    def __init__(self) -> None:
        self._began = 0.0

    def start(self, number: int, turn: DemoTurn) -> None:
        """Print the turn's head."""
        output.line(f"{number}. {turn.name}: {turn.about}")
        output.line(f"   asked: {turn.message}")
        output.line(f"   {'':>7}  {_HEADS[0]:<{_WIDTH}}  {_HEADS[1]}")
        self._began = 0.0

    def wrote(self, text: str) -> None:
        """Print on the left."""
        self._row(text, "")

    def noted(self, text: str) -> None:
        """Print on the left, marked."""
        for row in textwrap.wrap(f"[{text}]", _WIDTH):
            self._row(row, "")

    def saw(self, text: str) -> None:
        """Print on the right."""
        self._row("", text)

    def _row(self, left: str, right: str) -> None:
        self._began = self._began or time.monotonic()
        at = time.monotonic() - self._began
        rows = textwrap.wrap(right, _WIDTH, drop_whitespace=False) or [""]
        output.line(f"   {at:6.2f}s  {left:<{_WIDTH}}  {rows[0]}".rstrip())
        for more in rows[1:]:
            output.line(f"   {'':>7}  {'':<{_WIDTH}}  {more}")

    def end(self, view: TurnView, *, ok: bool) -> None:
        """Print how it ended, and the text that readers have."""
        if view.terminal is not None:
            output.line(f"   => {ending(view.terminal)}{'' if ok else '  NOT AS IT SHOULD BE'}")
        for row in textwrap.wrap(view.reply, 100) or ["(nothing)"]:
            output.line(f"      {row}")
        output.line()

    def leave(self) -> None:
        """Do nothing: lines are always whole."""

    def close(self, *, ok: bool, seconds: float) -> None:
        """Print the end."""
        output.line(closing(ok=ok, seconds=seconds))


class DrawnShow:
    """Two columns of a table that grow before the eyes."""

    def __init__(self) -> None:
        self._console = Console()
        self._live = Live(console=self._console, refresh_per_second=15)
        self._wrote = self._saw = ""

    def start(self, number: int, turn: DemoTurn) -> None:
        """Print the turn's head and begin its table."""
        self._wrote = self._saw = ""
        self._console.print(Text.assemble((f"{number}. {turn.name}", "bold"), f": {turn.about}"))
        self._console.print(Text(f"   asked: {turn.message}", "dim"))
        self._live = Live(self._table(), console=self._console, refresh_per_second=15)
        self._live.start()

    def wrote(self, text: str) -> None:
        """Let the left column grow."""
        self._wrote += text
        self._live.update(self._table())

    def noted(self, text: str) -> None:
        """Let the left column grow by a line."""
        self.wrote(f"\n[{text}]\n")

    def saw(self, text: str) -> None:
        """Let the right column grow."""
        self._saw += text
        self._live.update(self._table())

    def end(self, view: TurnView, *, ok: bool) -> None:
        """Leave the table as it is and print how it ended."""
        self._saw = view.reply
        self._live.update(self._table())
        self._live.stop()
        words = ending(view.terminal) if view.terminal is not None else "did not end"
        if not ok:
            words += "  NOT AS IT SHOULD BE"
        self._console.print(Text(f"   => {words}\n", "green" if ok else "bold red"))

    def leave(self) -> None:
        """Stop drawing."""
        self._live.stop()

    def close(self, *, ok: bool, seconds: float) -> None:
        """Print the end."""
        self._console.print(Text(closing(ok=ok, seconds=seconds), "bold"))

    def _table(self) -> Table:
        table = Table(expand=True)
        for head in _HEADS:
            table.add_column(head, ratio=1)
        table.add_row(Text(output.shown(self._wrote)), Text(output.shown(self._saw), "green"))
        return table


class JsonShow:
    """One object for each turn, and one at the end."""

    def __init__(self) -> None:
        self._turn: DemoTurn | None = None
        self._wrote: list[str] = []
        self._noted: list[str] = []
        self._saw: list[str] = []

    def start(self, number: int, turn: DemoTurn) -> None:  # noqa: ARG002 - the order of lines tells the number
        """Begin anew."""
        self._turn, self._wrote, self._noted, self._saw = turn, [], [], []

    def wrote(self, text: str) -> None:
        """Keep it for the end."""
        self._wrote.append(text)

    def noted(self, text: str) -> None:
        """Keep it for the end."""
        self._noted.append(text)

    def saw(self, text: str) -> None:
        """Keep it for the end."""
        self._saw.append(text)

    def end(self, view: TurnView, *, ok: bool) -> None:
        """Print the turn."""
        turn = self._turn
        if turn is None:
            return
        output.json_line(
            {
                "turn": turn.name,
                "message": turn.message,
                "raw": "".join(self._wrote),
                "tools": self._noted,
                "releases": self._saw,
                "reply": view.reply,
                "outcome": view.terminal.kind if view.terminal is not None else None,
                "expected": turn.outcome,
                "ok": ok,
            }
        )

    def leave(self) -> None:
        """Do nothing: lines are always whole."""

    def close(self, *, ok: bool, seconds: float) -> None:
        """Print the sum."""
        output.json_line({"ok": ok, "turns": len(TURNS), "seconds": round(seconds, 1)})


def closing(*, ok: bool, seconds: float) -> str:
    """Return the demo's last line."""
    if ok:
        return f"All {len(TURNS)} turns ended as they should; everything is stopped again. {seconds:.1f} s."
    return f"Not every turn ended as it should; everything is stopped again. {seconds:.1f} s."
