"""`docker-compose.yml`: it is a compose file, runs everything with as few rights as it can, and its commands work."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from streams.brokers import ports
from streams.settings import Settings
from tests.architecture.sources import ROOT
from tests.brokers.apache import ApacheBroker
from tests.brokers.broker import Broker
from tests.deploy.compose import MissingVariableError, environment, load

NEEDED = {"GRAFANA_PASSWORD": "for tests"}
OURS = ("topics", "turns", "models", "tools", "gateway")
READY_S = 60.0
#: What a service may do that the others may not, and why.
MAY_WRITE_ITS_ROOT = {"kafka": "its start script writes its settings there"}


@pytest.fixture
def file() -> dict[str, Any]:
    """Give the file as it is where nothing is set but what must be."""
    return load(NEEDED)


def test_it_is_a_compose_file(file: Mapping[str, Any]) -> None:
    """By the specification's own schema."""
    place = distribution("check-jsonschema").locate_file("check_jsonschema/builtin_schemas/vendor/compose-spec.json")
    jsonschema.validate(file, json.loads(Path(str(place)).read_text(encoding="utf-8")))


def test_a_password_for_grafana_must_be_given() -> None:
    """There is none that everybody knows."""
    with pytest.raises(MissingVariableError, match="GRAFANA_PASSWORD"):
        load({})


def test_encryption_at_rest_is_a_file_on_top(file: Mapping[str, Any]) -> None:
    """It gives the keys, read-only, to every process of ours but the one that creates topics, and insists on a folder."""
    with pytest.raises(MissingVariableError, match="TURNGATE_KEY_RING_FOLDER"):
        load(NEEDED, ROOT / "docker-compose.at-rest.yml")
    on_top = load(NEEDED | {"TURNGATE_KEY_RING_FOLDER": "./keys"}, ROOT / "docker-compose.at-rest.yml")
    assert set(on_top["services"]) == set(OURS) - {"topics"} <= set(file["services"])
    for service in on_top["services"].values():
        assert service["volumes"] == ["./keys:/run/key-ring:ro"]
        assert service["environment"] == {"TURNGATE_KEY_RING": "/run/key-ring", "TURNGATE_KEY_RING_USE": "require"}
        assert {one.removeprefix("TURNGATE_").lower() for one in service["environment"]} <= set(Settings.model_fields)


def test_every_service_has_as_few_rights_as_it_can(file: Mapping[str, Any]) -> None:
    """No root, no capabilities, nothing to write but what is said; limits, and a limit to its logs."""
    for name, service in file["services"].items():
        assert service["user"].split(":")[0] not in {"0", "root"}, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service.get("read_only", False) != (name in MAY_WRITE_ITS_ROOT), name
        assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}, name
        assert service["logging"]["options"]["max-size"], name
        assert not service.get("privileged")


def test_every_service_but_the_one_that_ends_has_a_health_check(file: Mapping[str, Any]) -> None:
    """And whoever needs another waits for it."""
    services = file["services"]
    for name, service in services.items():
        assert service["healthcheck"].get("disable", False) == (name == "topics"), name
        for other, how in service.get("depends_on", {}).items():
            assert how["condition"] == ("service_completed_successfully" if other == "topics" else "service_healthy")
    assert services["turns"]["deploy"]["replicas"] == 2


def test_images_are_pinned_and_ports_are_this_machine_s(file: Mapping[str, Any]) -> None:
    """A tag that moves changes what runs; a published port is for a proxy to publish further."""
    for service in file["services"].values():
        _, _, tag = service["image"].partition(":")
        assert tag not in {"", "latest"}
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


def test_what_is_mounted_is_here_and_what_is_kept_is_declared(file: Mapping[str, Any]) -> None:
    """Docker would make an empty folder of a file that is missing."""
    for service in file["services"].values():
        for volume in service.get("volumes", ()):
            source, _, rest = volume.partition(":")
            if source.startswith("."):
                assert (ROOT / source).exists(), volume
                assert rest.endswith(":ro"), volume
            else:
                assert source in file["volumes"], volume


