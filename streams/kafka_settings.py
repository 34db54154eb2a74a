"""Settings that say where the brokers are, and how they are reached: encryption, and who one is."""

from __future__ import annotations

import re

from pydantic import BaseModel, Field, SecretStr, field_validator
from pydantic_core import PydanticCustomError

from topics.security import SaslMechanism, SecurityProtocol

#: The `broker` that turngate brings along itself.
EMBEDDED = "embedded"

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:,/\[\]]+):[0-9]{1,5}")


class KafkaSettings(BaseModel):
    """Where the brokers are and how to be let in, for every command, worker and gateway alike.

    Each secret can be given as a value or as a file that holds it. Files are read when a process starts; that of an
    OAuth token whenever a connection is opened.
    """

    broker: str = Field(default=EMBEDDED, description="`embedded`, or host:port of Kafka brokers with commas between")
    kafka_protocol: SecurityProtocol = Field(
        default="PLAINTEXT", description="PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, as the brokers' listener has it"
    )
    kafka_ca_file: str | None = Field(
        default=None, description="certificates (PEM) to know the brokers by; without it those the system trusts"
    )
    kafka_certificate_file: str | None = Field(
        default=None, description="the client's own certificate with its chain (PEM), for brokers that ask for one"
    )
    kafka_key_file: str | None = Field(default=None, description="its key (PEM), where that is in a file of its own")
    kafka_key_password: SecretStr | None = Field(default=None, description="what the key is encrypted with")
    kafka_key_password_file: str | None = Field(default=None, description="a file that holds it")
    kafka_check_hostname: bool = Field(
        default=True, description="refuse a broker whose certificate is for another host name"
    )
    kafka_sasl_mechanism: SaslMechanism = Field(
        default="SCRAM-SHA-512", description="PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER"
    )
    kafka_username: str | None = Field(default=None, description="the name to log in with")
    kafka_password: SecretStr | None = Field(default=None, description="its password")
    kafka_password_file: str | None = Field(default=None, description="a file that holds it")
    kafka_token_file: str | None = Field(
        default=None, description="a file with an OAuth token that somebody else keeps fresh"
    )
    kafka_token_url: str | None = Field(
        default=None, description="or where to get OAuth tokens from, with the client's name and secret"
    )
    kafka_token_scope: str | None = Field(default=None, description="what to ask for there")
    kafka_client_name: str | None = Field(default=None, description="the client's name there (`client_id`)")
    kafka_client_secret: SecretStr | None = Field(default=None, description="its secret")
    kafka_client_secret_file: str | None = Field(default=None, description="a file that holds it")

    @field_validator("broker")
    @classmethod
    def _addresses(cls, value: str) -> str:
        """Refuse what is no list of addresses here, before a client tries for seconds to reach it."""
        if value != EMBEDDED and not all(_ADDRESS.fullmatch(one) for one in value.split(",")):
            raise PydanticCustomError("broker", "write host:port, several with commas between and no blanks")
        return value
