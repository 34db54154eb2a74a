"""Which adapter answers which request."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest

from streams.models.adapter import ModelAdapter
from streams.models.openai import OpenAIAdapter, OpenAISettings
from streams.models.routing import Provider, Router, router_of
from streams.models.script import ScriptAdapter
from tests.streams.models.model_server import model_server
from tests.streams.models.requests import answer, request

UNSET = OpenAISettings()


@pytest.mark.parametrize("fields", [{"model": "script"}, {"params": {"script": []}}, {"params": {"script": "bad"}}])
async def test_scripted_requests_go_to_the_script_where_scripts_are_allowed(fields: dict[str, Any]) -> None:
    """By the model's name, or by carrying a script."""
    router = router_of(script_enabled=True, openai=UNSET)

    assert isinstance(router.adapter_for(request(**fields)), ScriptAdapter)
    await router.close()


@pytest.mark.parametrize("fields", [{"model": "script"}, {"params": {"script": ["x"]}}])
async def test_scripted_requests_are_refused_where_scripts_are_off(fields: dict[str, Any]) -> None:
    """The refusal names the setting; no other model gets to see the request."""
    router = router_of(script_enabled=False, openai=OpenAISettings(api_key="k"))

    [delta] = await answer(router.adapter_for(request(**fields)), request(**fields))
    await router.close()

    assert delta.error is not None
    assert (delta.error.type, delta.error.retryable) == ("ScriptDisabledError", False)
    assert "TURNGATE_SCRIPT_ENABLED" in (delta.error.message or "")


@pytest.mark.parametrize("settings", [OpenAISettings(api_key="k"), OpenAISettings(base_url="http://127.0.0.1:1/v1")])
@pytest.mark.parametrize("fields", [{}, {"model": "large"}, {"params": {"script": None, "top_p": 1}}])
async def test_other_requests_go_to_the_model_server(settings: OpenAISettings, fields: dict[str, Any]) -> None:
    """A key or an address is enough to have one."""
    router = router_of(script_enabled=True, openai=settings)

    assert isinstance(router.adapter_for(request(**fields)), OpenAIAdapter)
    await router.close()


async def test_without_a_model_server_the_refusal_says_what_to_set() -> None:
    """A first try with nothing configured tells the operator how to go on."""
    [delta] = await answer(Router().adapter_for(request()), request())
    await Router().close()

    assert delta.error is not None
    assert (delta.error.type, delta.error.retryable) == ("ModelNotConfiguredError", False)
    assert "TURNGATE_OPENAI_BASE_URL" in (delta.error.message or "")


SERVERS = ("first", "second", "single")


async def asked(model: str | None, *, default_model: str | None = None, single: bool = True) -> tuple[str, str] | None:
    """Return which of two providers and a single server is asked for `model`, and for which model; None for neither."""
    async with AsyncExitStack() as stack:
        servers = {name: await stack.enter_async_context(model_server()) for name in SERVERS}
        patterns = {"first": ("qwen*", "meta/llama-3"), "second": ("qwen3", "meta/*")}
        router = router_of(
            script_enabled=True,
            openai=OpenAISettings(base_url=servers["single"].base_url if single else None, model=default_model),
            providers=[
                Provider(name, models, OpenAISettings(base_url=servers[name].base_url))
                for name, models in patterns.items()
            ],
        )
        await answer(router.adapter_for(request(model=model)), request(model=model))
        await router.close()
        [*found] = [(name, body["model"]) for name, server in servers.items() for body in server.asked]
        return found[0] if found else None


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("qwen3", ("first", "qwen3")),
        ("qwen3-8b", ("first", "qwen3-8b")),
        ("meta/llama-3", ("first", "meta/llama-3")),
        ("meta/llama-4", ("second", "meta/llama-4")),
        ("second/qwen3", ("second", "qwen3")),
        ("second/meta/llama-4", ("second", "meta/llama-4")),
        ("second/qwen3-8b", ("single", "second/qwen3-8b")),
        ("QWEN3", ("single", "QWEN3")),
        ("gpt", ("single", "gpt")),
    ],
)
async def test_a_model_is_asked_for_at_the_provider_that_has_it(model: str, expected: tuple[str, str]) -> None:
    """By the provider's name, else by the first pattern that matches, else at the single server."""
    assert await asked(model) == expected


@pytest.mark.parametrize(
    ("default", "expected"),
    [("qwen3", ("first", "qwen3")), ("second/qwen3", ("second", "qwen3")), ("gpt", ("single", "gpt")), (None, None)],
)
async def test_the_default_model_is_looked_for_like_any_other(
    default: str | None, expected: tuple[str, str] | None
) -> None:
    """Requests that name none ask for it."""
    assert await asked(None, default_model=default) == expected


async def test_a_model_that_no_provider_has_is_refused_without_a_single_server() -> None:
    """The refusal names the settings, and not the model: that is the caller's word."""
    providers = [Provider("first", ("qwen*",), OpenAISettings(base_url="http://127.0.0.1:1/v1"))]
    router = router_of(script_enabled=False, openai=UNSET, providers=providers)

    for model in ("gpt", None):
        [delta] = await answer(router.adapter_for(request(model=model)), request(model=model))
        assert delta.error is not None
        assert (delta.error.type, delta.error.retryable) == ("ModelNotConfiguredError", False)
        assert "TURNGATE_PROVIDERS" in (delta.error.message or "")
        assert "gpt" not in (delta.error.message or "")
    await router.close()


async def test_every_server_is_wrapped_under_its_name_and_scripts_are_not() -> None:
    """Guards are for those who can be down."""
    wrapped: list[str] = []

    def wrap(name: str, adapter: ModelAdapter) -> ModelAdapter:
        wrapped.append(name)
        return adapter

    single = OpenAISettings(api_key="k")
    router = router_of(script_enabled=True, openai=single, providers=[Provider("spare", ("*",), single)], wrap=wrap)
    await router.close()
    assert wrapped == ["spare", "default"]
