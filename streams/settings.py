"""The operator's settings: the one place that reads the environment and `turngate.toml`."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, SecretStr, ValidationError, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource
from pydantic_settings import SettingsError as UnreadableSettingError

from streams import kafka_settings
from streams.gateway.keys import KeySettings
from streams.key_ring_settings import KeyRingSettings
from streams.misspelt import nearest
from streams.providers import NAME, ProviderSettings
from topics.names import DEFAULT_PREFIX, TOPICS

PREFIX = "TURNGATE_"
FILE = "turngate.toml"
#: The `broker` that turngate brings along itself.
EMBEDDED = kafka_settings.EMBEDDED

_TOPIC_PREFIX = re.compile(r"[A-Za-z0-9._-]{1,100}")

#: Where a setting came from.
Origin = Literal["command line", "environment", "file", "default"]


class SettingsError(Exception):
    """A setting is unknown or has a value that cannot be used: the message names it, never its value."""


class Settings(BaseSettings, KeyRingSettings, kafka_settings.KafkaSettings):
    """Every setting, as `TURNGATE_<NAME>` in the environment or `<name>` in `turngate.toml`; the environment wins.

    Times are in seconds, lengths in code points, sizes in bytes.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, toml_file=FILE, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    prefix: str = Field(default=DEFAULT_PREFIX, description="what the names of topics and groups begin with")
    partitions: PositiveInt = Field(default=4, description="partitions that `topics create` gives to the turn topics")
    replication: PositiveInt = Field(default=1, description="replicas that `topics create` gives to every topic")
    deps: str | None = Field(default=None, description="the operator's processors, as module:attribute of a Deps")
    processors: tuple[str, ...] = Field(
        default=(),
        description="code that can be deployed beside it: module:attribute of processors, factories or lists",
    )
    processor_workers: PositiveInt = Field(default=2, description="processes that run processors, per turn worker")
    voice_channels: tuple[str, ...] = Field(
        default=("voice", "phone"), description="channels where a skipped pre-processor blocks with a spoken sentence"
    )
    on_busy: Literal["queue", "reject", "cancel_previous"] = Field(
        default="queue", description="what a request does whose thread has an open turn"
    )
    max_attempts: PositiveInt = Field(
        default=2, description="model calls per step and model, the first included; interrupted ones do not count"
    )
    on_retry: Literal["reset", "fail"] = Field(
        default="reset", description="what a new attempt does to text that is out: take it back, or fail the turn"
    )
    fallback_models: tuple[str, ...] = Field(
        default=(), description="models to ask, in this order, when the one asked for fails for good"
    )
    max_retry_wait_s: PositiveFloat = Field(
        default=30, description="the longest patience that a provider may ask for before a new attempt"
    )
    turn_timeout_s: PositiveFloat = Field(default=600, description="the longest a turn may take")
    idle_timeout_s: PositiveFloat = Field(default=120, description="the longest a model may stay silent")
    gap_timeout_s: PositiveFloat = Field(default=30, description="how long a missing frame is waited for")
    post_budget_s: PositiveFloat = Field(
        default=10, description="how long the reader of a streamed reply waits for its post-processed version"
    )
    thread_retention_s: PositiveFloat = Field(
        default=30 * 24 * 3600, description="how long a thread is remembered after its last turn"
    )
    idempotency_window_s: PositiveFloat = Field(
        default=24 * 3600, description="how long a closed turn answers to a repeated request"
    )
    max_answer_chars: PositiveInt = Field(default=2_000_000, description="the longest answer taken from a model")
    max_open_turns: PositiveInt = Field(default=10_000, description="open turns per worker before requests wait")
    max_thread_turns: PositiveInt = Field(
        default=100, description="open turns per thread, the waiting ones included, before more are refused"
    )
    default_reply: str = Field(
        default="This request cannot be processed.", description="the reply of a block that gives none"
    )
    budget_reply: str = Field(
        default="The token budget is used up for now. Please try again later.",
        description="the reply of a turn whose tenant or user has no tokens left",
    )
    channel_replies: dict[str, str] = Field(
        default_factory=dict, description="the same for single channels, as a JSON object of channel and reply"
    )
    script_enabled: bool = Field(
        default=False, description="allow requests to script the model's answer (tests, demos)"
    )
    max_calls: PositiveInt = Field(default=64, description="model calls under way per model runner")
    max_tool_calls: PositiveInt = Field(default=64, description="tool calls under way per tool runner")
    tool_processes: PositiveInt = Field(
        default=4, description="processes per tool runner for tools that are not async: as many of them run at once"
    )
    max_tool_result_bytes: Annotated[int, Field(gt=0, le=900 * 1024)] = Field(
        default=256 * 1024, description="the longest result of a tool; a longer one becomes an error"
    )
    openai_base_url: str | None = Field(default=None, description="an OpenAI-compatible server")
    openai_api_key: SecretStr | None = Field(default=None, description="its key")
    openai_model: str | None = Field(default=None, description="the model for requests that name none")
    openai_extra_params: tuple[str, ...] = Field(
        default=(), description="names that requests may use in `params` beside the usual ones"
    )
    openai_connect_timeout_s: PositiveFloat = Field(default=10, description="the longest to wait for a connection")
    openai_read_timeout_s: PositiveFloat = Field(default=100, description="the longest to wait for the next chunk")
    providers: dict[str, ProviderSettings] = Field(
        default_factory=dict, description="more such servers by name, each with `base_url`, `models` and a key"
    )
    retry_share: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.2, description="retries that a provider is sent, as a share of its other calls"
    )
    retries_per_minute: NonNegativeFloat = Field(default=10, description="retries beside that, per provider and runner")
    breaker_failures: PositiveInt = Field(
        default=5, description="calls in a row that find a provider down before it is left alone"
    )
    breaker_cool_down_s: PositiveFloat = Field(
        default=30, description="how long a provider that is down is left alone before one call tries it"
    )
    pause_wait_s: NonNegativeFloat = Field(
        default=2, description="how long a call waits where a provider asked for a pause; a longer one fails it at once"
    )
    journal_version: Annotated[int, Field(ge=2, le=3)] = Field(
        default=3,
        description="the newest version of the turns' journal that is written: older releases can read no newer",
    )
    session_timeout_s: PositiveFloat = Field(default=6, description="silence after which a worker is taken for dead")
    static_member: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,200}$")] | None = Field(
        default=None, description="a name that only this worker has, to get its partitions back after a short restart"
    )
    gateway_host: str = Field(default="127.0.0.1", description="the address that the gateway listens on")
    gateway_port: Annotated[int, Field(ge=1, le=65535)] = Field(default=8800, description="the port it listens on")
    gateway_open: bool = Field(
        default=False, description="let everybody on this machine use the gateway without a key, on a loopback address"
    )
    gateway_keys: dict[str, KeySettings] = Field(
        default_factory=dict, description="API keys by name, each with `sha256`, `tenant`, perhaps `user`, `operator`"
    )
    gateway_keys_file: str | None = Field(
        default=None, description="a file of more of them, which may change at any time"
    )
    gateway_cors_origins: tuple[str, ...] = Field(
        default=(), description="origins whose pages may call the gateway from a browser"
    )
    gateway_max_body_bytes: PositiveInt = Field(default=1024 * 1024, description="the longest body it takes")
    gateway_requests_per_minute: PositiveFloat = Field(default=600, description="requests of one key in a minute")
    gateway_streams_per_key: PositiveInt = Field(
        default=200, description="streams that one key may have open at a time"
    )
    gateway_max_streams: PositiveInt = Field(default=2_000, description="streams that one gateway has open at a time")
    gateway_keep_alive_s: PositiveFloat = Field(
        default=15, description="how long a stream is silent before a comment is sent"
    )
    gateway_send_timeout_s: PositiveFloat = Field(
        default=30, description="how long a reader may take nothing of what it is sent before it is dropped"
    )
    gateway_console: bool = Field(default=True, description="serve the console at /")
    gateway_frames: Literal["off", "count", "show"] = Field(
        default="off",
        description="what the gateway reads of models' raw output for the console: nothing, how long it is, or the text "
        "itself too, which it shows to operators' keys only",
    )
    metrics_port: Annotated[int, Field(ge=1, le=65535)] | None = Field(
        default=None, description="port of /live, /ready and /metrics; none are served without it"
    )
    retention_s: dict[str, PositiveInt] = Field(
        default_factory=dict, description="how long topics keep records, as a JSON object of topics and times"
    )
    log_id_salt: SecretStr | None = Field(
        default=None, description="the key of the hashes that stand in logs for ids of threads and turns"
    )
    traces: bool = Field(default=False, description="trace turns with OpenTelemetry, set up by its own OTEL_ variables")
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="what is logged")

    @field_validator("prefix")
    @classmethod
    def _topic_prefix(cls, value: str) -> str:
        """Refuse here what brokers would refuse of a topic's name, or would not tell from another's."""
        if not _TOPIC_PREFIX.fullmatch(value):
            raise PydanticCustomError("prefix", "write 1 to 100 of the characters A-Z a-z 0-9 . _ -")
        return value

    @field_validator("retention_s")
    @classmethod
    def _kept_topics(cls, value: dict[str, int]) -> dict[str, int]:
        """Refuse topics that are not there, or that keep the last record of each key for as long as there is one."""
        kept = sorted(topic.name for topic in TOPICS if topic.retention_s is not None)
        if not set(kept) >= value.keys():
            raise PydanticCustomError("retention", f"name some of the topics {', '.join(kept)}")
        return value

    @field_validator("providers")
    @classmethod
    def _provider_names(cls, value: dict[str, ProviderSettings]) -> dict[str, ProviderSettings]:
        """Refuse names that could not stand before a model's name, or in a metric's label."""
        if not all(NAME.fullmatch(name) for name in value):
            raise PydanticCustomError(
                "providers", "name each with 1 to 40 of the characters a-z 0-9 _ -, and none of them default"
            )
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - part of the signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - part of the signature
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take explicit values first, then the environment, then the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


