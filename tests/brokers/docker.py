"""Apache Kafka from its own image, where a Docker engine answers."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path

from testcontainers.core.container import DockerContainer
from testcontainers.core.exceptions import ContainerStartException

from streams.brokers import ports
from tests.brokers import kraft
from tests.brokers.broker import POLL_S, Broker, BrokerError, answers

IMAGE = "apache/kafka:4.1.0"
CLIENT_PORT = 9092
CONTROLLER_PORT = 9093
# In a process of its own: the client leaves sockets open when nobody answers, and may hang when somebody odd does.
PING = "import docker; docker.from_env(timeout=3).ping()"
PING_LIMIT_S = 15
START_LIMIT_S = 120


def why_not() -> str | None:
    """Say that no Docker engine answers, if none does within some seconds; None when one does."""
    try:
        done = subprocess.run([sys.executable, "-c", PING], capture_output=True, check=False, timeout=PING_LIMIT_S)
    except subprocess.TimeoutExpired:
        return "the Docker engine does not answer"
    return None if done.returncode == 0 else "no Docker engine answers"


class DockerBroker(Broker):
    """A single node in a container whose client port is bound to the loopback address."""

    name = "docker"

    def __init__(self, directory: Path) -> None:
        """Log into `directory`; the data are in the container."""
        super().__init__(directory)
        self._container: DockerContainer | None = None

    def start(self) -> None:
        """Start a new container; raise `BrokerError` when it does not come up."""
        settings = kraft.properties(
            listen=f"0.0.0.0:{CLIENT_PORT}",
            controller=f"localhost:{CONTROLLER_PORT}",
            advertised=self.bootstrap,
        )
        container = DockerContainer(IMAGE).with_envs(**kraft.as_environment(settings))
        container.with_kwargs(ports={f"{CLIENT_PORT}/tcp": (ports.LOOPBACK, self.port)})
        self._container = container
        try:
            container.start()
            self._wait()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Remove the container and its data."""
        container, self._container = self._container, None
        if container is None:
            return
        with contextlib.suppress(ContainerStartException):  # it never came to have a log
            self.log.write_bytes(b"".join(container.get_logs()))
        container.stop()

    def _wait(self) -> None:
        end = time.monotonic() + START_LIMIT_S
        while not answers(self.bootstrap, self.port):
            if time.monotonic() > end:
                raise BrokerError(f"{IMAGE} did not answer within {START_LIMIT_S} s")
            time.sleep(POLL_S)
