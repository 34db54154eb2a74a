"""Connections: what they pass on, what they say when nobody answers, and that nothing stays open."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient

from tests.brokers.broker import Broker
from topics.connection import Connection
from topics.errors import BrokerUnreachableError

OPENERS: list[Callable[[Connection], AbstractAsyncContextManager[Any]]] = [
    Connection.client,
    Connection.producer,
    Connection.consumer,
]


@asynccontextmanager
async def listening(talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]) -> AsyncIterator[str]:
    """Give the address of something that accepts connections and is no broker."""
    talks: list[asyncio.Task[None]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.append(task)
        with suppress(OSError):
            await talk(reader, writer)
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        host, port = server.sockets[0].getsockname()
        yield f"{host}:{port}"
    finally:
        server.close()
        await asyncio.gather(*talks)


async def say_nothing(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    """Accept, and leave the caller waiting until it gives up."""
    await reader.read()


async def hang_up(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
    """Accept and close, as a broker does that is not ready."""


def test_a_plain_connection_passes_no_credentials() -> None:
    """Only what aiokafka needs."""
    assert Connection("a:1,b:2", limit_s=1.5).arguments() == {
        "bootstrap_servers": "a:1,b:2",
        "client_id": "turngate",
        "request_timeout_ms": 1500,
        "security_protocol": "PLAINTEXT",
        "ssl_context": None,
    }


async def test_tls_and_sasl_settings_are_what_aiokafka_takes() -> None:
    """Its own client accepts them as they are."""
    context = ssl.create_default_context()
    secure = Connection(
        "a:1",
        security_protocol="SASL_SSL",
        ssl_context=context,
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username="ada",
        sasl_password="hunter2",  # noqa: S106 - nobody's
    )
    client = AIOKafkaClient(**secure.arguments())
    assert client._ssl_context is context
    assert client._sasl_mechanism == "SCRAM-SHA-512"
    assert (client._sasl_plain_username, client._sasl_plain_password) == ("ada", "hunter2")
    await client.close()


def test_a_connection_does_not_print_its_secrets() -> None:
    """It ends up in logs."""
    secret = Connection("a:1", sasl_username="ada", sasl_password="hunter2")  # noqa: S106 - nobody's
    assert "hunter2" not in repr(secret)
    assert "hunter2" not in str(secret.unreachable())


@pytest.mark.parametrize("opener", OPENERS)
async def test_a_closed_port_is_an_error_that_says_what_to_do(
    opener: Callable[[Connection], AbstractAsyncContextManager[Any]],
) -> None:
    """Whatever kind of client was wanted."""
    with pytest.raises(BrokerUnreachableError, match=r"127\.0\.0\.1:1 within 0\.3 s \(ConnectionRefused.*turngate up"):
        async with opener(Connection("127.0.0.1:1", limit_s=0.3)):
            pass


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("talk", [say_nothing, hang_up])
async def test_something_that_is_no_broker_is_an_error_and_leaves_nothing_open(
    opener: Callable[[Connection], AbstractAsyncContextManager[Any]],
    talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any],
) -> None:
    """It accepts connections, and answers nothing or hangs up."""
    async with listening(talk) as address:
        with pytest.raises(BrokerUnreachableError, match=address):
            async with opener(Connection(address, limit_s=0.5)):
                pass


async def test_a_name_that_does_not_resolve_is_an_error() -> None:
    """As when nobody answers."""
    with pytest.raises(BrokerUnreachableError, match=r"nowhere\.invalid"):
        async with Connection("nowhere.invalid:9092", limit_s=0.3).client():
            pass


@pytest.mark.parametrize("opener", OPENERS)
async def test_one_address_that_answers_is_enough(
    broker: Broker, opener: Callable[[Connection], AbstractAsyncContextManager[Any]]
) -> None:
    """The others may be down."""
    async with opener(Connection(f"127.0.0.1:1,{broker.bootstrap}")):
        pass


async def test_a_broker_that_comes_up_within_the_limit_is_waited_for(broker: Broker) -> None:
    """Something that hangs up at first, and then passes on to a real broker."""
    host, port = broker.bootstrap.split(":")
    turned_away = 0

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal turned_away
        if turned_away < 4:
            turned_away += 1
            return
        there, back = await asyncio.open_connection(host, int(port))
        await asyncio.gather(pump(reader, back), pump(there, writer))

    async with listening(talk) as address, Connection(address, limit_s=10).client() as client:
        assert client.cluster.brokers()
    assert turned_away == 4


@pytest.mark.parametrize("opener", OPENERS)
async def test_a_connection_is_closed_when_its_user_fails_or_is_cancelled(
    broker: Broker, opener: Callable[[Connection], AbstractAsyncContextManager[Any]]
) -> None:
    """An unclosed client would warn, and warnings fail these tests."""
    with pytest.raises(ZeroDivisionError):
        async with opener(Connection(broker.bootstrap)):
            raise ZeroDivisionError

    entered = asyncio.Event()

    async def use() -> None:
        async with opener(Connection(broker.bootstrap)):
            entered.set()
            await asyncio.sleep(3600)

    using = asyncio.create_task(use())
    await entered.wait()
    using.cancel()
    with pytest.raises(asyncio.CancelledError):
        await using


@pytest.mark.parametrize("opener", OPENERS)
async def test_a_cancellation_during_the_closing_is_not_lost(
    broker: Broker, opener: Callable[[Connection], AbstractAsyncContextManager[Any]]
) -> None:
    """The library swallows it there; who opens one connection after the other would never end."""
    closing = asyncio.Event()

    async def again_and_again() -> None:
        while True:
            async with opener(Connection(broker.bootstrap)):
                closing.set()

    task = asyncio.create_task(again_and_again())
    for step in range(40):
        await closing.wait()
        for _ in range(step % 8):
            await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=10)
        assert done, f"still going on after a cancellation {step} steps into the closing"
        assert task.cancelled()
        closing.clear()
        task = asyncio.create_task(again_and_again())
    task.cancel()
    await asyncio.wait([task])
