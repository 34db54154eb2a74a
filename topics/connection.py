"""How to reach a broker, and clients that are always closed again.

Everything in this package that talks to Kafka takes a `Connection` and opens its clients through it, so that the
address, the credentials, the time limit and the error for "nobody is there" exist once.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import collect_hosts, create_conn
from aiokafka.errors import KafkaError, SaslAuthenticationFailed
from aiokafka.protocol.metadata import MetadataRequest

from topics.errors import AccessDeniedError, BrokerUnreachableError
from topics.producing import producer_of
from topics.reading import read_everything
from topics.sealing import Sealing
from topics.security import SaslMechanism, SecurityProtocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

#: How long the broker may hold a fetch without data, in milliseconds. The embedded broker does not wake a waiting fetch
#: when data arrives, so this is also the most it adds to the latency of a record there.
FETCH_WAIT_MS = 50
_RETRY_S = 0.2
#: What Kafka says to a client that it knows, and does not let do this.
_DENIED = frozenset(
    {
        "ClusterAuthorizationFailedError",
        "GroupAuthorizationFailedError",
        "SaslAuthenticationFailed",
        "TopicAuthorizationFailedError",
        "TransactionalIdAuthorizationFailed",
        "UnsupportedSaslMechanismError",
    }
)


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the brokers are and how to be let in.

    `bootstrap_servers` is `host:port`, several with commas between. `limit_s` is how long, in seconds, to keep trying
    for a first answer, and how long one request may then take. TLS needs an `ssl_context` that is ready to use; SASL
    needs a mechanism with either a name and password or a token provider (an `aiokafka.abc.AbstractTokenProvider`).
    `sealing` encrypts what is kept on sensitive topics, if it has keys.
    """

    bootstrap_servers: str
    limit_s: float = 10.0
    client_id: str = "turngate"
    security_protocol: SecurityProtocol = "PLAINTEXT"
    ssl_context: ssl.SSLContext | None = field(default=None, repr=False)
    sasl_mechanism: SaslMechanism = "PLAIN"
    sasl_username: str | None = field(default=None, repr=False)
    sasl_password: str | None = field(default=None, repr=False)
    sasl_token_provider: Any = field(default=None, repr=False)
    sealing: Sealing = field(default_factory=Sealing, repr=False, compare=False)

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments that every aiokafka client shares."""
        arguments: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap_servers,
            "client_id": self.client_id,
            "request_timeout_ms": max(1, int(self.limit_s * 1000)),
            "security_protocol": self.security_protocol,
            "ssl_context": self.ssl_context,
        }
        if self.security_protocol.startswith("SASL"):
            arguments |= {
                "sasl_mechanism": self.sasl_mechanism,
                "sasl_plain_username": self.sasl_username,
                "sasl_plain_password": self.sasl_password,
                "sasl_oauth_token_provider": self.sasl_token_provider,
            }
        return arguments

    @asynccontextmanager
    async def client(self) -> AsyncIterator[AIOKafkaClient]:
        """Yield a bare client for requests of one's own; it asks for no topic's metadata by name.

        Raises:
            BrokerUnreachableError: nobody answered within `limit_s`.
        """
        client = AIOKafkaClient(**self.arguments())
        async with self._opened(client.bootstrap, client.close):
            yield client

    @asynccontextmanager
    async def producer(self, **options: Any) -> AsyncIterator[AIOKafkaProducer]:
        """Yield a started producer that waits for all in-sync replicas; `options` are aiokafka's.

        Raises:
            BrokerUnreachableError: nobody answered within `limit_s`.
        """
        producer = producer_of(self.sealing, **self.arguments(), acks="all", **options)
        async with self._opened(producer.start, producer.stop):
            yield producer

    @asynccontextmanager
    async def consumer(self, *, group: str | None = None, **options: Any) -> AsyncIterator[AIOKafkaConsumer]:
        """Yield a started consumer that is in no group, assigned to nothing yet; `options` are aiokafka's.

        With a `group` it can tell what that group has committed; it does not join, as long as it is assigned its partitions.

        A record that cannot be read has an `Unreadable` value, and those after it come all the same. One that is sealed
        with a key that is not here raises `SealedRecordError` where records are asked for.

        Where an offset it wants is no longer there it goes on with the oldest record that is.

        Raises:
            BrokerUnreachableError: nobody answered within `limit_s`.
        """
        consumer = AIOKafkaConsumer(
            **self.arguments(),
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=FETCH_WAIT_MS,
            **options,
        )
        async with self._opened(consumer.start, consumer.stop):
            read_everything(consumer, self.sealing)
            yield consumer

    def unreachable(self, why: str = "") -> BrokerUnreachableError:
        """Return the error that says nobody answers here, and what to do about it; `why` is the class of what was met."""
        if why in _DENIED:
            return AccessDeniedError(
                f"{self.bootstrap_servers} refused this client ({why}): check who it logs in as (the TURNGATE_KAFKA_ "
                "settings), and what that principal may do: `turngate topics acls` prints what each role needs."
            )
        return BrokerUnreachableError(
            f"No Kafka broker answered at {self.bootstrap_servers} within {self.limit_s:g} s{why and f' ({why})'}. "
            "Check the address and the security settings, or start a broker: `turngate up` brings one along. "
            "Another address is given with --broker host:port or TURNGATE_BROKER."
        )

    @asynccontextmanager
    async def _opened(
        self, start: Callable[[], Awaitable[None]], stop: Callable[[], Awaitable[None]]
    ) -> AsyncIterator[None]:
        task = asyncio.current_task()
        cancelled = task.cancelling() if task else 0
        try:
            await self._start(start)
            yield
        finally:
            await stop()
            # aiokafka awaits the tasks that it has just cancelled, and takes a cancellation of this one for theirs.
            if task and task.cancelling() > cancelled:
                raise asyncio.CancelledError

    async def _start(self, start: Callable[[], Awaitable[None]]) -> None:
        """Try until the limit: a broker that is just starting refuses, or accepts and hangs up."""
        why = ""
        try:
            async with asyncio.timeout(self.limit_s):
                while True:
                    try:
                        # The bare port first, because aiokafka logs an error for every refused connection.
                        await self._await_open_port()
                        await start()
                        # aiokafka's stop() fails if the tasks that start() made have not begun to run.
                        await asyncio.sleep(0)
                    except (KafkaError, OSError) as error:
                        why = type(error).__name__
                        if why in _DENIED or isinstance(error, ssl.SSLError):
                            await asyncio.sleep(_RETRY_S)  # for sockets to close: aiokafka does not wait for them
                            raise self._refused(error) from None  # and no time makes it better
                        await asyncio.sleep(_RETRY_S)
                    else:
                        return
        except TimeoutError:
            raise self.unreachable(why) from None

    async def _knock(self, host: str, port: int) -> None:
        """Connect and hang up again; with TLS or a login all of that too, because aiokafka hides why those fail."""
        if self.security_protocol == "PLAINTEXT":
            _, writer = await asyncio.open_connection(host, port)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
            return
        arguments = self.arguments()
        del arguments["bootstrap_servers"]
        connection = await create_conn(host, port, **arguments)
        try:
            if arguments.get("sasl_mechanism") == "OAUTHBEARER":
                await self._see_the_token_taken(connection)
        finally:
            await connection.close()

    async def _see_the_token_taken(self, connection: Any) -> None:
        """Ask something: a token that is refused is no error yet to aiokafka, which goes on and finds no brokers."""
        try:
            if (await connection.send(MetadataRequest([]))).brokers:
                return
        except (KafkaError, ValueError):
            pass
        raise SaslAuthenticationFailed("the brokers did not take the token")

    def _refused(self, error: Exception) -> BrokerUnreachableError:
        """Return the error for TLS that does not come about, or a login that is refused."""
        if not isinstance(error, ssl.SSLError):
            return self.unreachable(type(error).__name__)
        why = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else error.reason
        return BrokerUnreachableError(
            f"There is no TLS with {self.bootstrap_servers} ({why}): check that the listener there is one for TLS, that "
            "TURNGATE_KAFKA_CA_FILE has the authority of its certificate, and that the certificate is for this host name."
        )

    async def _await_open_port(self) -> None:
        error: OSError | None = None
        for host, port, _ in collect_hosts(self.bootstrap_servers):
            try:
                await self._knock(host, port)
            except OSError as refused:
                error = refused
                continue
            return
        raise error or OSError("no address given")
