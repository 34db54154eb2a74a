"""The whole pipeline on brokers that ask for TLS, a login and permission: with what `turngate topics acls` prints, no more."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import TopicAuthorizationFailedError

from streams.broker_access import connection_of
from streams.cli.work.demo_turns import TURNS
from streams.settings import Settings, environment
from tests.brokers.choice import Choice
from tests.brokers.secured import SecuredKafka
from tests.conftest import CHOICE
from tests.integration.pipeline import READY_S, ROOT, Worker
from topics.acls import ACL_ROLES, AclRole, grants
from topics.admin import TopicAdmin
from topics.client import TurnClient
from topics.connection import Connection
from topics.errors import AccessDeniedError, BrokerUnreachableError, TopicLayoutError
from topics.names import RELEASED_FRAMES, TOPICS, Names, Topic

pytestmark = pytest.mark.apache

PREFIX = "guarded."
NAMES = Names(PREFIX)
#: Asks a tool, and so goes through every role.
TURN = next(turn for turn in TURNS if turn.lookup is not None)


@pytest.fixture(scope="module")
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    """Give a secured node where this run is on Apache Kafka at all, with topics and each role's permissions."""
    choice: Choice = request.config.stash[CHOICE]
    if "apache" not in choice.used:
        pytest.skip(f"broker apache: {choice.left_out['apache']}")
    instance = SecuredKafka(tmp_path_factory.mktemp("secured"), ACL_ROLES)

    async def prepare() -> None:
        admin = instance.admin()
        for role in ACL_ROLES:
            await instance.allow(admin, grants(role, NAMES), f"User:{role}")
        # The operator alone, and not the administrator: what is granted is enough to lay out topics.
        await TopicAdmin(connect(instance, "operator"), NAMES).create(2, 1)

    try:
        instance.start()
        asyncio.run(prepare())
        yield instance
    finally:
        instance.stop()


def settings_of(kafka: SecuredKafka, role: AclRole, **more: Any) -> Settings:
    """Return the settings of a process in this role."""
    own: dict[str, Any] = {"prefix": PREFIX, "deps": "streams.cli.demo_deps:streamed", "script_enabled": True}
    return Settings(**(own | kafka.settings(role) | more))


def connect(kafka: SecuredKafka, role: AclRole) -> Connection:
    """Return how a client in this role connects."""
    settings = settings_of(kafka, role)
    return connection_of(settings, settings.broker)


@contextlib.contextmanager
def running(settings: Sequence[tuple[AclRole, Settings]], directory: Path) -> Iterator[list[Worker]]:
    """Run a worker for each of these roles; what they logged is shown when the block fails."""
    workers = [Worker(role, each, directory / f"{role}-{number}.log") for number, (role, each) in enumerate(settings)]
    try:
        yield workers
    except BaseException:
        for worker in workers:
            sys.stderr.write(f"--- {worker.log.name}\n{worker.log.read_text()[-4000:]}\n")
        raise
    finally:
        for worker in workers:
            worker.stop()


async def played(client: TurnClient, thread: str) -> None:
    """Submit the demo's turn with a tool, and see that it comes out as it should."""
    view = await client.run(TURN.message, thread_id=thread, params=TURN.params, timeout_s=READY_S)
    assert TURN.as_told(view), (view.reply, view.terminal)


async def test_the_pipeline_runs_with_each_role_s_permissions(kafka: SecuredKafka, tmp_path: Path) -> None:
    """Every role a principal of its own, over TLS with SCRAM: a turn with a tool passes all of them, and two workers."""
    roles: list[AclRole] = ["turns", "turns", "models", "tools"]
    with running([(role, settings_of(kafka, role)) for role in roles], tmp_path) as workers:
        async with TurnClient(connect(kafka, "callers"), NAMES) as client:
            async with TurnClient(connect(kafka, "readers"), NAMES) as reader:
                for number in range(4):
                    await played(client, f"thread-{number}")
                frames = reader.follow_all(from_beginning=True)
                ended = set()
                async with asyncio.timeout(READY_S), contextlib.aclosing(frames):
                    async for frame in frames:
                        ended |= {frame.thread_id} if frame.kind == "completed" else set()
                        if len(ended) == 4:
                            break
                with pytest.raises(TopicLayoutError, match="may not see it"):
                    await reader.submit("Hello?")
        assert all(worker.alive for worker in workers)
        said = "".join(worker.log.read_text() for worker in workers)
    assert "Authorization" not in said
    for name in ACL_ROLES:
        assert kafka.passwords[name] not in said


@contextlib.asynccontextmanager
async def reading(connection: Connection, topic: str) -> AsyncIterator[Any]:
    """Give a consumer at the beginning of a topic's first partition."""
    async with connection.consumer() as consumer:
        place = TopicPartition(topic, 0)
        consumer.assign([place])
        consumer.seek(place, 0)
        yield consumer


@pytest.mark.parametrize("topic", [one for one in TOPICS if one.sensitive], ids=lambda one: one.name)
async def test_a_reader_cannot_read_what_no_control_has_passed(kafka: SecuredKafka, topic: Topic) -> None:
    """Nor find out that it exists."""
    connection = connect(kafka, "readers")
    async with reading(connection, NAMES.topic(topic)) as consumer:
        with pytest.raises(TopicAuthorizationFailedError):
            await asyncio.wait_for(consumer.getone(), 20)
    assert set(await TopicAdmin(connection, NAMES).describe()) == {NAMES.topic(RELEASED_FRAMES)}


