"""What a turn's current attempt asks of which model."""

from __future__ import annotations

from streams.gate.state import Turn
from topics.records import PromptRequest


def prompt_of(turn: Turn) -> PromptRequest:
    """Return the record that asks the model for the current attempt: the input chain's prompt, where there is one."""
    request, persona = turn.request, turn.started.persona
    params = {**(request.params or {}), **(persona.params or {})} if persona else request.params
    tenant, thread_id, turn_id = turn.key
    return PromptRequest(
        tenant=tenant,
        thread_id=thread_id,
        turn_id=turn_id,
        step=turn.step,
        attempt=turn.attempt,
        partition=turn.partition,
        agent=request.agent,
        prompt=turn.prompt or turn.base_prompt(),
        tools=persona.tools if persona and turn.runs_tools else request.tools,
        model=model_of(turn),
        params=params if params or request.params is not None else None,
        deadline_at=turn.deadline_at,
        retry=turn.attempt > 0 and (turn.attempts.tries > 0 or turn.attempts.fallbacks > 0),
    )


def model_of(turn: Turn) -> str | None:
    """Return the model that the turn's current attempt asks: a fallback, the agent's, or the caller's."""
    persona = turn.started.persona
    return turn.attempts.model or (persona.model if persona else None) or turn.request.model
