"""What Faust is told of a connection's security, so that its clients log in as all others do."""

from __future__ import annotations

from faust import auth
from faust.types.auth import CredentialsT

from topics.connection import Connection


def credentials_of(connection: Connection) -> CredentialsT | None:
    """Return the connection's security as Faust has it, None for plain text.

    Faust makes up the protocol from what it is given: with a TLS context it is `SSL` or `SASL_SSL`.
    """
    protocol, context = connection.security_protocol, connection.ssl_context
    if protocol == "PLAINTEXT":
        return None
    if protocol == "SSL":
        # With a context: without one, Faust asks for TLS for no purpose, which Python refuses.
        return auth.SSLCredentials(context)
    if connection.sasl_mechanism == "OAUTHBEARER":
        return auth.OAuthCredentials(oauth_cb=connection.sasl_token_provider, ssl_context=context)
    return auth.SASLCredentials(
        mechanism=connection.sasl_mechanism,
        username=connection.sasl_username,
        password=connection.sasl_password,
        ssl_context=context,
    )