class Machine:
    """Stands in for the containers: every command of ours runs as it is written, with addresses of this machine."""

    def __init__(self, broker: Broker, prefix: str, directory: Path) -> None:
        self._directory = directory
        self.keys = directory / "gateway-keys.toml"
        self.variables = NEEDED | {
            "TURNGATE_BROKER": broker.bootstrap,
            "TURNGATE_PREFIX": prefix,
            "TURNGATE_DEPS": "examples.redact_emails:deps",
            "TURNGATE_SCRIPT_ENABLED": "true",
        }
        self.file = load(self.variables)
        self.gateway_port = ports.free_port()
        self.logs: list[Path] = []

    def environment(self, name: str, port: int) -> dict[str, str]:
        """Return a service's environment, with another port for its health."""
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("TURNGATE_")}
        own = environment(self.file["services"][name], self.variables)
        assert own["TURNGATE_METRICS_PORT"] == "9090"
        # Tools want a Deps that has some.
        deps = {"TURNGATE_DEPS": "examples.support_desk:deps"} if name == "tools" else {}
        return inherited | own | deps | {"TURNGATE_METRICS_PORT": str(port), "PYTHONPATH": str(ROOT)}

    def command(self, name: str) -> list[str]:
        """Return a service's command."""
        places = {"/run/secrets/gateway-keys": str(self.keys), "0.0.0.0": "127.0.0.1", "8800": str(self.gateway_port)}  # noqa: S104
        words: Sequence[str] = self.file["services"][name]["command"]
        return [sys.executable, "-m", "turngate", *(places.get(word, word) for word in words)]

    @contextmanager
    def running(self, name: str) -> Iterator[int]:
        """Run a service, and yield the port of its health."""
        port = ports.free_port()
        self.logs.append(self._directory / f"{name}-{port}.log")
        with self.logs[-1].open("wb") as log:
            process = subprocess.Popen(
                self.command(name), cwd=ROOT, env=self.environment(name, port), stdout=log, stderr=subprocess.STDOUT
            )
        try:
            yield port
            assert process.poll() is None, self.logs[-1].read_text()
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def healthy(self, name: str, port: int) -> bool:
        """Run a service's health check once."""
        kind, program, *words = self.file["services"][name]["healthcheck"]["test"]
        assert (kind, program) == ("CMD", "python")
        checked = [word.replace(":9090/", f":{port}/") for word in words]
        return subprocess.run([sys.executable, *checked], capture_output=True, check=False, timeout=10).returncode == 0

    def wait(self, name: str, port: int) -> None:
        """Return once a service is healthy."""
        end = time.monotonic() + READY_S
        while not self.healthy(name, port):
            assert time.monotonic() < end, "\n".join(log.read_text()[-2000:] for log in self.logs)
            time.sleep(0.2)


@pytest.mark.only_brokers("embedded", "apache")
async def test_every_command_works_and_together_they_answer(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """Topics are created, every role becomes healthy by its own check, and a turn goes through all of them and out."""
    await asyncio.to_thread(_through_everything, Machine(broker, prefix, tmp_path))


def _through_everything(machine: Machine) -> None:
    key = _key(machine)
    done = subprocess.run(
        machine.command("topics"),
        cwd=ROOT,
        env=machine.environment("topics", 1),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    with (
        machine.running("turns") as turns,
        machine.running("models") as models,
        machine.running("tools") as tools,
        machine.running("gateway") as gateway,
    ):
        for name, port in (("turns", turns), ("models", models), ("tools", tools), ("gateway", gateway)):
            machine.wait(name, port)
        assert _ask(machine, key, ["Write to ", "bob@exam", "ple.com, please."]) == "Write to [email], please."


def _key(machine: Machine) -> str:
    """Make a key as the file's first lines say."""
    done = subprocess.run(
        [sys.executable, "-m", "turngate", "keys", "create", "me", "--file", str(machine.keys), "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    made: dict[str, str] = json.loads(done.stdout)
    return made["key"]


def _ask(machine: Machine, key: str, script: Sequence[str]) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", machine.gateway_port, timeout=60)
    try:
        body = {"model": "script", "messages": [{"role": "user", "content": "Whom?"}], "script": script}
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        answer = json.loads(connection.getresponse().read())
        assert "choices" in answer, answer
        return str(answer["choices"][0]["message"]["content"])
    finally:
        connection.close()


@pytest.mark.only_brokers("apache")
def test_kafka_starts_with_the_settings_of_the_file(broker: Broker, tmp_path: Path) -> None:
    """The jars of the image's version, with each variable as the image turns it into a property."""

    class AsInTheFile(ApacheBroker):
        def _properties(self) -> dict[str, str]:
            found = load(NEEDED)["services"]["kafka"]["environment"]
            named = {name: value for name, value in found.items() if name.startswith("KAFKA_") and "HEAP" not in name}
            given = {name.removeprefix("KAFKA_").lower().replace("_", "."): value for name, value in named.items()}
            here = {
                "0.0.0.0:9092": self.bootstrap,
                "kafka:9092": self.bootstrap,
                "0.0.0.0:9093": self.controller,
                "kafka:9093": self.controller,
            }
            for there, mine in here.items():
                given = {name: value.replace(there, mine) for name, value in given.items()}
            assert given["process.roles"] == "broker,controller"
            return given

    assert broker.name == "apache"
    instance = AsInTheFile(tmp_path)
    try:
        instance.start()
    finally:
        instance.stop()
