"""What turngate is measured against: a Faust agent that forwards every record, and does nothing else."""

from __future__ import annotations

import sys
import tempfile
from typing import Any

import faust


def main() -> None:
    """Run the agent until killed. Arguments: the broker's address, the source topic, the sink topic, partitions."""
    broker, source, sink, partitions = sys.argv[1:5]
    app = faust.App(
        f"{source}-forwarder",
        broker=f"kafka://{broker}",
        store="memory://",
        datadir=tempfile.mkdtemp(),
        web_enabled=False,
        topic_partitions=int(partitions),
        topic_allow_declare=False,
        topic_disable_leader=True,
        consumer_auto_offset_reset="earliest",
        broker_session_timeout=6.0,
        broker_rebalance_timeout=6.0,
        broker_heartbeat_interval=1.0,
    )
    incoming = app.topic(source, value_type=bytes, value_serializer="raw", key_serializer="raw", key_type=bytes)
    outgoing = app.topic(sink, value_type=bytes, value_serializer="raw", key_serializer="raw", key_type=bytes)

    async def forward(stream: Any) -> None:
        async for key, value in stream.items():
            await outgoing.send(key=key, value=value)

    app.agent(incoming)(forward)
    sys.argv = ["faust", "worker", "-l", "info", "--without-web"]
    app.main()


if __name__ == "__main__":
    main()
