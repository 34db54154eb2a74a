"""Settings of a single Apache Kafka node without ZooKeeper, the same whether it runs from jars or in a container."""

from __future__ import annotations


def properties(*, listen: str, controller: str, advertised: str) -> dict[str, str]:
    """Return broker settings by name. All three arguments are `host:port`."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": f"PLAINTEXT://{listen},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{advertised}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@{controller}",
        # One node holds every replica of the broker's own topics.
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
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
