"""The pictures of windows in `docs/`, drawn from what the gate does: `python -m tests.docs.windows` draws them anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast
from xml.sax.saxutils import escape

from processors import Answer, Incremental, Replace, output_processor
from processors.builtin import patterns, redact
from processors.testing import run_gate
from tests.docs.markdown import ROOT

FRAMES = ("Call 555", "-12", "34 now, ", "please.")
PHONE = r"\d{3}-\d{4}"
#: A call that breaks off: nothing goes out after it, so what is out is what went out before.
BROKEN_OFF = {"error": {"code": "stopped", "message": "stopped here", "retryable": False}}

_ADVANCE, _ROW, _TOP = 9, 46, 66
_COLUMNS = (24, 292, 560)
_WIDTH = 830
_HEADS = ("the model has written", "the chain makes of it", "readers have")
_STYLE = """
    .paper { fill: #ffffff; }
    .held { fill: #ffe0b2; }
    .out { fill: #c8ecd4; }
    .leak { fill: #f9c8c4; }
    .rule { stroke: #d0d5dd; }
    text { fill: #1d2939; }
    .head, .note { fill: #475467; }
    .text { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 14px; white-space: pre; }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #0d1117; }
      .held { fill: #6b430d; }
      .out { fill: #14532d; }
      .leak { fill: #7f1d1d; }
      .rule { stroke: #39424e; }
      text { fill: #e6edf3; }
      .head, .note { fill: #aab4c2; }
    }
"""


@dataclass(frozen=True)
class Moment:
    """After one frame: what the model has written, what the chain makes of it, how much of that is held, what is out."""

    written: str
    made: str
    held: int
    out: str

    @property
    def contradicted(self) -> bool:
        """Whether readers have something that the chain does not say."""
        return not self.made.startswith(self.out)


def phones(window: int) -> object:
    """Return the phone redactor of `docs/processors.md` with another window, in characters."""

    @output_processor(name="redact-phones", incremental=Incremental(lookback_chars=window))
    def redact_phones(answer: Answer) -> Replace:
        return Replace(re.sub(PHONE, "[phone]", answer.text))

    return redact_phones


def moments(processor: object, frames: Sequence[str] = FRAMES) -> list[Moment]:
    """Return what is so after each frame, and after the answer's end."""
    found = []
    for count in range(1, len(frames) + 1):
        written = "".join(frames[:count])
        out = run_gate([processor], [*frames[:count], BROKEN_OFF]).text
        made = made_of(processor, written)
        held = len(made) - len(out) if made.startswith(out) else 0
        found.append(Moment(written, made, held, out))
    written = "".join(frames)
    return [*found, Moment(written, made_of(processor, written), 0, run_gate([processor], frames).text)]


def made_of(processor: object, text: str) -> str:
    """Return what a processor makes of a text."""
    process: Callable[[Answer], object] = getattr(processor, "process", None) or cast("Any", processor)
    verdict = process(Answer(text))
    assert isinstance(verdict, Replace)
    return verdict.text


def draw(title: str, note: str, rows: Sequence[Moment]) -> str:
    """Return the picture as SVG: a row for each moment; orange is held, green is out, red should not be out."""
    height = _TOP + _ROW * len(rows) + 34
    fonts = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"',
        f'  aria-labelledby="title desc" font-family="{fonts}" font-size="13">',
        f'  <title id="title">{escape(title)}</title>',
        f'  <desc id="desc">{escape(note)}</desc>',
        f"  <style>{_STYLE}  </style>",
        f'  <rect class="paper" width="{_WIDTH}" height="{height}" rx="10"/>',
    ]
    lines += [f'  <text class="head" x="{x}" y="34">{head}</text>' for x, head in zip(_COLUMNS, _HEADS, strict=True)]
    for number, moment in enumerate(rows):
        y = _TOP + _ROW * number
        complete = number == len(rows) - 1
        lines.append(f'  <line class="rule" x1="16" x2="{_WIDTH - 16}" y1="{y - 20}" y2="{y - 20}"/>')
        lines += _cells(0, y, moment.written, "", 0)
        lines += _cells(1, y, moment.made, "held", len(moment.made) - moment.held)
        lines += _cells(2, y, moment.out, "leak" if moment.contradicted else "out", 0)
        if complete:
            end = "complete: the turn fails" if moment.contradicted else "complete"
            lines.append(f'  <text class="note" x="{_COLUMNS[0]}" y="{y + 20}" font-size="11">{end}</text>')
    lines.append(f'  <text class="note" x="{_COLUMNS[0]}" y="{height - 16}">{escape(note)}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _cells(column: int, y: int, text: str, kind: str, begin: int) -> list[str]:
    x = _COLUMNS[column]
    lines = []
    if kind and len(text) > begin:
        width = _ADVANCE * (len(text) - begin)
        lines.append(
            f'  <rect class="{kind}" x="{x + _ADVANCE * begin}" y="{y - 13}" width="{width}" height="19" rx="3"/>'
        )
    places = " ".join(str(x + _ADVANCE * at) for at in range(len(text)))
    if text:
        lines.append(f'  <text class="text" x="{places}" y="{y}" xml:space="preserve">{escape(text)}</text>')
    return lines


def pictures() -> dict[str, str]:
    """Return every picture by its file's name."""
    right, narrow = moments(phones(8)), moments(phones(3))
    scanned = moments(redact([patterns({"phone": PHONE})]))
    return {
        "window.svg": draw(
            "A window of 8 characters",
            "A match has 8 characters. So the last 8 of what the chain makes are held, in orange: the window.",
            right,
        ),
        "window-too-small.svg": draw(
            "A window of 3 characters for matches of 8",
            "The window is 3. “555” was out before the number was complete. Then the chain says otherwise: the turn fails.",
            narrow,
        ),
        "scanner.svg": draw(
            "What a scanner holds",
            "A scanner holds what can still become part of a match, and nothing else: “Call ” is out at once.",
            scanned,
        ),
    }


if __name__ == "__main__":
    for name, picture in pictures().items():
        (ROOT / "docs" / name).write_text(picture, encoding="utf-8")
