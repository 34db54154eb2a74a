"""The whole pipeline on brokers that ask for TLS, a login and permission: with what `turngate topics acls` prints alone."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiokafka.errors import TopicAuthorizationFailedError
from aiokafka.protocol.fetch import FetchRequest

from streams.broker_access import connection_of
from streams.cli.work.demo_turns import TURNS
from streams.settings import Settings, environment
from tests.brokers.choice import Choice
from tests.brokers.secured import SecuredKafka, sockets_closed
from tests.conftest import CHOICE
from tests.integration.pipeline import READY_S, ROOT, Worker
from topics import names
from topics.acls import ACL_ROLES, AclRole, grants
from topics.admin import TopicAdmin
from topics.client import TurnClient
from topics.connection import Connection
from topics.errors import AccessDeniedError, BrokerUnreachableError, TopicLayoutError
from topics.names import RELEASED_FRAMES, TOPICS, Names

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
        await sockets_closed()

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
    assert TURN.is_right(view), (view.reply, view.terminal)


async def test_the_pipeline_runs_with_each_role_s_permissions(kafka: SecuredKafka, tmp_path: Path) -> None:
    """Every role a principal of its own, over TLS with SCRAM: a turn with a tool passes all of them, and two workers."""
    roles: list[AclRole] = ["turns", "turns", "models", "tools"]
    with running([(role, settings_of(kafka, role)) for role in roles], tmp_path) as workers:
        async with (
            TurnClient(connect(kafka, "callers"), NAMES) as client,
            TurnClient(connect(kafka, "readers"), NAMES) as reader,
        ):
            for number in range(4):
                await played(client, f"thread-{number}")
            ended = set()
            async with asyncio.timeout(READY_S), contextlib.aclosing(reader.follow_all(from_beginning=True)) as frames:
                async for frame in frames:
                    ended |= {frame.thread_id} if frame.kind == "completed" else set()
                    if len(ended) == 4:
                        break
            with pytest.raises(TopicLayoutError, match="may not see it"):
                await reader.submit("Hello?")
        operator = settings_of(kafka, "operator")
        erased = await asyncio.to_thread(command, operator, "erase", "--thread", "thread-0", "--json")
        assert erased.returncode == 0, erased.stderr
        summary = json.loads(erased.stdout.splitlines()[-1])
        assert (summary["silent"], summary["refused"], summary["runners"]) == (0, 0, ["models", "tools"])
        assert all(worker.alive for worker in workers)
        said = "".join(worker.log.read_text() for worker in workers)
    assert "Authorization" not in said
    for name in ACL_ROLES:
        assert kafka.passwords[name] not in said


async def refused_to_read(connection: Connection, topic: str) -> bool:
    """Ask a broker for the beginning of a topic, past all that a client would find out first; return whether it refuses."""
    async with connection.client() as client:
        asked = FetchRequest(100, 1, 1_000_000, 0, [(topic, [(0, 0, 1_000_000)])])
        answer = await client.send(client.get_random_node(), asked)
    ((_, ((_, code, *_),)),) = answer.topics
    assert code in {0, TopicAuthorizationFailedError.errno}
    return bool(code)


async def test_a_reader_can_read_what_is_released_and_nothing_else(kafka: SecuredKafka) -> None:
    """No topic that holds what no control has passed, and no journal; nor does it see that they exist."""
    readers, released = connect(kafka, "readers"), NAMES.topic(RELEASED_FRAMES)
    everything = [NAMES.topic(one) for one in TOPICS] + [NAMES.journal(one) for one in ("turns", "models", "tools")]
    refused = {topic for topic in everything if await refused_to_read(readers, topic)}
    assert refused == set(everything) - {released}
    assert set(await TopicAdmin(readers, NAMES).describe()) == {released}


async def test_what_nobody_has_judged_is_read_by_its_own_role_alone(kafka: SecuredKafka) -> None:
    """And by an operator who may send refused records again."""

    async def who_reads(topic: str) -> set[str]:
        return {role for role in ACL_ROLES if not await refused_to_read(connect(kafka, role), topic)}

    assert await who_reads(NAMES.topic(names.FRAMES)) == {"turns", "operator"}
    assert await who_reads(NAMES.topic(names.PROMPTS)) == {"models", "operator"}
    assert await who_reads(NAMES.topic(names.REQUESTS)) == {"turns", "operator"}
    assert await who_reads(NAMES.journal("turns")) == {"turns"}


@pytest.mark.parametrize("role", [role for role in ACL_ROLES if role != "turns"])
async def test_nobody_but_a_turn_worker_can_write_what_is_released(kafka: SecuredKafka, role: AclRole) -> None:
    """A forged frame is refused by the broker, whoever of the others writes it."""
    async with connect(kafka, role).producer() as producer:
        with pytest.raises(TopicAuthorizationFailedError):
            await producer.send_and_wait(NAMES.topic(RELEASED_FRAMES), b"{}", partition=0)


def test_commands_log_in_with_the_same_settings(kafka: SecuredKafka) -> None:
    """An operator checks topics; a password in a file does as well."""
    held = kafka.directory / "operator.password"
    held.write_text(kafka.passwords["operator"] + "\n")
    settings = settings_of(kafka, "operator", kafka_password=None, kafka_password_file=str(held))
    done = command(settings, "topics", "check")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_a_wrong_password_is_named_at_once_and_not_shown(kafka: SecuredKafka) -> None:
    """And so is a listener whose certificate nobody vouches for."""
    wrong = {"kafka_password": "not-the-password"}
    done = command(settings_of(kafka, "operator", **wrong), "topics", "check")
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
