"""The model runner's providers as the settings say: where they are, with which key, and how they are guarded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from pydantic import SecretStr

from streams.models.delta import Delta
from streams.models.guard import ProviderObserver
from streams.models.routing import Router
from streams.providers import ProviderSettings
from streams.roles.models import model_router
from streams.settings import Settings, SettingsError
from tests.streams.models.model_server import Exchange, ModelServer, chunk, model_server
from tests.streams.models.requests import answer, request
from topics.records import ModelError


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ModelServer]:
    """Give a model server."""
    async with model_server() as running:
        yield running


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 500.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def router_with(clock: Clock, **settings: Any) -> Router:
    """Return the router that these settings make."""
    return model_router(Settings(**settings), ProviderObserver(), clock)


async def ask(router: Router, **fields: Any) -> list[Delta]:
    """Return the answer to a request with these fields."""
    asked = request(**fields)
    return await answer(router.adapter_for(asked), asked)


def error_of(deltas: list[Delta]) -> ModelError:
    """Return how an answer failed."""
    error = deltas[-1].error
    assert error is not None
    return error


async def limited(exchange: Exchange) -> None:
    """Refuse with a pause of some seconds."""
    await exchange.fail(429, {"message": "slow down"}, Retry_After="20")


async def broken(exchange: Exchange) -> None:
    """Fail as a server does that is in trouble."""
    await exchange.fail(500, {"message": "oh"})


async def test_each_provider_is_asked_with_its_own_key(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """None with another's, whichever way it is given."""
    monkeypatch.setenv("KEPT_KEY", "sk-kept")
    url = server.base_url
    router = router_with(
        Clock(),
        openai_base_url=url,
        openai_api_key="sk-single",
        providers={
            "given": ProviderSettings(base_url=url, models=("given",), api_key=SecretStr("sk-given")),
            "kept": ProviderSettings(base_url=url, models=("kept",), api_key_env="KEPT_KEY"),
            "local": ProviderSettings(base_url=url, models=("local",)),
        },
    )
    for model in ("given", "kept", "local", "else"):
        await ask(router, model=model)
    await router.close()

    keys = {body["model"]: headers["Authorization"] for body, headers in zip(server.asked, server.headers, strict=True)}
    assert keys == {
        "given": "Bearer sk-given",
        "kept": "Bearer sk-kept",
        "local": "Bearer none",
        "else": "Bearer sk-single",
    }


def test_a_key_that_is_not_there_is_found_out_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by the first turn that falls back to it."""
    monkeypatch.delenv("MISSING_KEY", raising=False)
    spare = ProviderSettings(base_url="http://127.0.0.1:1/v1", models=("*",), api_key_env="MISSING_KEY")
    with pytest.raises(SettingsError, match="the key of spare"):
        router_with(Clock(), providers={"spare": spare})


async def test_a_server_that_is_not_there_is_left_alone_and_the_other_is_not(
    server: ModelServer, unused_tcp_port: int
) -> None:
    """Each provider has a breaker of its own; after the cool-down the first is tried again."""
    clock = Clock()
    router = router_with(
        clock,
        openai_base_url=f"http://127.0.0.1:{unused_tcp_port}/v1",
        openai_model="m",
        providers={"spare": ProviderSettings(base_url=server.base_url, models=("backup",))},
        breaker_failures=2,
        breaker_cool_down_s=40,
    )
    found = [error_of(await ask(router, turn=f"turn-{number}")).type for number in range(3)]
    assert found == ["APIConnectionError", "APIConnectionError", "CircuitOpenError"]
    assert error_of(await ask(router, turn="next")).retry_after_s == 40
    # A fallback's first call is no retry: it is made whatever the number of its attempt.
    assert (await ask(router, turn="next", attempt=1, model="spare/backup"))[-1] == Delta(finish_reason="stop")
    clock.now += 40
    assert error_of(await ask(router, turn="last")).type == "APIConnectionError"
    assert error_of(await ask(router, turn="last of all")).retry_after_s == 40
    await router.close()


async def test_a_server_that_breaks_off_all_its_answers_is_left_alone_too(server: ModelServer) -> None:
    """That it begins them does not make it a server that is well."""

    async def break_off(exchange: Exchange) -> None:
        await exchange.send(chunk({"content": "Hel"}))
        exchange.cut()

    server.answer = break_off
    router = router_with(Clock(), openai_base_url=server.base_url, openai_model="m", breaker_failures=2)
    found = [error_of(await ask(router, turn=f"turn-{number}")).type for number in range(3)]
    await router.close()
    assert found[2] == "CircuitOpenError"
    assert "CircuitOpenError" not in found[:2]
    assert len(server.asked) == 2


async def test_a_pause_holds_back_all_calls_to_the_server_that_asked_for_it(server: ModelServer) -> None:
    """And does not open its circuit; when it is over, calls are made again."""
    clock = Clock()
    server.answer = limited
    router = router_with(clock, openai_base_url=server.base_url, openai_model="m", breaker_failures=1, pause_wait_s=0)
    first = error_of(await ask(router, turn="first"))
    assert (first.type, first.retryable, first.retry_after_s) == ("RateLimitError", True, 20)
    clock.now += 5
    second = error_of(await ask(router, turn="second"))
    assert (second.type, second.retryable, second.retry_after_s) == ("ProviderPausedError", True, 15)
    assert len(server.asked) == 1
    clock.now += 15
    assert error_of(await ask(router, turn="second", attempt=1)).type == "RateLimitError"
    assert len(server.asked) == 2
    await router.close()


async def test_retries_end_where_the_budget_does(server: ModelServer) -> None:
    """One attempt of a turn is made, its second one is not."""
    server.answer = broken
    router = router_with(
        Clock(),
        openai_base_url=server.base_url,
        openai_model="m",
        retry_share=0,
        retries_per_minute=1,
        breaker_failures=100,
    )
    found = [
        error_of(await ask(router, turn=turn, attempt=attempt, retry=attempt > 0)).type
        for turn in ("a", "b")
        for attempt in range(2)
    ]
    await router.close()
    assert found == ["InternalServerError"] * 3 + ["RetryBudgetExhaustedError"]
    assert len(server.asked) == 3
