"""How findings are put: each sentence says what is wrong and what to do, and nothing of what a text says."""

from __future__ import annotations

from dataclasses import replace

from processors.checker.findings import Example, Finding
from processors.checker.speed import LONG_ANSWER, Slow
from processors.checker.steady import Cause, Unsteady
from processors.checker.texts import Text
from processors.declare import Processor

_HUNDRED = 100
_CAUSES: dict[Cause, str] = {
    "clock": "on the time: judge by the text alone",
    "chance": "on chance or on how often it was called: the same call gives different verdicts",
    "ids": "on ids that are new for every turn or attempt",
    "context": "on who asks, and where",
    "history": "on what it judged before: keep nothing between calls",
    "process": "on the process it runs in, as Python's `hash` of a text does: use a digest of hashlib",
}


def window(
    name: str | None, need: int, declared: int, example: Example | None, *, unbounded: bool, total: int | None
) -> Finding:
    """Return that too little is held back; `total` is the sum of lookbacks if the chain holds back the widest."""
    if unbounded:
        message = (
            "no window holds: what has to be held back grows with the text. Give what it looks for a longest form, "
            "offer a scanner, or leave `incremental` away."
        )
        return Finding("error", "unbounded", name, message, example, None, declared)
    if total is not None and declared < need <= total:
        message = (
            f"its members feed each other: {need} characters have to be held back, the widest lookback is {declared}, "
            f'the sum of them {total}. Set window="sum" in the Deps.'
        )
        return Finding("error", "needs-sum", name, message, example, need, declared)
    message = f"{declared} characters are held back, and {need} have to be"
    if name is None:
        message += ": raise a member's lookback_chars" + ("." if total is None else ', beside window="sum".')
    else:
        message += f": declare Incremental(lookback_chars={need}) or more."
    return Finding("error", "window", name, message, example, need, declared)


def frames(name: str | None, example: Example) -> Finding:
    """Return that several frames leak where no two do."""
    message = "a sequence of frames leaks although no split in two does: its verdicts depend on more than the text."
    return Finding("error", "unsteady", name, message, example)


def early_reject(name: str | None, example: Example | None) -> Finding:
    """Return that a prefix is refused whose whole is not: of a member a false declaration, of a chain an interplay."""
    message = "refuses the beginning of a text that it approves: how the frames are cut decides what becomes of a turn."
    if name is None:
        message += " A member before the one that refuses rewrites what it would refuse, once there is more of it."
    return Finding("warning" if name is None else "error", "early-reject", name, message, example)


def late_reject(name: str | None, out: int, example: Example) -> Finding:
    """Return that only the complete text is refused."""
    message = f"refuses a complete text that it approves as a prefix: up to {out} characters are out by then."
    return Finding("note", "late-reject", name, message, example)


def throws(name: str | None, error: str, count: int, example: Example, *, cut_short: bool) -> Finding:
    """Return that whole answers fail."""
    if cut_short:
        message = f"{error} on whole answers that end early, in {count} texts: such turns fail."
        return Finding("warning", "throws", name, message, example)
    return Finding("error", "throws", name, f"{error} on {count} whole answers: such turns fail.", example)


def throws_on_prefix(name: str | None, error: str, count: int, example: Example) -> Finding:
    """Return that prefixes fail, which is allowed."""
    message = f"{error} on prefixes, in {count} texts: allowed, but nothing is released meanwhile."
    return Finding("note", "throws-on-prefix", name, message, example)


def unsteady(name: str | None, found: Unsteady) -> Finding:
    """Return what a verdict depends on besides the text."""
    causes = "; ".join(_CAUSES[cause] for cause in found.causes)
    fields = f" ({', '.join(found.fields)})" if found.fields else ""
    example = Example(found.text, 0, found.length, found.length)
    message = f"the verdict depends {causes}{fields}."
    if found.causes == ("context",):
        return Finding("warning", "context", name, message, example)
    return Finding("error", "unsteady", name, message, example)


def scanner(name: str | None, example: Example) -> Finding:
    """Return that a scanner contradicts its processor."""
    message = "the scanner releases a text that is not what the processor makes of the whole."
    return Finding("error", "scanner", name, message, example)


def scanner_throws(name: str | None, error: str, example: Example) -> Finding:
    """Return that a scanner raises or returns no text."""
    message = f"the scanner fails with {error}: nothing is released then before the answer is complete."
    return Finding("warning", "scanner-throws", name, message, example)


def not_vouched_for(member: Processor) -> Finding:
    """Return that a scanner is there and will not be used."""
    message = (
        "its scanner is checked here and not run in workers: nobody vouches for it. If it can never hang, declare "
        "linear_time=True beside it."
    )
    return Finding("note", "not-vouched-for", member.name, message)


def slow_scanner(member: Processor, found: Slow) -> Finding:
    """Return that the time of a scanner grows faster than the text."""
    size = len(found.text)
    example = Example(Text("repetition", 1, found.text), 0, size, size)
    took = "never ends" if found.foretold_s is None else f"would take {_seconds(found.foretold_s)}"
    message = (
        f"the time of its scanner grows with the length to the power of {found.exponent:.1f}: an answer of "
        f"{LONG_ANSWER:,} characters like these {took}. It must look at each character a bounded number of times."
    )
    return Finding("error" if member.linear_time else "warning", "slow-scanner", member.name, message, example)


def holds_back(name: str | None, example: Example) -> Finding:
    """Return that a scanner may hold without end."""
    message = "the scanner can hold back text without limit: what it looks for has no longest form."
    return Finding("note", "holds-back", name, message, example)


def endless(member: Processor) -> Finding:
    """Return that the code has a pattern without a longest match."""
    message = "a pattern in its code has no longest match: there may be no longest text to hold back."
    return Finding("note", "unbounded-pattern", member.name, message)


def slow(member: Processor, found: Slow) -> Finding:
    """Return that time grows faster than the text."""
    size = len(found.text)
    example = Example(Text("repetition", 1, found.text), 0, size, size)
    if found.foretold_s is None:
        message = (
            f"a pattern backtracks without end: a few characters more than {size} take a multiple of the time. Write "
            "it without nested repeats, or use processors.patterns."
        )
        return Finding("error", "slow", member.name, message, example)
    fails = found.foretold_s > member.timeout_s
    beyond = f", beyond its limit of {member.timeout_s:g} s" if fails else ""
    message = (
        f"the time of a call grows with the length to the power of {found.exponent:.1f}: {LONG_ANSWER:,} characters like "
        f"these would take {_seconds(found.foretold_s)}{beyond}."
    )
    return Finding("error" if fails else "warning", "slow", member.name, message, example)


def not_for_its_window(finding: Finding) -> Finding:
    """Return a leak of something unsteady: it is one, and no window would mend it."""
    message = "a split leaks; its verdicts depend on more than the text, so no window can be named."
    return replace(finding, kind="window", message=message, needed=None)


def hangs(name: str | None, limit_s: float, example: Example | None) -> Finding:
    """Return that a call was ended."""
    message = f"a call was ended after {limit_s:g} s: such an answer would hold up its turn until it fails."
    return Finding("error", "hangs", name, message, example)


def crashes(name: str | None, example: Example | None) -> Finding:
    """Return that the process ended under a call."""
    return Finding("error", "crashes", name, "a call ended its process.", example)


def incomplete(name: str | None, done: int) -> Finding:
    """Return that time ran out."""
    message = f"only {done} texts were tried in the time given: its calls are slow."
    return Finding("warning", "incomplete", name, message)


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < _HUNDRED else f"{seconds:,.0f} s"
