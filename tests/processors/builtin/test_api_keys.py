"""API keys and tokens. None of these was ever one: each is put together here."""

from __future__ import annotations

import pytest

from processors.builtin import api_keys
from processors.builtin.api_keys import FORMATS
from processors.errors import DeclarationError
from tests.processors.builtin.texts import settled

PROCESSOR = api_keys()
_MIXED = "aB3" * 20
_HEX = "0f3a" * 16

KEYS = [
    ("AKIA" + "IOSFODNN7EXAMPLE", "AWS_ACCESS_KEY_ID"),
    ("ASIA" + "IOSFODNN7EXAMPLE", "AWS_ACCESS_KEY_ID"),
    ("AIza" + _MIXED[:35], "GCP_API_KEY"),
    ("GOCSPX-" + _MIXED[:28], "GOOGLE_OAUTH"),
    ("ya29." + _MIXED, "GOOGLE_OAUTH"),
    ("1//0" + _MIXED, "GOOGLE_OAUTH"),
    *((f"gh{kind}_" + _MIXED[:36], "GITHUB_TOKEN") for kind in "pousr"),
    ("github_pat_" + _MIXED[:22] + "_" + _MIXED[:59], "GITHUB_TOKEN"),
    ("glpat-" + _MIXED[:20], "GITLAB_TOKEN"),
    ("xoxb-" + "123456789012-" + _MIXED[:24], "SLACK_TOKEN"),
    ("xapp-" + "1-A012-" + _MIXED[:24], "SLACK_TOKEN"),
    ("https://hooks.slack.com/" + "services/T0/B0/" + _MIXED[:24], "SLACK_WEBHOOK"),
    ("sk_live_" + _MIXED[:24], "STRIPE_KEY"),
    ("rk_test_" + _MIXED[:24], "STRIPE_KEY"),
    ("whsec_" + _MIXED[:32], "STRIPE_KEY"),
    ("sk-ant-" + "api03-" + _MIXED, "ANTHROPIC_KEY"),
    ("sk-or-v1-" + _HEX, "OPENROUTER_KEY"),
    ("sk-proj-" + _MIXED, "OPENAI_KEY"),
    ("sk-" + _MIXED[:48], "OPENAI_KEY"),
    ("hf_" + _MIXED[:34], "HUGGINGFACE_TOKEN"),
    ("gsk_" + _MIXED[:52], "GROQ_KEY"),
    ("xai-" + _MIXED, "XAI_KEY"),
    ("r8_" + _MIXED[:37], "REPLICATE_TOKEN"),
    ("npm_" + _MIXED[:36], "NPM_TOKEN"),
    ("pypi-" + "AgEIcHlwaS5vcmc" + _MIXED, "PYPI_TOKEN"),
    ("dckr_pat_" + _MIXED[:27], "DOCKER_TOKEN"),
    ("SG." + _MIXED[:22] + "." + _MIXED[:43], "SENDGRID_KEY"),
    ("key-" + _HEX[:32], "MAILGUN_KEY"),
    ("SK" + _HEX[:32], "TWILIO_KEY"),
    ("AC" + _HEX[:32], "TWILIO_KEY"),
    ("123456789:" + "AA" + _MIXED[:33], "TELEGRAM_TOKEN"),
    ("M" + _MIXED[:25] + "." + _MIXED[:6] + "." + _MIXED[:38], "DISCORD_TOKEN"),
    ("abc8Q~" + _MIXED[:34], "AZURE_CLIENT_SECRET"),
    ("dop_v1_" + _HEX, "DIGITALOCEAN_TOKEN"),
    ("shpat_" + _HEX[:32], "SHOPIFY_TOKEN"),
    ("dapi" + _HEX[:32], "DATABRICKS_TOKEN"),
    ("hvs." + _MIXED[:24], "VAULT_TOKEN"),
    ("lin_api_" + _MIXED[:40], "LINEAR_KEY"),
    ("ntn_" + _MIXED[:46], "NOTION_TOKEN"),
    ("glsa_" + _MIXED[:41], "GRAFANA_TOKEN"),
    ("PMAK-" + _HEX[:24] + "-" + _HEX[:34], "POSTMAN_KEY"),
    ("ATATT3" + _MIXED + _MIXED, "ATLASSIAN_TOKEN"),
    ("NRAK-" + "A1B2C3" * 5, "NEW_RELIC_KEY"),
    ("AGE-SECRET-KEY-1" + "QPZRY9" * 10, "AGE_KEY"),
]