@pytest.mark.parametrize("journal", ["turns", "models", "tools"])
async def test_a_reader_cannot_read_a_journal(kafka: SecuredKafka, journal: Any) -> None:
    """It holds all that was written before it was judged."""
    async with reading(connect(kafka, "readers"), NAMES.journal(journal)) as consumer:
        with pytest.raises(TopicAuthorizationFailedError):
            await asyncio.wait_for(consumer.getone(), 20)


@pytest.mark.parametrize("role", [role for role in ACL_ROLES if role != "turns"])
async def test_nobody_but_a_turn_worker_can_write_what_is_released(kafka: SecuredKafka, role: AclRole) -> None:
    """A forged frame is refused by the broker, whoever of the others writes it."""
    async with connect(kafka, role).producer() as producer:
        with pytest.raises(TopicAuthorizationFailedError):
            await producer.send_and_wait(NAMES.topic(RELEASED_FRAMES), b"{}", partition=0)


async def test_a_caller_reads_its_answers_and_not_other_requests(kafka: SecuredKafka) -> None:
    """Who may submit need not see what others submit."""
    async with reading(connect(kafka, "callers"), NAMES.topic(TOPICS[0])) as consumer:
        with pytest.raises(TopicAuthorizationFailedError):
            await asyncio.wait_for(consumer.getone(), 20)


def test_commands_log_in_with_the_same_settings(kafka: SecuredKafka) -> None:
    """An operator checks topics; a password in a file does as well."""
    held = kafka.directory / "operator.password"
    held.write_text(kafka.passwords["operator"] + "\n")
    settings = settings_of(kafka, "operator", kafka_password=None, kafka_password_file=str(held))
    done = command(settings, "topics", "check")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_a_wrong_password_is_named_at_once_and_not_shown(kafka: SecuredKafka) -> None:
    """And so is a listener whose certificate nobody vouches for."""
    done = command(settings_of(kafka, "operator", kafka_password="not-the-password"), "topics", "check")
    assert done.returncode == 3
    assert "refused this client (SaslAuthenticationFailed)" in done.stderr
    assert "not-the-password" not in done.stderr
    done = command(settings_of(kafka, "operator", kafka_ca_file=None), "topics", "check")
    assert done.returncode == 3
    assert "TURNGATE_KAFKA_CA_FILE" in done.stderr


def command(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of turngate with these settings."""
    return subprocess.run(
        [sys.executable, "-m", "turngate", *arguments],
        env=environment(settings),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


async def test_workers_and_clients_log_in_with_certificates(kafka: SecuredKafka, tmp_path: Path) -> None:
    """Mutual TLS: the certificate's name is the principal, with the same permissions."""

    def settings(role: AclRole) -> Settings:
        identity = kafka.identity(role)
        return Settings(
            broker=kafka.certificates,
            prefix=PREFIX,
            deps="streams.cli.demo_deps:streamed",
            script_enabled=True,
            kafka_protocol="SSL",
            kafka_ca_file=str(kafka.ca_file),
            kafka_certificate_file=str(identity.certificate),
            kafka_key_file=str(identity.key),
        )

    roles: list[AclRole] = ["turns", "models", "tools"]
    with running([(role, settings(role)) for role in roles], tmp_path):
        callers = connection_of(settings("callers"), kafka.certificates)
        async with TurnClient(callers, NAMES) as client:
            await played(client, "certified")
    nobody = Settings(broker=kafka.certificates, kafka_protocol="SSL", kafka_ca_file=str(kafka.ca_file))
    with pytest.raises(BrokerUnreachableError):
        await TopicAdmin(connection_of(nobody, kafka.certificates, limit_s=2), NAMES).describe()


def token_of(name: str, lasts_s: float = 3600) -> str:
    """Return a token that is not signed, for brokers that take those in tests."""

    def part(fields: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=").decode()

    now = time.time()
    return f"{part({'alg': 'none'})}.{part({'sub': name, 'iat': now, 'exp': now + lasts_s})}."


async def test_workers_and_clients_log_in_with_oauth_tokens(kafka: SecuredKafka, tmp_path: Path) -> None:
    """Each from a file that is read whenever a connection is opened."""

    def settings(role: AclRole) -> Settings:
        file = tmp_path / f"{role}.token"
        file.write_text(token_of(role))
        return Settings(
            broker=kafka.bootstrap,
            prefix=PREFIX,
            deps="streams.cli.demo_deps:streamed",
            script_enabled=True,
            kafka_protocol="SASL_SSL",
            kafka_ca_file=str(kafka.ca_file),
            kafka_sasl_mechanism="OAUTHBEARER",
            kafka_token_file=str(file),
        )

    roles: list[AclRole] = ["turns", "models", "tools"]
    with running([(role, settings(role)) for role in roles], tmp_path):
        async with TurnClient(connection_of(settings("callers"), kafka.bootstrap), NAMES) as client:
            await played(client, "with-a-token")
    caller = settings("callers")
    (tmp_path / "callers.token").write_text(token_of("callers", lasts_s=-60))
    with pytest.raises(AccessDeniedError):
        await TopicAdmin(connection_of(caller, kafka.bootstrap, limit_s=2), NAMES).describe()
