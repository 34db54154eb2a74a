"""What is too much: answers, refusals, tool calls and prompts that would not fit, and frames that never came."""

from __future__ import annotations

import json
from collections.abc import Sequence

from streams.gate import entries
from streams.gate.policy import Policy
from streams.gate.prompts import prompt_of
from streams.gate.release import MAX_JSON_BYTES_PER_CHAR
from streams.gate.state import Answer, Turn
from topics import codec
from topics.content import Prompt, ToolCall
from topics.records import Phase as PhaseName

#: What the JSON of a tool call takes beside its texts.
_JSON_BYTES_PER_CALL = 40


def prompt_too_long(turn: Turn, prompt: Prompt, phase: PhaseName, policy: Policy) -> entries.Failed | None:
    """Return how the turn fails if `prompt`, which `phase` made, gets too large for a record; None if it fits."""
    if _prompt_bytes(turn, prompt) <= policy.max_prompt_bytes:
        return None
    return entries.Failed(
        error="InvalidRequestError",
        phase=phase,
        message=f"the prompt is longer than {policy.max_prompt_bytes} bytes: shorten the history or the message",
    )


def _prompt_bytes(turn: Turn, prompt: Prompt) -> int:
    """How large the record with the prompt gets: tools and parameters, of the request and of the agent, ride along."""
    whole = prompt_of(turn.with_(prompt=prompt)).model_dump(mode="json", exclude_none=True)
    return len(json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass"))


def excess(answer: Answer, policy: Policy) -> entries.Failed | None:
    """Return how the turn fails if its answer is more than the policy allows, or too much of it came too early."""
    if len(answer.text) > policy.max_answer_chars:
        return too_large("model", f"the answer is longer than {policy.max_answer_chars} characters")
    if answer.refusal and json_longer(answer.refusal, policy.max_refusal_bytes):
        return too_large("model", f"the answer's refusal is longer than {policy.max_refusal_bytes} bytes")
    if answer.tool_calls and calls_too_long(answer.tool_calls, policy):
        return too_large("model", f"the answer's tool calls are longer than {policy.max_tool_call_bytes} bytes")
    if len(answer.early) > policy.max_early_frames:
        return gap_failure(answer)
    return None


def too_large(phase: PhaseName, what: str) -> entries.Failed:
    """Return how a turn fails because of `what` in `phase`."""
    return entries.Failed(error="AnswerTooLargeError", phase=phase, message=f"{what}: ask for a shorter one")


def calls_too_long(calls: Sequence[ToolCall], policy: Policy) -> bool:
    """Return whether the tool calls take more bytes than a record has room for."""
    limit = policy.max_tool_call_bytes - _JSON_BYTES_PER_CALL * len(calls)
    if sum(len(call.id) + len(call.name) + len(call.arguments) for call in calls) <= limit // MAX_JSON_BYTES_PER_CHAR:
        return False
    return limit < 0 or json_longer("".join(call.id + call.name + call.arguments for call in calls), limit)


def json_longer(text: str, limit: int) -> bool:
    """Return whether `text` takes more than `limit` bytes as JSON, where one character takes one to six."""
    return len(text) > limit // MAX_JSON_BYTES_PER_CHAR and len(codec.dump(text)) > limit


def gap_failure(answer: Answer) -> entries.Failed:
    """Return how a turn fails whose awaited frame never came."""
    message = f"frame {answer.next_seq} of the answer never arrived: check what writes to the frames topic"
    return entries.Failed(error="FrameGapError", phase="model", message=message)
