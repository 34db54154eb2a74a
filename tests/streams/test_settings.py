"""Settings: where values come from, and that mistakes are named without being quoted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from streams import settings as module
from streams.providers import ProviderSettings
from streams.settings import Settings, SettingsError, environment, load_settings, origins, provider_key


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in an empty directory, without this project's variables."""
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"TURNGATE_{name.upper()}", raising=False)
    return tmp_path


def test_explicit_values_win_over_the_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the file over the defaults; overrides that are None do not count."""
    (tmp_path / "turngate.toml").write_text('partitions = 2\nreplication = 2\nprefix = "file."\n')
    monkeypatch.setenv("TURNGATE_PARTITIONS", "3")
    monkeypatch.setenv("TURNGATE_REPLICATION", "3")
    found = load_settings(partitions=5, broker=None)
    assert (found.partitions, found.replication, found.prefix, found.broker) == (5, 3, "file.", "embedded")
    shown = origins(partitions=5, broker=None)
    names = ("partitions", "replication", "prefix", "broker")
    assert [shown[name] for name in names] == ["command line", "environment", "file", "default"]


def test_an_unknown_variable_is_refused_with_the_nearest_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt control must not be ignored."""
    monkeypatch.setenv("TURNGATE_PARTITION", "3")
    with pytest.raises(SettingsError, match=r"TURNGATE_PARTITION.*TURNGATE_PARTITIONS"):
        load_settings()


