"""Random programs of turns for `test_programs`: what is asked, what models and tools say, and which controls there are.

Every program ends by itself, and no answer depends on when a worker died, so that any two runs of it can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from processors import Agent, Answer, Deps, Pass, Reject, output_processor
from streams.gate.policy import Policy
from tests.streams.turns.scenarios import (
    FINISH,
    TOOLS,
    NumberRedactor,
    blocker,
    broken,
    footer,
    house_rules,
    late_rejection,
    mask_digits,
    no_deletions,
    no_secrets,
    prefixer,
    redact,
    redact_whole,
    same,
    tagger,
)
from tests.streams.turns.simulation import Said, Scenario, Scripted, cancel, turn

DIGIT = re.compile(r"[0-9]")
#: The most steps that a turn may take here.
MAX_STEPS = 3
#: Texts that models say: numbers cut in two, halves of characters, clusters that must not be cut, and a bad word.
SAYINGS = (
    "Call ",
    "55",
    "5-01",
    "2",
    " or ",
    "e\u0301",
    "\u0301",
    "\U0001f44d\u200d",
    "\ud83d",
    "\ude00",
    "\r",
    "\n",
    "",
)


@output_processor(name="no-calls-for-nothing")
def no_calls(answer: Answer) -> Pass | Reject:
    """Reject answers that ask for a tool and say nothing."""
    return Reject("speechless") if answer.tool_calls and not answer.text else Pass()


#: Output chains; all but those without a redactor let no digit pass.
REDACTING: Sequence[list[Any]] = (
    [redact],
    [redact_whole],
    [NumberRedactor()],
    [redact, no_secrets],
    [NumberRedactor(), redact],
)
OTHERS: Sequence[list[Any]] = ([], [no_secrets], [no_calls], [redact, late_rejection])

deltas = st.builds(
    lambda name, own, what: {"name": name, "id": own, "arguments": what},
    st.sampled_from(["look_up", "look_up", "delete_all", "fly"]),
    st.sampled_from(["c1", "c2", "", "call-0-1", "x/y"]),
    st.sampled_from(['{"what": "5"}', "{", ""]),
)


@st.composite
def attempts(draw: st.DrawFn, *, asks: bool, last: bool) -> tuple[Scripted, ...]:
    """Return what a model says in one attempt, a frame each: rather a call than an end if it `asks`.

    The last attempt of an answer comes to an end one way or another.
    """
    frames: list[dict[str, Any]] = [
        {"text": text} for text in draw(st.lists(st.sampled_from([*SAYINGS, "a secret"]), max_size=5))
    ]
    ends = ["tools", "tools", "tools", "stop"] if asks else ["stop", "stop", "stop", "tools", "length"]
    failures = ["fatal"] if last else ["passing", "passing", "later", "fatal"]
    end = draw(st.sampled_from([*ends, *failures]))
    if end in ("tools", "length"):
        calls = draw(st.lists(deltas, min_size=1, max_size=3))
        frames += [{"tool_call_delta": {"index": index, **call}} for index, call in enumerate(calls)]
    usage = draw(st.sampled_from([{}, {"usage": FINISH["usage"]}]))
    match end:
        case "stop":
            frames.append({"finish_reason": "stop", **usage})
        case "tools" | "length":
            frames.append({"finish_reason": "tool_calls" if end == "tools" else "length", **usage})
        case "passing" | "fatal":
            frames.append({"error": {"type": "ServerError", "retryable": end == "passing"}})
        case _:
            frames.append({"error": {"type": "RateLimitError", "retryable": True, "retry_after_s": 2}})
    numbered = [{"seq": seq, **frame} for seq, frame in enumerate(frames)]
    if draw(st.booleans()) and len(numbered) > 1:
        at = draw(st.integers(0, len(numbered) - 2))
        numbered[at], numbered[at + 1] = numbered[at + 1], numbered[at]
    if draw(st.integers(0, 3)) == 0:
        numbered.insert(draw(st.integers(0, len(numbered))), numbered[0])
    return tuple(numbered)


@st.composite
def answers(draw: st.DrawFn, names: Sequence[str]) -> Mapping[str, Sequence[Sequence[Scripted]]]:
    """Return what is answered to each turn in each step that it may take, attempt by attempt."""
    found: dict[str, Sequence[Sequence[Scripted]]] = {}
    for name in names:
        for step in range(MAX_STEPS):
            asks = step < MAX_STEPS - 1
            tries = [draw(attempts(asks=asks, last=False)) for _ in range(draw(st.sampled_from([0, 0, 1, 2])))]
            found[f"{name}/{step}" if step else name] = [*tries, draw(attempts(asks=asks, last=True))]
    return found


chains = st.sampled_from([*REDACTING, *OTHERS])


@st.composite
def declarations(draw: st.DrawFn, output: st.SearchStrategy[list[Any]] = chains, *, anew: bool = False) -> Deps:
    """Return what an operator declares; `anew` for turns that go on under it, whose agent and tools may be gone."""
    chosen = draw(output)
    some = st.booleans()
    return Deps(
        governance=draw(st.sampled_from([[], [house_rules], [no_deletions], [house_rules, no_deletions]])),
        pre_processors=draw(st.sampled_from([[], [], [tagger], [blocker]])),
        input_processors=draw(st.sampled_from([[], [mask_digits], [prefixer, mask_digits]])),
        output_processors=chosen,
        post_processors=draw(st.sampled_from([[], [], [footer], [same], [broken]])),
        tools=draw(st.sampled_from([TOOLS, TOOLS[1:], ()])) if anew else TOOLS,
        agents=[] if anew and draw(some) else [Agent(name="default", max_steps=MAX_STEPS, system="You know 5 things.")],
        carry_across_steps=bool(chosen) and draw(some),
        gate_post_processed=bool(chosen) and draw(some),
    )


@st.composite
def programs(draw: st.DrawFn, output: st.SearchStrategy[list[Any]] = chains) -> Scenario:
    """Return a scenario of one or two turns."""
    names = ["a", "b"][: draw(st.integers(1, 2))]
    apart = draw(st.booleans())
    said = []
    for name in names:
        delivery = draw(st.sampled_from(["stream", "stream", "final"]))
        message = draw(st.sampled_from(["hello", "what 5", "rude"]))
        # Nothing but a tool that never answers takes as long as that.
        limit = draw(st.sampled_from([None, None, 15]))
        asked = turn(name, f"h{name}" if apart else "h", delivery=delivery, message=message, deadline_s=limit)
        said.append(Said(asked))
        if draw(st.integers(0, 3)) == 0:
            said.append(Said(cancel(name, f"h{name}" if apart else "h"), frames=draw(st.integers(0, 12))))
    policy = Policy(
        max_attempts=draw(st.integers(1, 3)),
        fallback_models=draw(st.sampled_from([(), ("other",)])),
        on_retry=draw(st.sampled_from(["reset", "reset", "fail"])),
        gap_timeout_s=3,
        idle_timeout_s=20,
    )
    return Scenario(
        "program",
        tuple(said),
        draw(answers(names)),
        draw(declarations(output)),
        policy,
        on_busy=draw(st.sampled_from(["queue", "queue", "queue", "reject", "cancel_previous"])),
        patience_s=600,
        tools={"look_up": draw(st.sampled_from(["it is 555-0123", "\ud83d", None])), "delete_all": "gone 5"},
    )
