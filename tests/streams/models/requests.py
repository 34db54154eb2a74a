"""Requests for tests, and what adapters answer to them."""

from __future__ import annotations

from typing import Any

from streams.models.adapter import ModelAdapter
from streams.models.delta import Delta
from topics.content import Message, Prompt
from topics.records import PromptRequest


def request(turn: str = "turn", **fields: Any) -> PromptRequest:
    """Return a request whose user says hello, but for what `fields` say."""
    prompt = Prompt(messages=(Message(role="user", content="hello"),))
    return PromptRequest.model_validate(
        {"tenant": "acme", "thread_id": "thread", "turn_id": turn, "partition": 3, "prompt": prompt} | fields
    )


def scripted(*items: Any, turn: str = "turn", **fields: Any) -> PromptRequest:
    """Return a request that carries the script `items`."""
    return request(turn, params={"script": list(items)}, **fields)


async def answer(adapter: ModelAdapter, asked: PromptRequest) -> list[Delta]:
    """Return everything `adapter` answers to `asked`."""
    return [delta async for delta in adapter.stream(asked)]


def text_of(deltas: list[Delta]) -> str:
    """Return the text of an answer."""
    return "".join(delta.text or "" for delta in deltas)