def test_an_unknown_entry_of_the_file_is_refused(tmp_path: Path) -> None:
    """As an unknown variable is."""
    (tmp_path / "turngate.toml").write_text("partition = 3\n")
    with pytest.raises(SettingsError, match=r"unknown setting partition in turngate\.toml.*partitions"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TURNGATE_PARTITIONS", "secret-words"),
        ("TURNGATE_ON_BUSY", "secret-words"),
        ("TURNGATE_VOICE_CHANNELS", "secret-words"),
        ("TURNGATE_BROKER", "secret words"),
        ("TURNGATE_PREFIX", "secret words"),
        ("TURNGATE_PREFIX", "secret/"),
        ("TURNGATE_PREFIX", "secret.\n"),
        ("TURNGATE_PREFIX", ""),
        ("TURNGATE_PREFIX", "s" * 101),
        ("TURNGATE_METRICS_PORT", "0"),
        ("TURNGATE_METRICS_PORT", "65536"),
        ("TURNGATE_TURN_TIMEOUT_S", "-5"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_and_not_quoted(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values may be secrets."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=name) as caught:
        load_settings()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("prefix", ["x", "acme-EU_1.turngate.", "s" * 100])
def test_a_prefix_may_be_all_that_a_topics_name_may(prefix: str) -> None:
    """As long as there is room for the topic's own name behind it."""
    assert load_settings(prefix=prefix).prefix == prefix


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    """With what is wrong with it."""
    (tmp_path / "turngate.toml").write_text("partitions = \n")
    with pytest.raises(SettingsError, match=r"turngate\.toml is not TOML"):
        load_settings()


def test_settings_survive_the_way_into_a_child_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kind of value, whatever set it here; what is unset stays unset."""
    given = Settings(
        broker="one:1,two:2",
        script_enabled=True,
        voice_channels=("a", 'b"c'),
        openai_api_key=SecretStr("sk-1"),
        turn_timeout_s=1.5,
        metrics_port=65535,
        journal_version=2,
        deps="module:attribute",
        channel_replies={"voice": "no"},
        providers={
            "spare": ProviderSettings(base_url="http://one:1/v1", models=("a*", "b"), api_key=SecretStr("sk-2")),
            "other": ProviderSettings(base_url="http://two:2/v1", models=("c",), api_key_env="OTHER_KEY"),
        },
    )
    variables = environment(given)
    assert "TURNGATE_OPENAI_MODEL" not in variables
    for name, value in variables.items():
        if name.startswith("TURNGATE_"):
            monkeypatch.setenv(name, value)
    assert load_settings() == given


def test_a_child_process_inherits_no_setting_that_is_not_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that was overridden here must not come to life again there."""
    monkeypatch.setenv("TURNGATE_DEPS", "old:deps")
    monkeypatch.setenv("UNRELATED", "stays")
    variables = environment(Settings(deps=None))
    assert "TURNGATE_DEPS" not in variables
    assert variables["UNRELATED"] == "stays"


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by repr nor by str."""
    monkeypatch.setenv("TURNGATE_OPENAI_API_KEY", "sk-very-secret")
    assert "very-secret" not in repr(load_settings()) + str(load_settings())


SPARE = {"base_url": "http://one:1/v1", "models": ["a*"]}


@pytest.mark.parametrize(
    ("providers", "said"),
    [
        ({"default": SPARE}, "1 to 40"),
        ({"Spare": SPARE}, "1 to 40"),
        ({"spare/x": SPARE}, "1 to 40"),
        ({"s" * 41: SPARE}, "1 to 40"),
        ({"spare": SPARE | {"models": []}}, "TURNGATE_PROVIDERS at spare.models"),
        ({"spare": SPARE | {"base_url": "secret"}}, "TURNGATE_PROVIDERS at spare.base_url"),
        ({"spare": SPARE | {"api_key": "secret", "api_key_env": "secret"}}, "api_key or api_key_env, not both"),
        ({"spare": SPARE | {"api_keys": "secret"}}, "TURNGATE_PROVIDERS at spare.api_keys"),
        ("secret", "JSON object"),
    ],
)
def test_providers_that_cannot_be_used_are_named_and_not_quoted(
    providers: object, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place in the table is told."""
    given = providers if isinstance(providers, str) else json.dumps(providers)
    monkeypatch.setenv("TURNGATE_PROVIDERS", given)
    with pytest.raises(SettingsError, match="TURNGATE_PROVIDERS") as caught:
        load_settings()
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_provider_s_key_is_given_or_in_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that gets copied need not hold it; a local server needs none."""
    (tmp_path / "turngate.toml").write_text(
        """
        [providers.given]
        base_url = "http://one:1/v1"
        models = ["a*"]
        api_key = "sk-given"
        [providers.kept]
        base_url = "http://two:2/v1"
        models = ["b*"]
        api_key_env = "KEPT_KEY"
        [providers.local]
        base_url = "http://three:3/v1"
        models = ["*"]
        """
    )
    monkeypatch.setenv("KEPT_KEY", "sk-kept")
    found = load_settings().providers
    assert {name: provider_key(name, one) for name, one in found.items()} == {
        "given": "sk-given",
        "kept": "sk-kept",
        "local": None,
    }
    assert "sk-" not in repr(found)
    monkeypatch.setenv("KEPT_KEY", "")
    with pytest.raises(SettingsError, match="the key of kept"):
        provider_key("kept", found["kept"])


def test_the_runtime_directory_is_where_the_system_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it says so at all."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    assert module.runtime_dir() == Path("/run/user/7")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert module.runtime_dir() is None


def test_a_silent_model_server_ends_its_attempt_before_it_ends_the_turn() -> None:
    """By default: another attempt, or another server, may still answer then."""
    assert Settings().openai_read_timeout_s < Settings().idle_timeout_s


def test_every_setting_says_what_it_is_for() -> None:
    """`turngate settings` and the docs print it."""
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_retention_is_for_topics_that_forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """In whole seconds; a compacted topic keeps the last record of each key, and an unknown one is a mistake."""
    monkeypatch.setenv("TURNGATE_RETENTION_S", '{"requests": 3600, "usage": 86400}')
    assert load_settings().retention_s == {"requests": 3600, "usage": 86400}
    for wrong in ('{"workers": 3600}', '{"request": 3600}', '{"requests": 0}'):
        monkeypatch.setenv("TURNGATE_RETENTION_S", wrong)
        with pytest.raises(SettingsError, match="TURNGATE_RETENTION_S"):
            load_settings()


def test_the_key_of_hashed_ids_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has it can look for ids."""
    monkeypatch.setenv("TURNGATE_LOG_ID_SALT", "a private key")
    assert "a private key" not in repr(load_settings())
    assert environment(load_settings())["TURNGATE_LOG_ID_SALT"] == "a private key"
