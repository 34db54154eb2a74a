"""Which models a caller may name, and which parameters: what the settings say, without asking any server."""

from __future__ import annotations

from streams.models.openai_request import ALLOWED_PARAMS, IGNORED_PARAMS
from streams.settings import Settings

#: The name that stands for whatever model the operator has set.
DEFAULT_MODEL = "default"
_SCRIPT_PARAMS = frozenset({"script", "delay_s"})


def listed_models(settings: Settings) -> tuple[str, ...]:
    """Return the names that the settings spell out; a provider may answer for many more."""
    named = [
        DEFAULT_MODEL,
        *([settings.openai_model] if settings.openai_model else []),
        *settings.fallback_models,
        *(
            f"{name}/{model}"
            for name, provider in settings.providers.items()
            for model in provider.models
            if not set(model) & set("*?[")
        ),
    ]
    return tuple(dict.fromkeys(named))


def usable_params(settings: Settings) -> frozenset[str]:
    """Return the parameters that the model runner takes under these settings."""
    script = _SCRIPT_PARAMS if settings.script_enabled else frozenset()
    return ALLOWED_PARAMS | IGNORED_PARAMS | script | frozenset(settings.openai_extra_params)
