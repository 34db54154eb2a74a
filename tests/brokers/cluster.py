"""Three Apache Kafka nodes that hold every record together, so that one of them may be gone."""

from __future__ import annotations

import uuid
from pathlib import Path

from tests.brokers import kraft
from tests.brokers.apache import ApacheBroker, Place
from tests.brokers.broker import Broker


class ApacheCluster(Broker):
    """As many nodes as records have replicas. `node(0)` may be stopped and started like a broker of its own."""

    name = "apache x3"
    keeps_data = True

    def __init__(self, directory: Path) -> None:
        """Keep everything in folders of `directory`."""
        super().__init__(directory)
        self._nodes: list[ApacheBroker] = []
        for number in range(kraft.REPLICAS):
            own = directory / f"node-{number + 1}"
            own.mkdir()
            self._nodes.append(ApacheBroker(own))
        voters = tuple(node.controller for node in self._nodes)
        cluster_id = uuid.uuid4().hex[:22]
        for number, node in enumerate(self._nodes, 1):
            node.join(Place(number, voters, cluster_id))

    @property
    def bootstrap(self) -> str:
        """Addresses of all nodes, with commas between."""
        return ",".join(node.bootstrap for node in self._nodes)

    def node(self, number: int) -> ApacheBroker:
        """Return one node; they are counted from 0."""
        return self._nodes[number]

    def start(self) -> None:
        """Start all nodes; none can answer before most of them are there."""
        for node in self._nodes:
            node.launch()
        for node in self._nodes:
            node.wait()

    def stop(self) -> None:
        """Kill all nodes."""
        for node in self._nodes:
            node.stop()
