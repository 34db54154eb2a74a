"""Settings of an Apache Kafka node without ZooKeeper, the same whether it runs from jars or in a container."""

from __future__ import annotations

from collections.abc import Sequence

#: With three nodes an acknowledged record is on two of them, and one may be gone.
REPLICAS = 3
IN_SYNC = 2


def properties(
    *, listen: str, controller: str, advertised: str, node: int = 1, voters: Sequence[str] = ()
) -> dict[str, str]:
    """Return broker settings by name. `listen`, `controller` and `advertised` are `host:port`.

    In a cluster, `voters` are the controllers of all its nodes, the first one that of node 1.
    """
    voters = voters or [controller]
    replicas, in_sync = (REPLICAS, IN_SYNC) if len(voters) >= REPLICAS else (1, 1)
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "listeners": f"PLAINTEXT://{listen},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{advertised}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": ",".join(f"{number}@{voter}" for number, voter in enumerate(voters, 1)),
        # The brokers' own topics; a single node holds every replica.
        "offsets.topic.replication.factor": str(replicas),
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync),
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": str(in_sync),
        # Tests form groups all the time, and nobody else is going to join.
        "group.initial.rebalance.delay.ms": "0",
        # A node that was killed cannot register again until its last session has run out (9 s unless told).
        "broker.heartbeat.interval.ms": "500",
        "broker.session.timeout.ms": "4000",
        # A forgotten topic must be an error here, as it is in production.
        "auto.create.topics.enable": "false",
        # The log cleaner looks for work every 15 s unless told, and some tests wait for it.
        "log.cleaner.backoff.ms": "500",
        # Hundreds of small topics in one run: keep the preallocated index files small.
        "log.index.size.max.bytes": "1048576",
    }


def as_file(settings: dict[str, str]) -> str:
    """Return the settings as the text of a `server.properties`."""
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def as_environment(settings: dict[str, str]) -> dict[str, str]:
    """Return the settings as the variables that the `apache/kafka` image reads."""
    return {"KAFKA_" + name.upper().replace(".", "_"): value for name, value in settings.items()}
