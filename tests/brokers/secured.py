"""An Apache Kafka that lets nobody in without TLS and a login, and lets nobody do what no ACL allows.

`bootstrap` is for SCRAM and OAuth logins over TLS, `certificates` for clients that show a certificate. Its own nodes talk to
each other with certificates too.
"""

from __future__ import annotations

import asyncio
import secrets
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import trustme
from aiokafka.protocol.admin import CreateAclsRequest
from cryptography.hazmat.primitives import serialization

from streams.brokers import ports
from tests.brokers.apache import ApacheBroker
from tests.brokers.broker import apart
from topics.acls import Grant
from topics.connection import Connection
from topics.errors import BrokerUnreachableError

#: Who may do everything, as an administrator of the cluster.
ADMIN: Final = "admin"
_SECURITY: Final = "org.apache.kafka.common.security"

# Kafka's numbers for what `Grant` has as words.
_RESOURCES = {"topic": 2, "group": 3, "cluster": 4}
_OPERATIONS = {"Read": 3, "Write": 4, "Create": 5, "Alter": 7, "Describe": 8, "DescribeConfigs": 10, "AlterConfigs": 11}
_LITERAL = 3
_ALLOW = 3


@dataclass(frozen=True, slots=True)
class Identity:
    """A client's certificate and key, as files."""

    certificate: Path
    key: Path


class SecuredKafka(ApacheBroker):
    """One such node; `names` are those who may log in with SCRAM, each with a password of its own."""

    name = "apache, secured"

    def __init__(self, directory: Path, names: Iterable[str]) -> None:
        """Keep data, keys and logs in `directory`."""
        super().__init__(directory)
        self.passwords = {name: secrets.token_urlsafe(12) for name in (ADMIN, *names)}
        self._certificate_port = ports.free_port()
        self._authority = trustme.CA()
        self.ca_file = directory / "ca.pem"
        self._authority.cert_pem.write_to_path(str(self.ca_file))
        self._own = self.identity("broker")

    @property
    def certificates(self) -> str:
        """Address for clients that show a certificate."""
        return f"{ports.LOOPBACK}:{self._certificate_port}"

    def identity(self, name: str) -> Identity:
        """Return a new certificate for the principal `name`, its key beside it."""
        made = self._authority.issue_cert(ports.LOOPBACK, "localhost", common_name=name)
        identity = Identity(self.directory / f"{name}.pem", self.directory / f"{name}.key")
        identity.certificate.write_bytes(b"".join(blob.bytes() for blob in made.cert_chain_pems))
        # Java reads no other form of key.
        key = serialization.load_pem_private_key(made.private_key_pem.bytes(), None)
        form = serialization.PrivateFormat.PKCS8
        identity.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
        return identity

    def settings(self, name: str) -> dict[str, Any]:
        """Return turngate's settings for logging in as `name`."""
        return {
            "broker": self.bootstrap,
            "kafka_protocol": "SASL_SSL",
            "kafka_ca_file": str(self.ca_file),
            "kafka_username": name,
            "kafka_password": self.passwords[name],
        }

    async def allow(self, admin: Connection, grants: Iterable[Grant], principal: str) -> None:
        """Grant to `principal`, as `admin`, who may."""
        async with admin.client() as client:
            for grant in grants:
                for operation in grant.operations:
                    request = CreateAclsRequest(
                        _RESOURCES[grant.resource], grant.name, _LITERAL, principal, "*", _OPERATIONS[operation], _ALLOW
                    )
                    answer = await client.send(client.get_random_node(), request)
                    ((code, message),) = answer.creation_responses
                    assert code == 0, message

    def admin(self) -> Connection:
        """Return how the administrator connects: with a certificate."""
        identity = self.identity(ADMIN)
        context = _context(self.ca_file, identity)
        return Connection(self.certificates, security_protocol="SSL", ssl_context=context)

    def _answers(self) -> bool:
        return ports.is_open(self.port) and apart(_reached(self.admin())) is True

    def _format_options(self) -> list[str]:
        logins = [f"SCRAM-SHA-512=[name={name},password={password}]" for name, password in self.passwords.items()]
        return [word for login in logins for word in ("--add-scram", login)]

    def _properties(self) -> dict[str, str]:
        store = self.directory / "broker.store.pem"
        store.write_bytes(self._own.key.read_bytes() + self._own.certificate.read_bytes())
        listen = f"CLIENTS://{self.bootstrap},CERTIFICATES://{self.certificates}"
        return super()._properties() | {
            "listeners": f"{listen},CONTROLLER://{self.controller}",
            "advertised.listeners": listen,
            "listener.security.protocol.map": "CLIENTS:SASL_SSL,CERTIFICATES:SSL,CONTROLLER:SSL",
            "inter.broker.listener.name": "CERTIFICATES",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(store),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca_file),
            "ssl.principal.mapping.rules": "RULE:^.*CN=([^,]+).*$/$1/,DEFAULT",
            "listener.name.certificates.ssl.client.auth": "required",
            "listener.name.controller.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512,OAUTHBEARER",
            "listener.name.clients.scram-sha-512.sasl.jaas.config": f"{_SECURITY}.scram.ScramLoginModule required;",
            # Takes tokens that are not signed: who one is, is what is tried here, and not the signature.
            "listener.name.clients.oauthbearer.sasl.jaas.config": (
                f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=broker;"
            ),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:broker;User:{ADMIN}",
        }


def _context(ca_file: Path, identity: Identity) -> ssl.SSLContext:
    """Return a TLS context that trusts `ca_file` and shows `identity`."""
    context = ssl.create_default_context(cafile=str(ca_file))
    context.load_cert_chain(identity.certificate, identity.key)
    return context


async def _reached(admin: Connection) -> bool:
    try:
        async with admin.client():
            return True
    except BrokerUnreachableError:
        return False
    finally:
        await sockets_closed()


async def sockets_closed() -> None:
    """Let an event loop that is about to end close its TLS connections: aiokafka does not wait for all of them."""
    await asyncio.sleep(0.2)
