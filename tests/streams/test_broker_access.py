"""From the settings to a connection: what is incomplete, contradicts itself or would have no effect is refused by name."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trustme

from streams.broker_access import connection_of
from streams.faust_shell.credentials import credentials_of
from streams.oauth import ClientCredentials, FileTokens
from streams.settings import Settings, SettingsError
from topics.connection import Connection

BROKER = "kafka.example:9093"
GIVEN = "secret-1"
SCRAM: Mapping[str, Any] = {"kafka_protocol": "SASL_PLAINTEXT", "kafka_username": "ann", "kafka_password": GIVEN}
OAUTH: Mapping[str, Any] = {"kafka_protocol": "SASL_PLAINTEXT", "kafka_sasl_mechanism": "OAUTHBEARER"}


def connect(**given: Any) -> Connection:
    """Return the connection that these settings give."""
    settings = Settings(**({"broker": BROKER} | given))
    return connection_of(settings, settings.broker)


@pytest.fixture
def files(tmp_path: Path) -> Mapping[str, str]:
    """Give an authority, a client's certificate with its key in the same file, and a secret."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    made = authority.issue_cert("client.example")
    made.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "client.pem"))
    (tmp_path / "secret").write_text("from a file\n")
    return {path.name: str(path) for path in tmp_path.iterdir()}


def test_without_any_of_them_it_is_plain_text() -> None:
    """As the embedded broker has it."""
    assert connect().security_protocol == "PLAINTEXT"
    assert credentials_of(connect()) is None


def test_tls_trusts_the_authority_that_is_named(files: Mapping[str, str]) -> None:
    """And no other, with the host's name checked unless that is turned off."""
    found = connect(kafka_protocol="SSL", kafka_ca_file=files["ca.pem"], kafka_certificate_file=files["client.pem"])
    context = found.ssl_context
    assert context is not None
    assert len(context.get_ca_certs()) == 1
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
    lax = connect(kafka_protocol="SSL", kafka_check_hostname=False).ssl_context
    assert lax is not None
    assert (lax.check_hostname, lax.verify_mode) == (False, ssl.CERT_REQUIRED)


def test_a_password_is_a_value_or_the_first_thing_in_a_file(files: Mapping[str, str]) -> None:
    """Without the line end that editors put there."""
    assert connect(**SCRAM).sasl_password == GIVEN
    given = {**SCRAM, "kafka_password": None, "kafka_password_file": files["secret"]}
    found = connect(**given)
    assert (found.sasl_mechanism, found.sasl_username, found.sasl_password) == ("SCRAM-SHA-512", "ann", "from a file")


def test_faust_logs_in_as_everybody_else_does(files: Mapping[str, str]) -> None:
    """The protocol that it makes up is the one that was set."""
    plain, tls = connect(**SCRAM), connect(**{**SCRAM, "kafka_protocol": "SASL_SSL", "kafka_ca_file": files["ca.pem"]})
    token = connect(**OAUTH, kafka_token_file=files["secret"])
    alone = connect(kafka_protocol="SSL", kafka_ca_file=files["ca.pem"])
    for connection in (plain, tls, token, alone):
        credentials = credentials_of(connection)
        assert credentials is not None
        assert credentials.protocol.value == connection.security_protocol


def test_tokens_come_from_a_file_or_a_server(files: Mapping[str, str]) -> None:
    """Whichever is named."""
    assert isinstance(connect(**OAUTH, kafka_token_file=files["secret"]).sasl_token_provider, FileTokens)
    asked = {"kafka_token_url": "https://login.example/token", "kafka_client_name": "t", "kafka_client_secret": "s"}
    assert isinstance(connect(**OAUTH, **asked).sasl_token_provider, ClientCredentials)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"broker": "embedded", "kafka_protocol": "SSL"}, "TURNGATE_KAFKA_PROTOCOL: the embedded broker knows no SSL"),
        ({"kafka_password": "secret-1"}, "TURNGATE_KAFKA_PASSWORD has no effect"),
        ({"kafka_ca_file": "ca.pem"}, "TURNGATE_KAFKA_CA_FILE has no effect"),
        ({"kafka_protocol": "SASL_SSL"}, "set TURNGATE_KAFKA_USERNAME"),
        ({**SCRAM, "kafka_password": None}, "TURNGATE_KAFKA_PASSWORD_FILE"),
        ({**SCRAM, "kafka_token_file": "token"}, "SCRAM-SHA-512, which knows no tokens"),
        ({**SCRAM, "kafka_password_file": __file__}, "not both"),
        ({**SCRAM, "kafka_password": None, "kafka_password_file": "nowhere"}, "there is no file nowhere"),
        ({**OAUTH, "kafka_password": "secret-1"}, "OAUTHBEARER, which knows no passwords"),
        (OAUTH, "set one of TURNGATE_KAFKA_TOKEN_FILE and TURNGATE_KAFKA_TOKEN_URL"),
        ({**OAUTH, "kafka_token_url": "https://login.example/token"}, "TURNGATE_KAFKA_CLIENT_NAME"),
        (
            {
                **OAUTH,
                "kafka_token_url": "http://login.example/token",
                "kafka_client_name": "t",
                "kafka_client_secret": "secret-1",
            },
            "begins with https",
        ),
        (
            {**OAUTH, "kafka_token_file": __file__, "kafka_client_secret": "secret-1"},
            "TURNGATE_KAFKA_CLIENT_SECRET has",
        ),
        ({"kafka_protocol": "SSL", "kafka_ca_file": __file__}, "there are no certificates"),
        ({"kafka_protocol": "SSL", "kafka_key_file": __file__}, "no use without TURNGATE_KAFKA_CERTIFICATE_FILE"),
        ({"kafka_protocol": "SSL", "kafka_certificate_file": __file__}, "cannot be used together"),
    ],
)
def test_what_would_not_work_is_refused_by_name_and_not_quoted(given: Mapping[str, Any], words: str) -> None:
    """Before anybody tries to connect."""
    with pytest.raises(SettingsError) as caught:
        connect(**given)
    assert words in str(caught.value)
    assert "secret-1" not in str(caught.value)
