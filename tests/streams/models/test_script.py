"""The `script` adapter."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from streams.models.delta import Delta
from streams.models.script import MAX_DELAY_S, ScriptAdapter
from tests.streams.models.requests import answer, request, scripted
from topics.content import Usage
from topics.records import ModelError, PromptRequest, ToolCallDelta


async def play(asked: PromptRequest) -> list[Delta]:
    """Return what the adapter answers."""
    return await answer(ScriptAdapter(), asked)


async def test_texts_are_deltas_and_a_script_without_a_finish_stops() -> None:
    """The shortest script is a list of texts; an empty one is an empty answer."""
    assert await play(scripted("Hel", "lo")) == [Delta(text="Hel"), Delta(text="lo"), Delta(finish_reason="stop")]
    assert await play(scripted()) == [Delta(finish_reason="stop")]


async def test_items_carry_whatever_a_frame_may_carry() -> None:
    """Several payloads in one item are one delta; an item of nothing is an empty one."""
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    deltas = await play(
        scripted(
            {"reasoning": "hm", "refusal": "no"},
            {"tool_call_delta": {"index": 1, "id": "a", "name": "add", "arguments": "{}"}},
            {},
            {"text": "x", "finish_reason": "length", "usage": usage},
        )
    )

    assert deltas == [
        Delta(reasoning="hm", refusal="no"),
        Delta(tool_call_delta=ToolCallDelta(index=1, id="a", name="add", arguments="{}")),
        Delta(),
        Delta(text="x", finish_reason="length", usage=Usage(prompt_tokens=1, completion_tokens=2, total_tokens=3)),
    ]


@pytest.mark.parametrize("end", [{"finish_reason": "stop"}, {"error": {"type": "Oops", "retryable": True}}])
async def test_a_script_ends_at_its_first_end(end: dict[str, Any]) -> None:
    """What stands behind a finish or an error is not played."""
    deltas = await play(scripted("a", end, "never"))

    assert [delta.text for delta in deltas] == ["a", None]
    assert deltas[-1].is_last


async def test_an_error_is_played_as_it_is_written() -> None:
    """Scripts can show what a turn does when a model fails."""
    assert await play(scripted({"error": {"type": "Oops", "message": "m", "retryable": True}})) == [
        Delta(error=ModelError(type="Oops", message="m", retryable=True))
    ]


@pytest.mark.parametrize("items", [["a", {"hang": True}, "never"], [{"text": "a", "hang": True}]])
async def test_a_script_that_hangs_says_what_comes_before_and_then_nothing(items: list[Any]) -> None:
    """It neither goes on nor ends, until it is cancelled."""
    heard: list[Delta] = []

    async def listen() -> None:
        async for delta in ScriptAdapter().stream(scripted(*items)):
            heard.append(delta)  # noqa: PERF401 - a comprehension would keep what it heard to itself

    listener = asyncio.create_task(listen())
    done, _ = await asyncio.wait([listener], timeout=0.05)
    listener.cancel()

    assert not done
    assert heard == [Delta(text="a")]


async def test_items_can_be_for_one_step_or_attempt() -> None:
    """One script serves all calls of a turn: a first attempt that fails, a second that does not."""
    items = ({"attempt": 0, "error": {}}, {"step": 1, "text": "second "}, "step")

    assert (await play(scripted(*items)))[0].error == ModelError()
    assert await play(scripted(*items, attempt=1)) == [Delta(text="step"), Delta(finish_reason="stop")]
    assert (await play(scripted(*items, attempt=1, step=1)))[:2] == [Delta(text="second "), Delta(text="step")]


async def test_delays_are_slept_before_their_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default is for the items that name none; the finish that nobody wrote comes at once."""
    slept: list[float] = []

    async def sleep(delay: float) -> None:
        slept.append(delay)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    script = ["a", {"text": "b", "delay_s": 2}, {"text": "c", "delay_s": 0}]
    await play(request(params={"script": script, "delay_s": 0.5}))

    assert slept == [0.5, 2]


@pytest.mark.parametrize(
    ("params", "place"),
    [
        (None, "script"),
        ({"script": "secret"}, "script"),
        ({"script": ["ok", 5]}, "script.1"),
        ({"script": [{"text": ["secret"]}]}, "script.0.text"),
        ({"script": [{"secret": 1}]}, "script.0"),
        ({"script": [{"delay_s": MAX_DELAY_S + 1}]}, "script.0.delay_s"),
        ({"script": [{"delay_s": -1}]}, "script.0.delay_s"),
        ({"script": [], "delay_s": "secret"}, "delay_s"),
        ({"script": [{"finish_reason": ""}]}, "script.0.finish_reason"),
        ({"script": [{"usage": "secret"}]}, "script.0.usage"),
        ({"script": [{"bad": 1}] * 9}, "(and 6 more)"),
    ],
)
async def test_a_script_that_cannot_be_played_is_an_error_that_names_the_place(
    params: dict[str, Any] | None, place: str
) -> None:
    """The error says where to look, and quotes nothing of what stands there."""
    [delta] = await play(request(params=params))

    assert delta.error is not None
    assert (delta.error.type, delta.error.retryable) == ("InvalidScriptError", False)
    assert place in (delta.error.message or "")
    assert "secret" not in (delta.error.message or "")