#: Variables that are turngate's and no setting: who reads them is said beside each.
OTHER_VARIABLES = frozenset({"TURNGATE_TEST_BROKERS"})  # the test suite


def load_settings(**overrides: Any) -> Settings:
    """Return the settings in force; `overrides` that are not None win over environment and file.

    Raises:
        SettingsError: an unknown `TURNGATE_` variable or file entry, or a value of the wrong kind.
    """
    _refuse_unknown(os.environ)
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as exc:
        faults = exc.errors(include_url=False, include_context=False, include_input=False)
        raise SettingsError("; ".join(_fault(fault["loc"], fault["type"], fault["msg"]) for fault in faults)) from None
    except UnreadableSettingError as exc:
        field = re.search(r'field "(\w+)"', str(exc))
        name = PREFIX + field[1].upper() if field else "a setting"
        table = field and Settings.model_fields[field[1]].default_factory is dict
        form = 'object, e.g. {"name": …}' if table else 'list, e.g. ["one", "two"]'
        raise SettingsError(f"{name}: write a JSON {form}") from None
    except tomllib.TOMLDecodeError as exc:
        raise SettingsError(f"{FILE} is not TOML: {exc}") from None


def origins(**overrides: Any) -> dict[str, Origin]:
    """Return, for each setting by name, where `load_settings` with the same `overrides` takes its value from."""
    variables = {name.upper() for name in os.environ}
    try:
        written = set(tomllib.loads(Path(FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError):  # no file, or one that `load_settings` refuses
        written = set()
    found: dict[str, Origin] = {}
    for name in Settings.model_fields:
        if overrides.get(name) is not None:
            found[name] = "command line"
        elif PREFIX + name.upper() in variables:
            found[name] = "environment"
        else:
            found[name] = "file" if name in written else "default"
    return found


def environment(settings: Settings) -> dict[str, str]:
    """Return an environment for a child process in which `settings` are in force, whatever set them here."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    own: dict[str, str] = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, SecretStr):
            value = value.get_secret_value()
        if isinstance(value, tuple | dict):
            value = json.dumps(value, default=_as_written)
        if value is not None:
            own[PREFIX + name.upper()] = str(value).lower() if isinstance(value, bool) else str(value)
    return inherited | own


def _as_written(entry: ProviderSettings | KeySettings) -> dict[str, object]:
    return entry.as_written()


def provider_key(name: str, provider: ProviderSettings) -> str | None:
    """Return the key of the provider called `name`, or None if it needs none.

    Raises:
        SettingsError: the key is said to be in a variable that is not set.
    """
    if provider.api_key_env is None:
        return provider.api_key.get_secret_value() if provider.api_key is not None else None
    key = os.environ.get(provider.api_key_env)
    if not key:
        raise SettingsError(
            f"{PREFIX}PROVIDERS: the key of {name} is to be in the variable that its api_key_env names, and that is not set"
        )
    return key


def trace_exporters() -> tuple[str, ...] | None:
    """Return the names of the exporters that OpenTelemetry's own variables ask for, None if they turn it off.

    `otlp` stands for the one of the protocol that is set. With `OTEL_TRACES_EXPORTER=none` there is none: traces are passed
    on, and nothing is told of them.
    """
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    named = os.environ.get("OTEL_TRACES_EXPORTER") or "otlp"
    protocol = (
        os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
        or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        or "http/protobuf"
    )
    otlp = f"otlp_proto_{protocol.strip().partition('/')[0]}"
    names = [name.strip() for name in named.split(",") if name.strip() not in ("", "none")]
    return tuple(otlp if name == "otlp" else name for name in names)


def runtime_dir() -> Path | None:
    """Return the user's directory for runtime files, if the system names one."""
    named = os.environ.get("XDG_RUNTIME_DIR")
    return Path(named) if named else None


def _refuse_unknown(variables: Mapping[str, str]) -> None:
    known = {PREFIX + name.upper() for name in Settings.model_fields} | OTHER_VARIABLES
    for name in sorted(variables):
        if name.startswith(PREFIX) and name.upper() not in known:
            raise SettingsError(f"unknown setting {name}{nearest(name, known, PREFIX)}")


def _fault(place: tuple[int | str, ...], kind: str, message: str) -> str:
    name, *inside = (str(step) for step in place)
    if kind == "extra_forbidden" and not inside:
        return f"unknown setting {name} in {FILE}{nearest(name, Settings.model_fields)}"
    where = f" at {'.'.join(inside)}" if inside else ""
    return f"{PREFIX}{name.upper()}{where}: {message}"
