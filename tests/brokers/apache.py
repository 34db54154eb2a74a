"""A real Apache Kafka, started from its jars: those of `KAFKA_HOME`, or fetched once with Maven."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from streams.brokers import ports
from streams.brokers.leashed import LeashedProcess
from tests.brokers import kraft
from tests.brokers.broker import POLL_S, Broker, BrokerError, answers, tail

HERE = Path(__file__).parent
POM = HERE / "pom.xml"
CACHE = HERE.parent.parent / ".cache" / "kafka"
OLDEST_JAVA = 17
FETCH_LIMIT_S = 900
START_LIMIT_S = 60
# A small heap, and start-up before peak speed: the broker lives for one test run beside it on the same machine.
JVM = ("-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
LOGGING = """\
status=error
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d{ISO8601} %p %m (%c)%n
rootLogger.level=warn
rootLogger.appenderRef.console.ref=console
logger.kafka.name=kafka
logger.kafka.level=info
"""


def why_not() -> str | None:
    """Say what this machine lacks to run Apache Kafka; None when it can."""
    java = shutil.which("java")
    if java is None:
        return f"there is no java on the PATH (it takes {OLDEST_JAVA} or later)"
    version = _java_version(java)
    if version < OLDEST_JAVA:
        return f"java is version {version}, and Apache Kafka 4 takes {OLDEST_JAVA} or later"
    home = os.environ.get("KAFKA_HOME")
    if home:
        return None if any(Path(home, "libs").glob("kafka*.jar")) else f"KAFKA_HOME={home} has no libs/kafka*.jar"
    if shutil.which("mvn") is None and not _cached_jars():
        return "neither KAFKA_HOME is set nor is mvn on the PATH to fetch the jars with"
    return None


@dataclass(frozen=True, slots=True)
class Place:
    """Which `node` of which cluster a broker is; `voters` are the controllers of all nodes, as `host:port`."""

    node: int
    voters: tuple[str, ...]
    cluster_id: str


class ApacheBroker(Broker):
    """A single node that is broker and controller at once; its data lives as long as the test run."""

    name = "apache"
    keeps_data = True

    def __init__(self, directory: Path) -> None:
        """Keep data, settings and log in `directory`."""
        super().__init__(directory)
        self.controller = f"{ports.LOOPBACK}:{ports.free_port()}"
        self._place = Place(node=1, voters=(self.controller,), cluster_id=uuid.uuid4().hex[:22])
        self._process: LeashedProcess | None = None

    def join(self, place: Place) -> None:
        """Make it a node of a cluster; before its first start."""
        self._place = place

    def launch(self) -> None:
        """Start its process, on the data it had if it ran before, and do not wait until it answers."""
        command = self._java(_classpath())
        if not self._settings.exists():
            self._format(command)
        self._process = LeashedProcess([*command, "kafka.Kafka", str(self._settings)], log=self.log)

    def start(self) -> None:
        """Start it, on the data it had if it ran before; raise `BrokerError` when it does not come up."""
        self.launch()
        self.wait()

    def wait(self) -> None:
        """Return when it answers; raise `BrokerError` when it does not come up."""
        if self._process is None:
            raise BrokerError("this broker was not started")
        end = time.monotonic() + START_LIMIT_S
        while not self._answers():
            if self._process.exit_status is not None or time.monotonic() > end:
                self.stop()
                raise BrokerError(f"Apache Kafka did not start:\n{tail(self.log)}")
            time.sleep(POLL_S)

    def stop(self) -> None:
        """Kill it; what it had acknowledged is with the operating system, and there when it starts again."""
        process, self._process = self._process, None
        if process is not None:
            process.stop()

    def _answers(self) -> bool:
        return answers(self.bootstrap, self.port)

    def _properties(self) -> dict[str, str]:
        """Return its settings by name, all but where its data is."""
        return kraft.properties(
            listen=self.bootstrap,
            controller=self.controller,
            advertised=self.bootstrap,
            node=self._place.node,
            voters=self._place.voters,
        )

    def _format_options(self) -> list[str]:
        """Return what else the storage is formatted with."""
        return []

    @property
    def _settings(self) -> Path:
        return self.directory / "server.properties"

    def _java(self, classpath: str) -> list[str]:
        logging = self.directory / "log4j2.properties"
        logging.write_text(LOGGING, encoding="utf-8")
        return ["java", *JVM, f"-Dlog4j2.configurationFile={logging}", "-cp", classpath]

    def _format(self, command: list[str]) -> None:
        settings = self._properties() | {"log.dirs": str(self.directory / "data")}
        draft = self._settings.with_suffix(".draft")
        draft.write_text(kraft.as_file(settings), encoding="utf-8")
        options = self._format_options()
        done = subprocess.run(
            [*command, "kafka.tools.StorageTool", "format", "-t", self._place.cluster_id, "-c", str(draft), *options],
            capture_output=True,
            text=True,
            check=False,
            timeout=START_LIMIT_S,
        )
        if done.returncode != 0:
            raise BrokerError(f"Apache Kafka's storage could not be formatted:\n{done.stdout}{done.stderr}")
        draft.rename(self._settings)


def _java_version(java: str) -> int:
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=30)
    found = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return int(found.group(1)) if found else 0


def _classpath() -> str:
    home = os.environ.get("KAFKA_HOME")
    if home:
        return f"{Path(home, 'libs')}/*"
    if not _cached_jars():
        _fetch()
    return f"{_jar_folder()}/*"


def _jar_folder() -> Path:
    """Jars of another version of the pom must not be mistaken for those of this one: its text is in the name."""
    return CACHE / uuid.uuid5(uuid.NAMESPACE_OID, POM.read_text(encoding="utf-8")).hex[:12]


def _cached_jars() -> bool:
    return _jar_folder().is_dir()


def _fetch() -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    draft = CACHE / f"fetching-{os.getpid()}"
    done = subprocess.run(
        ["mvn", "-B", "-q", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={draft}"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
        timeout=FETCH_LIMIT_S,
    )
    if done.returncode != 0:
        shutil.rmtree(draft, ignore_errors=True)
        raise BrokerError(
            "Maven could not fetch Apache Kafka. Set KAFKA_HOME to an unpacked Kafka, or leave this broker out with "
            f"TURNGATE_TEST_BROKERS=embedded. Maven said:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    draft.rename(_jar_folder())
