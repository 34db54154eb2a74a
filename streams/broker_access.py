"""From the settings to a `Connection`: contexts for TLS are made, files of secrets are read, contradictions refused.

A setting that would have no effect is refused: whoever gives a password wants it to be asked for.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from streams.kafka_settings import KafkaSettings
from streams.key_ring_settings import sealing_of
from streams.oauth import ClientCredentials, FileTokens
from streams.settings import EMBEDDED, PREFIX, Settings, SettingsError
from topics.connection import Connection
from topics.errors import KeyRingError
from topics.sealing import Sealing

_FOR_TLS = (
    "kafka_ca_file",
    "kafka_certificate_file",
    "kafka_key_file",
    "kafka_key_password",
    "kafka_key_password_file",
)
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_FOR_NAMES = ("kafka_username", "kafka_password", "kafka_password_file")
_FOR_TOKENS = (
    "kafka_token_file",
    "kafka_token_url",
    "kafka_token_scope",
    "kafka_client_name",
    "kafka_client_secret",
    "kafka_client_secret_file",
)


def connection_of(settings: Settings, bootstrap: str, **options: Any) -> Connection:
    """Return how to reach the brokers at `bootstrap`, which the settings name or stand for.

    `options` are other fields of `Connection`. Files are read here, so not where an event loop waits for better things.

    Raises:
        SettingsError: what is set for the brokers contradicts itself, lacks a part, or names a file that cannot be used.
    """
    _refuse_ineffective(settings)
    options.setdefault("sealing", _sealing(settings))
    protocol = settings.kafka_protocol
    if protocol.endswith("SSL"):
        options["ssl_context"] = _tls(settings)
    if protocol.startswith("SASL"):
        options["sasl_mechanism"] = settings.kafka_sasl_mechanism
        options |= _tokens(settings) if settings.kafka_sasl_mechanism == "OAUTHBEARER" else _login(settings)
    return Connection(bootstrap, security_protocol=protocol, **options)


def _sealing(settings: Settings) -> Sealing:
    if settings.key_ring is None:
        why = f"{_var('key_ring')} names no folder of keys: set it"
        if settings.key_ring_active is not None or settings.key_ring_use != "require":
            name = "key_ring_use" if settings.key_ring_active is None else "key_ring_active"
            raise SettingsError(f"{_var(name)} has no effect, as {why}, or take it away")
    try:
        return sealing_of(settings)
    except KeyRingError as error:
        raise SettingsError(f"{_var('key_ring')}: {error}") from None


def _refuse_ineffective(settings: Settings) -> None:
    protocol, mechanism = settings.kafka_protocol, settings.kafka_sasl_mechanism
    if settings.broker == EMBEDDED and protocol != "PLAINTEXT":
        raise SettingsError(f"{_var('kafka_protocol')}: the embedded broker knows no {protocol}: name a broker with it")
    if not protocol.endswith("SSL"):
        _refuse(settings, _FOR_TLS, f"{_var('kafka_protocol')} is {protocol}, without TLS: set SSL or SASL_SSL")
    if not protocol.startswith("SASL"):
        why = f"{_var('kafka_protocol')} is {protocol}, without a login: set SASL_SSL"
        _refuse(settings, (*_FOR_NAMES, *_FOR_TOKENS), why)
    elif mechanism == "OAUTHBEARER":
        _refuse(settings, _FOR_NAMES, f"{_var('kafka_sasl_mechanism')} is OAUTHBEARER, which knows no passwords")
    else:
        _refuse(settings, _FOR_TOKENS, f"{_var('kafka_sasl_mechanism')} is {mechanism}, which knows no tokens")


def _refuse(settings: KafkaSettings, names: tuple[str, ...], why: str) -> None:
    given = [name for name in names if getattr(settings, name) is not None]
    if given:
        raise SettingsError(f"{_var(given[0])} has no effect, as {why}, or take it away")


def _tls(settings: KafkaSettings) -> ssl.SSLContext:
    authority = _existing(settings, "kafka_ca_file")
    certificate, key = _existing(settings, "kafka_certificate_file"), _existing(settings, "kafka_key_file")
    try:
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=authority)
    except (ssl.SSLError, OSError):
        raise SettingsError(f"{_var('kafka_ca_file')}: there are no certificates (PEM) in {authority}") from None
    context.check_hostname = settings.kafka_check_hostname
    if certificate is not None:
        # Without this, one that is encrypted would be asked for on the terminal.
        password = _secret(settings, "kafka_key_password") or ""
        try:
            context.load_cert_chain(certificate, key, lambda: password)
        except (ssl.SSLError, OSError):
            raise SettingsError(
                f"{_var('kafka_certificate_file')}: {certificate} and {key or 'the key in it'} cannot be used together: "
                "give a certificate and its key (PEM), and the key's password if it has one"
            ) from None
    elif key is not None:
        raise SettingsError(f"{_var('kafka_key_file')} is of no use without {_var('kafka_certificate_file')}")
    return context


def _login(settings: KafkaSettings) -> dict[str, Any]:
    password = _secret(settings, "kafka_password")
    if settings.kafka_username is None or password is None:
        raise SettingsError(
            f"{_var('kafka_protocol')} is {settings.kafka_protocol}: set {_var('kafka_username')}, and "
            f"{_var('kafka_password')} or {_var('kafka_password_file')}"
        )
    return {"sasl_username": settings.kafka_username, "sasl_password": password}


def _tokens(settings: KafkaSettings) -> dict[str, Any]:
    file, url = settings.kafka_token_file, settings.kafka_token_url
    if (file is None) == (url is None):
        raise SettingsError(f"OAUTHBEARER: set one of {_var('kafka_token_file')} and {_var('kafka_token_url')}")
    if file is not None:
        _refuse(settings, _FOR_TOKENS[2:], "the tokens are those of a file")
        _existing(settings, "kafka_token_file")
        return {"sasl_token_provider": FileTokens(Path(file))}
    secret = _secret(settings, "kafka_client_secret")
    if url is None or settings.kafka_client_name is None or secret is None:
        raise SettingsError(
            f"{_var('kafka_token_url')}: set {_var('kafka_client_name')}, and {_var('kafka_client_secret')} or "
            f"{_var('kafka_client_secret_file')} too"
        )
    place = urlsplit(url)
    # The client's secret goes there: without TLS no further than this machine.
    if place.scheme != "https" and not (place.scheme == "http" and place.hostname in _LOOPBACK):
        raise SettingsError(f"{_var('kafka_token_url')}: write a URL that begins with https://")
    authority = _existing(settings, "kafka_ca_file")
    return {
        "sasl_token_provider": ClientCredentials(
            url, settings.kafka_client_name, secret, scope=settings.kafka_token_scope, ca_file=authority
        )
    }


def _secret(settings: KafkaSettings, name: str) -> str | None:
    """Return the secret of that name, from its value or from its file without the line end."""
    value: SecretStr | None = getattr(settings, name)
    file = _existing(settings, f"{name}_file")
    if value is not None and file is not None:
        raise SettingsError(f"set one of {_var(name)} and {_var(name)}_FILE, not both")
    if file is None:
        return None if value is None else value.get_secret_value()
    try:
        return Path(file).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError):
        raise SettingsError(f"{_var(name)}_FILE: {file} cannot be read as text") from None


def _existing(settings: KafkaSettings, name: str) -> str | None:
    path: str | None = getattr(settings, name)
    if path is not None and not Path(path).is_file():
        raise SettingsError(f"{_var(name)}: there is no file {path}, or this user may not see it")
    return path


def _var(name: str) -> str:
    return PREFIX + name.upper()
