"""Create, check and list the topics of a pipeline on a broker.

Topics are only ever listed all together: to ask for one by name brings it into being on brokers that create topics on
demand, the embedded one among them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiokafka import TopicPartition
from aiokafka.errors import IncompatibleBrokerVersion, KafkaError, UnsupportedVersionError, for_code
from aiokafka.protocol.admin import AlterConfigsRequest, CreateTopicsRequest, DescribeConfigsRequest
from aiokafka.protocol.metadata import MetadataRequest

from topics.errors import TopicLayoutError
from topics.layout import BROKER_DEFAULT, CORRECTABLE, Finding, TopicLayout, TopicState, findings, wanted_layout
from topics.names import REQUESTS, Names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from aiokafka.client import AIOKafkaClient

    from topics.connection import Connection

_TOPIC_RESOURCE = 2
_ALREADY_EXISTS = 36
#: Where a broker says that a configuration comes from.
_SET_ON_TOPIC = 1
_CORRECTED = frozenset({"retention.ms", "segment.ms", "max.compaction.lag.ms"})
_POLL_S = 0.1
_OTHER_PREFIX = (
    "Partitions and cleanup of a topic in use cannot be changed safely: choose another prefix (TURNGATE_PREFIX) for a "
    "new pipeline and drain the old one, or delete these topics if nothing in them is needed, then run "
    "`turngate topics create`."
)
_CREATE = "Run `turngate topics create`."


@dataclass(frozen=True, slots=True)
class TopicRow:
    """One topic of a pipeline as `list` shows it.

    `cleanup` and `retention_s` (seconds) are None where the broker does not tell. `records` counts the offsets in use,
    which is more than the records where a topic was compacted, and may be too low on the embedded broker, which reports
    the end of a partition as the start of its last batch.
    """

    name: str
    partitions: int
    cleanup: str | None
    retention_s: int | None
    records: int


@dataclass(frozen=True, slots=True)
class Creation:
    """What `create` did: the names of topics it `created`, of those that were `there`, and of which it `corrected`."""

    created: tuple[str, ...]
    there: tuple[str, ...]
    corrected: tuple[str, ...] = ()


class TopicAdmin:
    """The topics of the pipeline that `names` describes, on the broker that `connection` reaches.

    `retention_s` has, by short name, the seconds that topics keep records where that is not as in the table of topics.

    Each method opens its own connection and closes it. All of them raise `BrokerUnreachableError` when nobody answers.
    """

    def __init__(
        self, connection: Connection, names: Names | None = None, *, retention_s: Mapping[str, int] | None = None
    ) -> None:
        self._connection = connection
        self._names = names or Names()
        self._retention_s = dict(retention_s or {})

    async def create(self, partitions: int, replication: int = BROKER_DEFAULT) -> Creation:
        """Create what is missing of a pipeline with `partitions` partitions; does nothing where all is as it should be.

        Where a topic keeps its records for another time than it should, that is corrected.

        `replication` is the number of replicas of each new topic; the default leaves it to the broker's own default,
        which is 1 on a development machine and what the operator chose on a cluster. From 3 replicas on, writes need
        two in-sync ones.

        Raises:
            TopicLayoutError: topics exist with another layout (nothing is created then), or the broker refused some.
            ValueError: `partitions` or `replication` is out of range.
        """
        wanted = wanted_layout(self._names, partitions, replication, self._retention_s)
        async with self._connection.client() as client:
            existing = await self._describe(client)
            found = findings(wanted, existing)
            _refuse(f for f in found if f.kind != "missing" and f.kind not in CORRECTABLE)
            wrong = {f.topic for f in found if f.kind in CORRECTABLE}
            await self._correct(client, [one for one in wanted if one.name in wrong], existing)
            missing = [layout for layout in wanted if layout.name not in existing]
            created = await self._create(client, missing, replication)
            await self._await_leaders(client, missing)
            # A broker may take a moment to tell of what it was asked to correct.
            _refuse(f for f in findings(wanted, await self._describe(client)) if f.kind not in CORRECTABLE)
        there = [layout.name for layout in wanted if layout.name not in created]
        return Creation(
            created=tuple(layout.name for layout in wanted if layout.name in created),
            there=tuple(there),
            corrected=tuple(name for name in there if name in wrong),
        )

    async def check(self, partitions: int | None = None) -> list[Finding]:
        """Return what is missing or wrong, nothing if all is well; `partitions` of None is what `requests` has.

        Where the broker does not tell a topic's configuration, it is taken to be right.

        Raises:
            TopicLayoutError: `partitions` is None, and there is no `requests` to tell.
        """
        existing = await self.describe()
        if partitions is None:
            partitions = self._pipeline_partitions(existing)
        return findings(wanted_layout(self._names, partitions, retention_s=self._retention_s), existing)

    async def require(self) -> int:
        """Return the partition count of a pipeline whose topics are all there and right.

        Raises:
            TopicLayoutError: some are not; names each, and what to do.
        """
        existing = await self.describe()
        partitions = self._pipeline_partitions(existing)
        found = findings(wanted_layout(self._names, partitions), existing)
        # How long records are kept is between the operator and the broker.
        _refuse(finding for finding in found if finding.kind not in CORRECTABLE)
        return partitions

    async def pipeline_partitions(self) -> int:
        """Return the partition count that all turn topics of the pipeline share, as `requests` has it.

        Raises:
            TopicLayoutError: there is no `requests`.
        """
        return self._pipeline_partitions(await self.describe())

    async def describe(self) -> dict[str, TopicState]:
        """Return every topic that exists under the prefix, by name, whether a pipeline needs it or not."""
        async with self._connection.client() as client:
            return await self._describe(client)

    async def list(self) -> list[TopicRow]:
        """Return the topics that exist under the prefix and belong to a pipeline, in the order of the table of topics."""
        existing = await self.describe()
        known = [existing[layout.name] for layout in wanted_layout(self._names, 1) if layout.name in existing]
        places = [TopicPartition(state.name, number) for state in known for number in range(state.partitions)]
        records: dict[str, int] = {}
        if places:
            try:
                async with self._connection.consumer() as consumer:
                    ends = await consumer.end_offsets(places)
                    starts = await consumer.beginning_offsets(places)
            except KafkaError as error:
                raise self._connection.unreachable(type(error).__name__) from error
            for place in places:
                records[place.topic] = records.get(place.topic, 0) + max(0, ends[place] - starts[place])
        return [_row(state, records[state.name]) for state in known]

    def _pipeline_partitions(self, existing: dict[str, TopicState]) -> int:
        name = self._names.topic(REQUESTS)
        if name not in existing:
            raise TopicLayoutError(
                f"There is no topic {name} on {self._connection.bootstrap_servers}, so there is no pipeline with the "
                f"prefix {self._names.prefix!r}. {_CREATE} If it exists elsewhere, check --broker and TURNGATE_PREFIX."
            )
        return existing[name].partitions

    async def _describe(self, client: AIOKafkaClient) -> dict[str, TopicState]:
        """Return every topic under the prefix, by name."""
        metadata = (await self._ask(client, MetadataRequest(None))).to_object()
        counts = {
            str(topic["topic"]): len(topic["partitions"])
            for topic in metadata["topics"]
            if topic["topic"].startswith(self._names.prefix) and topic["partitions"]
        }
        configs: dict[str, dict[str, str]] = {}
        own: dict[str, frozenset[str]] = {}
        if counts:
            # All configs (None) of each: the embedded broker hangs up when asked for some by name.
            wish = [(_TOPIC_RESOURCE, name, None) for name in counts]
            answer = await self._ask(client, DescribeConfigsRequest(wish, include_synonyms=False))
            for resource in answer.to_object()["resources"]:
                if resource["error_code"] == 0:  # otherwise we may not know, for example for want of permission
                    entries = resource["config_entries"]
                    configs[resource["resource_name"]] = {e["config_names"]: e["config_value"] for e in entries}
                    set_here = (e["config_names"] for e in entries if e.get("config_source") == _SET_ON_TOPIC)
                    own[resource["resource_name"]] = frozenset(set_here)
        return {
            name: TopicState(name, count, configs.get(name, {}), own.get(name, frozenset()))
            for name, count in counts.items()
        }

    async def _correct(
        self, client: AIOKafkaClient, layouts: Sequence[TopicLayout], existing: Mapping[str, TopicState]
    ) -> None:
        """Give these topics their configuration back; what else is set on them stays."""
        for layout in layouts:
            state = existing[layout.name]
            # The request replaces all that is set on a topic, so that all of it is said again.
            others = {name: state.configs[name] for name in state.own}
            wish = [(_TOPIC_RESOURCE, layout.name, list((others | dict(layout.configs)).items()))]
            node, request = client.get_random_node(), AlterConfigsRequest(wish, validate_only=False)
            try:
                code = (await client.send(node, request)).to_object()["resources"][0]["error_code"]
            except IncompatibleBrokerVersion:  # the embedded broker
                code = UnsupportedVersionError.errno
            except (KafkaError, OSError) as error:
                raise self._connection.unreachable(type(error).__name__) from error
            if code:
                told = ",".join(f"{name}={value}" for name, value in layout.configs.items() if name in _CORRECTED)
                raise TopicLayoutError(
                    f"The broker did not change the configuration of {layout.name} ({for_code(code).__name__}). Permit it "
                    "(`turngate topics acls`), or run: kafka-configs.sh --alter --entity-type topics --entity-name "
                    f"{layout.name} --add-config {told}"
                )

    async def _create(self, client: AIOKafkaClient, layouts: Sequence[TopicLayout], replication: int) -> set[str]:
        """Return the names of those that were created; one that somebody else has just made is not among them."""
        if not layouts:
            return set()
        wish: list[tuple[str, int, int, Sequence[Any], Sequence[tuple[str, str]]]] = [
            (one.name, one.partitions, replication, [], list(one.configs.items())) for one in layouts
        ]
        request = CreateTopicsRequest(
            create_topic_requests=wish, timeout=int(self._connection.limit_s * 1000), validate_only=False
        )
        answer = await self._ask(client, request, controller=True)
        refused = [
            f"{name}: {message or for_code(code).__name__}"
            for name, code, message in answer.topic_errors
            if code not in {0, _ALREADY_EXISTS}
        ]
        if refused:
            raise TopicLayoutError(
                f"The broker did not create {len(refused)} of {len(layouts)} topics:\n  " + "\n  ".join(refused) + "\n"
                "Mend the cause (permissions, or a replication factor above the number of brokers) and run `turngate "
                "topics create` again; what was created stays."
            )
        return {name for name, code, _ in answer.topic_errors if code == 0}

    async def _await_leaders(self, client: AIOKafkaClient, layouts: Sequence[TopicLayout]) -> None:
        """Wait until each new topic can be written to; a cluster needs a moment to choose leaders."""
        waiting = {layout.name for layout in layouts}
        try:
            async with asyncio.timeout(self._connection.limit_s):
                while waiting:
                    metadata = (await self._ask(client, MetadataRequest(None))).to_object()
                    waiting -= {topic["topic"] for topic in metadata["topics"] if _has_leaders(topic)}
                    if waiting:
                        await asyncio.sleep(_POLL_S)
        except TimeoutError:
            raise TopicLayoutError(
                f"Created, but without a leader after {self._connection.limit_s:g} s: {', '.join(sorted(waiting))}. "
                "Look at the brokers' health, then run `turngate topics check`."
            ) from None

    async def _ask(self, client: AIOKafkaClient, request: Any, *, controller: bool = False) -> Any:
        """Return the answer of one broker, the controller where only that one may answer."""
        chosen = client.cluster.controller if controller else None
        node = client.get_random_node() if chosen is None else chosen.nodeId
        try:
            return await client.send(node, request)
        except (KafkaError, OSError) as error:
            raise self._connection.unreachable(type(error).__name__) from error


def _has_leaders(topic: dict[str, Any]) -> bool:
    return bool(topic["partitions"]) and all(one["leader"] >= 0 for one in topic["partitions"])


def _refuse(found: Iterable[Finding]) -> None:
    """Raise for `found`, if anything is."""
    found = list(found)
    if not found:
        return
    mend = _CREATE if all(finding.kind == "missing" for finding in found) else _OTHER_PREFIX
    lines = "\n  ".join(str(finding) for finding in found)
    raise TopicLayoutError(f"Topics are not laid out as turngate needs them:\n  {lines}\n{mend}")


def _row(state: TopicState, records: int) -> TopicRow:
    retention = state.configs.get("retention.ms") if state.cleanup != "compact" else None
    retention_s = int(retention) // 1000 if retention is not None and int(retention) >= 0 else None
    return TopicRow(state.name, state.partitions, state.cleanup, retention_s, records)
