"""Processors as the cases describe them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from processors import (
    Answer,
    Block,
    Deps,
    IncomingMessage,
    Incremental,
    Message,
    ModifiedResponse,
    Part,
    Pass,
    Proceed,
    Prompt,
    Reject,
    Replace,
    Reply,
    TextPart,
    input_processor,
    output_processor,
    post_processor,
    pre_processor,
)
from processors.builtin import sql_gate
from tests.cases.case import Case

Verdict = Pass | Replace | Reject


def output_deps(case: Case, timeout_s: float = 30.0) -> Deps:
    """Return the output chain of a case."""
    return Deps(output_processors=[_output(described, timeout_s) for described in case.fields["processor"] or []])


def input_deps(case: Case) -> Deps:
    """Return the input chain of a case."""
    return Deps(input_processors=[_mask_messages(described) for described in case.fields["processor"]])


def pre_deps(case: Case) -> Deps:
    """Return the pre-processors of a case."""
    return Deps(pre_processors=[_pre(described) for described in case.fields["processor"]])


def post_deps(case: Case) -> Deps:
    """Return the post-processors of a case."""
    return Deps(post_processors=[_post(described) for described in case.fields["processor"]])


def _post(described: Mapping[str, Any]) -> object:
    @post_processor(name=described["name"], priority=described.get("priority", 100), version="1")
    def change(reply: Reply) -> ModifiedResponse:
        match described["type"]:
            case "post_append":
                return ModifiedResponse(reply.text + described["text"])
            case "post_identity":
                return ModifiedResponse(reply.text)
            case "post_raise":
                raise LookupError("as the case asks")
            case other:
                raise ValueError(f"a case has a post-processor of type {other}")

    return change


def _output(described: Mapping[str, Any], timeout_s: float) -> object:
    if described["type"] == "builtin":
        return _builtin(described)
    verdict = _VERDICTS[described["type"]](described)
    promise = described.get("incremental")
    incremental = Incremental(lookback_chars=promise["lookback_chars"]) if promise else None

    @output_processor(name=described["name"], incremental=incremental, timeout_s=timeout_s, version="1")
    def judge(answer: Answer) -> Verdict:
        return verdict(answer.text)

    return judge


def _builtin(described: Mapping[str, Any]) -> object:
    assert described["builtin"] == "sql_gate"
    # What its configuration says in words is what the gate does without any.
    return sql_gate(name=described["name"])


def _regex_replace(described: Mapping[str, Any]) -> Callable[[str], Verdict]:
    pattern, replacement = _pattern(described), described["replacement"]
    return lambda text: Replace(pattern.sub(lambda _: replacement, text))


def _regex_reject(described: Mapping[str, Any]) -> Callable[[str], Verdict]:
    pattern, reason = _pattern(described), described["reason"]
    return lambda text: Reject(reason) if pattern.search(text) else Pass()


def _multi_regex_replace(described: Mapping[str, Any]) -> Callable[[str], Verdict]:
    rules = [(re.compile(rule["pattern"]), rule["replacement"]) for rule in described["rules"]]

    def replace(text: str) -> Verdict:
        found = sorted(
            (match.start(), match.end(), rank, replacement)
            for rank, (pattern, replacement) in enumerate(rules)
            for match in pattern.finditer(text)
        )
        merged: list[tuple[int, int, list[tuple[int, int, str]]]] = []
        for start, end, rank, replacement in found:
            one = (start - end, rank, replacement)  # the longest first, then the first declared
            if merged and start < merged[-1][1]:
                before = merged.pop()
                merged.append((before[0], max(before[1], end), [*before[2], one]))
            else:
                merged.append((start, end, [one]))
        out, at = "", 0
        for start, end, ones in merged:
            out += text[at:start] + min(ones)[2]
            at = end
        return Replace(out + text[at:])

    return replace


def _py(described: Mapping[str, Any]) -> Callable[[str], Verdict]:
    # As trusted as the rest of the file: see `case.py`.
    function = eval(described["expr"], {"re": re, "unicodedata": unicodedata})  # noqa: S307

    def verdict(text: str) -> Verdict:
        said = function(text)
        made: Verdict = {"pass": Pass, "replace": Replace, "reject": Reject}[said.pop("action")](**said)
        return made

    return verdict


_VERDICTS: dict[str, Callable[[Mapping[str, Any]], Callable[[str], Verdict]]] = {
    "regex_replace": _regex_replace,
    "regex_reject": _regex_reject,
    "multi_regex_replace": _multi_regex_replace,
    "py": _py,
}


def _pattern(described: Mapping[str, Any]) -> re.Pattern[str]:
    assert not described.get("flags")
    return re.compile(described["pattern"])


def _mask_messages(described: Mapping[str, Any]) -> object:
    assert described["type"] == "messages_regex_replace"
    pattern: re.Pattern[str] = re.compile(described["pattern"])
    replacement: str = described["replacement"]

    def text(value: str) -> str:
        return pattern.sub(lambda _: replacement, value)

    def message(one: Message) -> Message:
        content = one.content
        if isinstance(content, str):
            content = text(content)
        elif content is not None:
            content = tuple(TextPart(text=text(p.text)) if isinstance(p, TextPart) else p for p in content)
        calls = tuple(call.model_copy(update={"arguments": text(call.arguments)}) for call in one.tool_calls)
        return one.model_copy(update={"content": content, "tool_calls": calls})

    @input_processor(name=described["name"], version="1")
    def mask(prompt: Prompt) -> Prompt:
        system = None if prompt.system is None else text(prompt.system)
        return Prompt(system=system, messages=tuple(message(one) for one in prompt.messages))

    return mask


def _pre(described: Mapping[str, Any]) -> object:
    kind = described["type"]

    @pre_processor(name=described["name"], priority=described.get("priority", 100), version="1")
    def process(incoming: IncomingMessage) -> Proceed | Block:
        if kind == "pre_raise":
            raise ValueError(incoming.text)
        if kind == "pre_block":
            return Block(described["response"])
        if kind == "pre_append_text":
            return Proceed((*incoming.message, TextPart(text=described["text"])))
        assert kind == "pre_regex_replace"
        return Proceed(tuple(_masked(part, described) for part in incoming.message))

    return process


def _masked(part: Part, described: Mapping[str, Any]) -> Part:
    if not isinstance(part, TextPart):
        return part
    return TextPart(text=re.sub(described["pattern"], lambda _: described["replacement"], part.text))
