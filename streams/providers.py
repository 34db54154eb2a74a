"""One entry of the setting `providers`: a model server beside the single one of the `openai_` settings."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

#: What the entries of `providers` may be called; metrics call them so too, and there `default` is the single server.
NAME = re.compile(r"(?!default\Z)[a-z0-9][a-z0-9_-]{0,39}", re.ASCII)


class ProviderSettings(BaseModel):
    """Where a provider is, by which key it knows us, and which models it answers for.

    `models` are shell patterns. The key is given as it is, or as the name of an environment variable that holds it; one
    without either is asked without a key.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    base_url: Annotated[str, StringConstraints(pattern=r"^https?://\S+$")]
    models: Annotated[tuple[Annotated[str, StringConstraints(min_length=1)], ...], Field(min_length=1)]
    api_key: SecretStr | None = None
    api_key_env: Annotated[str, StringConstraints(min_length=1)] | None = None

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        if self.api_key is not None and self.api_key_env is not None:
            raise PydanticCustomError("provider", "give api_key or api_key_env, not both")
        return self

    def as_written(self) -> dict[str, object]:
        """Return the entry as it can be read again, its key included."""
        key = self.api_key.get_secret_value() if self.api_key is not None else None
        given = self.model_dump(mode="json") | {"api_key": key}
        return {name: value for name, value in given.items() if value is not None}
