"""Which adapter answers a request."""

from __future__ import annotations

from streams.models.adapter import ModelAdapter, RefusingAdapter
from streams.models.errors import ModelNotConfiguredError, ScriptDisabledError
from streams.models.openai import OpenAIAdapter, OpenAISettings
from streams.models.script import ScriptAdapter
from topics.records import PromptRequest

#: The `model` that asks for a scripted answer, as naming a script in `params` does.
SCRIPT_MODEL = "script"
#: The settings that the refusals name.
SCRIPT_SETTING = "TURNGATE_SCRIPT_ENABLED"
BASE_URL_SETTING = "TURNGATE_OPENAI_BASE_URL"
API_KEY_SETTING = "TURNGATE_OPENAI_API_KEY"


class Router:
    """Sends scripted requests to `script` and all others to `server`; what is None here is refused with the reason."""

    def __init__(self, *, script: ModelAdapter | None = None, server: ModelAdapter | None = None) -> None:
        self._script = script or RefusingAdapter(
            ScriptDisabledError(f"scripted answers are off: the operator can allow them with {SCRIPT_SETTING}=true")
        )
        self._server = server or RefusingAdapter(
            ModelNotConfiguredError(
                f"no model configured: set {BASE_URL_SETTING} (any compatible server) or {API_KEY_SETTING}"
            )
        )

    def adapter_for(self, request: PromptRequest) -> ModelAdapter:
        """Return the adapter that answers `request`."""
        return self._script if _is_scripted(request) else self._server

    async def close(self) -> None:
        """Close both adapters."""
        await self._script.close()
        await self._server.close()


def router_of(*, script_enabled: bool, openai: OpenAISettings) -> Router:
    """Return the router that these settings describe: a model server needs an address or a key.

    Raises:
        AdapterMissingError: a model server is configured and the `openai` extra is not installed.
    """
    return Router(
        script=ScriptAdapter() if script_enabled else None,
        server=OpenAIAdapter(openai) if openai.base_url or openai.api_key else None,
    )


def _is_scripted(request: PromptRequest) -> bool:
    return request.model == SCRIPT_MODEL or (request.params or {}).get("script") is not None
