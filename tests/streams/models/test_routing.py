"""Which adapter answers which request."""

from __future__ import annotations

from typing import Any

import pytest

from streams.models.openai import OpenAIAdapter, OpenAISettings
from streams.models.routing import Router, router_of
from streams.models.script import ScriptAdapter
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
