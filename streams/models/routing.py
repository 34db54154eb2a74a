"""Which adapter answers a request.

In this order:

1. a script, where the request carries one or asks for the model `script`;
2. a provider by name: the model `spare/qwen3` is the model `qwen3` of the provider `spare`, if it has such models;
3. the first provider whose patterns match the model;
4. the server that answers everything else.

A request that names no model asks for the default one, by the same rules.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeAlias

from streams.models.adapter import ModelAdapter, RefusingAdapter
from streams.models.delta import Delta
from streams.models.errors import ModelNotConfiguredError, ScriptDisabledError
from streams.models.openai import OpenAIAdapter, OpenAISettings
from streams.models.script import ScriptAdapter
from topics.records import PromptRequest

#: The `model` that asks for a scripted answer, as naming a script in `params` does.
SCRIPT_MODEL = "script"
#: What the server that answers everything else is called in metrics.
DEFAULT_PROVIDER = "default"
#: The settings that the refusals name.
SCRIPT_SETTING = "TURNGATE_SCRIPT_ENABLED"
BASE_URL_SETTING = "TURNGATE_OPENAI_BASE_URL"
API_KEY_SETTING = "TURNGATE_OPENAI_API_KEY"
MODEL_SETTING = "TURNGATE_OPENAI_MODEL"
PROVIDERS_SETTING = "TURNGATE_PROVIDERS"

#: Puts something around the adapter of the provider with this name.
Wrap: TypeAlias = Callable[[str, ModelAdapter], ModelAdapter]


@dataclass(frozen=True, slots=True)
class Provider:
    """A server that answers for the models whose names match one of the shell patterns `models`."""

    name: str
    models: tuple[str, ...]
    settings: OpenAISettings

    def serves(self, model: str) -> bool:
        """Return whether `model` is one of its models."""
        return any(fnmatchcase(model, pattern) for pattern in self.models)


class Router:
    """Sends each request to the adapter that answers it; what nobody answers is refused with the reason."""

    def __init__(
        self,
        *,
        script: ModelAdapter | None = None,
        providers: Sequence[tuple[Provider, ModelAdapter]] = (),
        server: ModelAdapter | None = None,
        default_model: str | None = None,
    ) -> None:
        self._script = script or RefusingAdapter(
            ScriptDisabledError(f"scripted answers are off: the operator can allow them with {SCRIPT_SETTING}=true")
        )
        self._providers = tuple(providers)
        self._server = server or RefusingAdapter(ModelNotConfiguredError(_what_to_set(some=bool(providers))))
        self._default_model = default_model

    def adapter_for(self, request: PromptRequest) -> ModelAdapter:
        """Return the adapter that answers `request`."""
        if _is_scripted(request):
            return self._script
        model, adapter, _ = self._serving(request)
        return adapter if model is None or adapter is self._server else _Asking(model, adapter)

    def asked(self, request: PromptRequest) -> tuple[str, str | None]:
        """Return who answers `request`, and which model is asked for, if any: what traces say.

        A provider is called what the settings call it, the server that answers the rest after the API that it speaks.
        """
        if _is_scripted(request):
            return SCRIPT_MODEL, SCRIPT_MODEL
        model, adapter, name = self._serving(request)
        return ("openai" if adapter is self._server else name), model

    def _serving(self, request: PromptRequest) -> tuple[str | None, ModelAdapter, str]:
        """Return the model that is asked for, as its provider calls it, and the provider: its adapter and its name."""
        model = request.model or self._default_model
        if model is None:
            return None, self._server, DEFAULT_PROVIDER
        name, _, rest = model.partition("/")
        for provider, adapter in self._providers:
            if provider.name == name and provider.serves(rest):
                return rest, adapter, name
        for provider, adapter in self._providers:
            if provider.serves(model):
                return model, adapter, provider.name
        return model, self._server, DEFAULT_PROVIDER

    async def close(self) -> None:
        """Close all adapters."""
        for adapter in (self._script, self._server, *(adapter for _, adapter in self._providers)):
            await adapter.close()


class _Asking:
    """An adapter that is asked for one model, whatever the request calls it."""

    def __init__(self, model: str, adapter: ModelAdapter) -> None:
        self._model = model
        self._adapter = adapter

    @property
    def name(self) -> str:
        """What the adapter is called."""
        return self._adapter.name

    def stream(self, request: PromptRequest) -> AsyncGenerator[Delta, None]:
        """Make the call."""
        return self._adapter.stream(request.model_copy(update={"model": self._model}))

    async def close(self) -> None:
        """Close the adapter."""
        await self._adapter.close()


def router_of(
    *,
    script_enabled: bool,
    openai: OpenAISettings,
    providers: Sequence[Provider] = (),
    wrap: Wrap = lambda _, adapter: adapter,
) -> Router:
    """Return the router that these settings describe: a model server needs an address or a key.

    Raises:
        AdapterMissingError: a model server is configured and the `openai` extra is not installed.
    """
    has_server = openai.base_url or openai.api_key
    return Router(
        script=ScriptAdapter() if script_enabled else None,
        providers=[(one, wrap(one.name, OpenAIAdapter(one.settings))) for one in providers],
        server=wrap(DEFAULT_PROVIDER, OpenAIAdapter(openai)) if has_server else None,
        default_model=openai.model,
    )


def _what_to_set(*, some: bool) -> str:
    if some:
        return (
            f"no provider has this model: name one that matches a pattern in {PROVIDERS_SETTING} (or {MODEL_SETTING} for "
            f"requests that name none), or set {BASE_URL_SETTING} to a server that answers the rest"
        )
    return f"no model configured: set {BASE_URL_SETTING} (any compatible server) or {API_KEY_SETTING}"


def _is_scripted(request: PromptRequest) -> bool:
    return request.model == SCRIPT_MODEL or (request.params or {}).get("script") is not None
