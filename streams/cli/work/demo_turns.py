"""The turns of the demo: what is asked, what the model will write, and what readers must see."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from topics.fold import TurnView
from topics.records import CompletedFrame, RejectedFrame

Pipeline = Literal["streamed", "whole"]

#: Seconds between two words of the model.
_DELAY_S: Final = 0.03
#: The tool of `streams.cli.demo_deps`.
TOOL: Final = "find_courier"
#: How an answer that asks for it finishes.
CALLS: Final = "tool_calls"


@dataclass(frozen=True, slots=True)
class DemoTurn:
    """One turn. `answer` is None where no model is asked; `reply` is what readers have in the end.

    A rejected turn's `reply` is what they may at most have: a prefix of it is right. With a `lookup` the model says `before`
    and asks the tool for it, and `answer` is that of the second step.
    """

    name: str
    about: str
    pipeline: Pipeline
    message: str
    answer: str | None
    outcome: Literal["completed", "rejected", "blocked"]
    reply: str
    before: str = ""
    lookup: str | None = None

    @property
    def params(self) -> Mapping[str, object]:
        """The request's `params`: the answer word by word, as a model writes it."""
        if self.lookup is None:
            return {"script": _words(self.answer or ""), "delay_s": _DELAY_S}
        call = {"index": 0, "id": "call-1", "name": TOOL, "arguments": json.dumps({"parcel": self.lookup})}
        script = [
            *({"step": 0, "text": word} for word in _words(self.before)),
            {"step": 0, "tool_call_delta": call, "finish_reason": CALLS},
            *({"step": 1, "text": word} for word in _words(self.answer or "")),
        ]
        return {"script": script, "delay_s": _DELAY_S}

    def is_right(self, view: TurnView) -> bool:
        """Say whether a turn ended as this one must."""
        if view.terminal is None or view.terminal.kind != self.outcome:
            return False
        if isinstance(view.terminal, RejectedFrame):
            return self.reply.startswith(view.text)
        if isinstance(view.terminal, CompletedFrame):
            return view.reply.rstrip() == self.reply
        return view.reply == self.reply


def _words(text: str) -> list[str]:
    return [f"{word} " for word in text.split()]


TURNS: Final = (
    DemoTurn(
        name="redaction, streamed",
        about="addresses are replaced while the model still writes; the last 44 characters wait for what may follow",
        pipeline="streamed",
        message="Whom do I write to?",
        answer=(
            "For invoices write to anna.smith@example.com and you will hear from her within a day. Everything about "
            "deliveries goes to bob@example.org instead, who answers even on Sundays, or so he says."
        ),
        outcome="completed",
        reply=(
            "For invoices write to [email] and you will hear from her within a day. Everything about "
            "deliveries goes to [email] instead, who answers even on Sundays, or so he says."
        ),
    ),
    DemoTurn(
        name="rejected",
        about="an answer that gives a key away ends in the middle, before the key is out",
        pipeline="streamed",
        message="How do I log in?",
        answer=(
            "Open the settings page and choose the tab for developers, then paste this key: sk-4f9a0c77d1e2 and press "
            "the button; nobody should ever have told you so, and nobody will."
        ),
        outcome="rejected",
        reply="Open the settings page and choose the tab for developers, then paste this key: ",
    ),
    DemoTurn(
        name="blocked",
        about="a pre-processor answers, and the model is never asked",
        pipeline="streamed",
        message="What will the lottery numbers be?",
        answer=None,
        outcome="blocked",
        reply="Nobody can tell you the winning numbers.",
    ),
    DemoTurn(
        name="whole answer",
        about="this chain must see all of the answer, so nothing is out before the end",
        pipeline="whole",
        message="Why is the sky blue?",
        answer=(
            "Air scatters blue light far more than red light, so blue reaches the eye from all over the sky, while the "
            "rest comes straight from the sun."
        ),
        outcome="completed",
        reply=(
            "(27 words) Air scatters blue light far more than red light, so blue reaches the eye from all over the sky, "
            "while the rest comes straight from the sun."
        ),
    ),
    DemoTurn(
        name="steps",
        about="the model asks a tool, and what it makes of the result passes the same chain",
        pipeline="streamed",
        message="Who brings parcel 17?",
        before="One moment, I will look that up for you.",
        lookup="parcel 17",
        answer="Parcel 17 is with Bob Ray: write to bob.ray@example.org if you are not at home today.",
        outcome="completed",
        reply=(
            "One moment, I will look that up for you. Parcel 17 is with Bob Ray: write to [email] if you are not at "
            "home today."
        ),
    ),
)