@pytest.mark.parametrize(("key", "label"), KEYS, ids=[f"{label}-{key[:7]}" for key, label in KEYS])
def test_a_key_is_replaced_by_its_name(key: str, label: str) -> None:
    """Also in quotes, behind a name, and much longer than they are today: to the last character."""
    assert settled(PROCESSOR, f"Use {key} for it") == f"Use [{label}] for it"
    assert settled(PROCESSOR, f'X="{key}"') == f'X="[{label}]"'
    assert settled(PROCESSOR, f"({key}{key[-4:] * 500})") == f"([{label}])"


def test_every_format_has_a_key_here() -> None:
    """But for those that are known by their name only."""
    assert {one.label for one in FORMATS} - {label for _, label in KEYS} == {"AWS_SECRET_KEY", "AZURE_KEY"}
    assert all(one.source for one in FORMATS)


@pytest.mark.parametrize(
    ("before", "secret", "after"),
    [
        ("aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY", "\n"),
        ("AWS_SECRET_ACCESS_KEY=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY", " x"),
        ('"SecretAccessKey": "', "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY", '",'),
    ],
)
def test_an_aws_secret_is_known_by_its_name(before: str, secret: str, after: str) -> None:
    """The name stays; without one, forty characters are nothing."""
    assert settled(PROCESSOR, f"{before}{secret}{after}") == f"{before}[AWS_SECRET_KEY]{after}"
    assert settled(PROCESSOR, f"sum {secret}{after}") == f"sum {secret}{after}"


def test_the_key_in_an_azure_connection_string() -> None:
    """The account stays."""
    text = "DefaultEndpointsProtocol=https;AccountName=ann;AccountKey={};EndpointSuffix=core.windows.net"
    assert settled(PROCESSOR, text.format(_MIXED + "==")) == text.format("[AZURE_KEY]")


@pytest.mark.parametrize(
    "text",
    [
        "sk-circle-fade-dot-container-one-two",
        "task-ant-aaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "AKIA is a prefix, ghp_ another",
        "9f04f0b3c1d2e4a5b6c7d8e9f0a1b2c3d4e5f607",
        "xoxo-hugs",
        "key-value-store-with-many-words",
        "my_npm_package_that_has_quite_a_long_name_indeed",
    ],
)
def test_what_is_no_key_stays(text: str) -> None:
    """Class names, prefixes, sums, prose."""
    assert settled(PROCESSOR, text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("api_key=Zx81hhq99s0dk2lqpz", "api_key=[SECRET]"),
        ('"password": "hT5!kk29sPq#0aZz"', '"password": "[SECRET]"'),
        ("MY_APP_TOKEN: q7Zr81hhq99s0dk2", "MY_APP_TOKEN: [SECRET]"),
        ("password = your_password_here", "password = your_password_here"),
        ("token: aaaaaaaaaaaaaaaaaaaa", "token: aaaaaaaaaaaaaaaaaaaa"),
        ("password=changeme", "password=changeme"),
        (f"api_key={'sk-' + _MIXED[:48]}", "api_key=[OPENAI_KEY]"),
    ],
)
def test_what_is_assigned_to_a_secret_s_name_if_asked_for(text: str, expected: str) -> None:
    """If it looks random."""
    assert settled(api_keys(assigned=True), text) == expected


def test_providers_can_be_chosen() -> None:
    """By the beginning of a label."""
    text = f"{'ghp_' + _MIXED[:36]} {'npm_' + _MIXED[:36]}"
    assert settled(api_keys(providers=["github"]), text) == f"[GITHUB_TOKEN] {'npm_' + _MIXED[:36]}"
    assert settled(api_keys(label="KEY", numbered=True), text) == "[KEY_1] [KEY_2]"
    with pytest.raises(DeclarationError, match="no format begins with 'ACME'; there are AGE_KEY"):
        api_keys(providers=["acme"])
    with pytest.raises(DeclarationError, match="nothing to look for"):
        api_keys(providers=[])
