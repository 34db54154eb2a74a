"""What turngate is measured against: agents of an unchanged Faust, one that forwards, one that also keeps a table."""

from __future__ import annotations

import sys
import tempfile
from typing import Any

import faust

_LIGHT: dict[str, Any] = {
    "store": "memory://",
    "web_enabled": False,
    "topic_allow_declare": False,
    "topic_disable_leader": True,
    "consumer_auto_offset_reset": "earliest",
    "broker_session_timeout": 6.0,
    "broker_rebalance_timeout": 6.0,
    "broker_heartbeat_interval": 1.0,
}


def main() -> None:
    """Run an agent until killed. Arguments: the broker's address, source topic, sink topic, partitions, `table` or not.

    With `table` there is to be a topic `SOURCE-hop-states-changelog`.
    """
    broker, source, sink, partitions, kind = sys.argv[1:6]
    app = faust.App(
        f"{source}-hop",
        broker=f"kafka://{broker}",
        datadir=tempfile.mkdtemp(),
        topic_partitions=int(partitions),
        **_LIGHT,
    )
    incoming = app.topic(source, value_type=bytes, value_serializer="raw", key_serializer="raw", key_type=bytes)
    outgoing = app.topic(sink, value_type=bytes, value_serializer="raw", key_serializer="raw", key_type=bytes)

    async def forward(stream: Any) -> None:
        async for key, value in stream.items():
            await outgoing.send(key=key, value=value)

    if kind == "table":
        _keep_table(app, source, sink, int(partitions))
    else:
        app.agent(incoming)(forward)
    sys.argv = ["faust", "worker", "-l", "warn", "--without-web"]
    app.main()


def _keep_table(app: Any, source: str, sink: str, partitions: int) -> None:
    """Add the agent that Faust's own guide would have one write: decode, keep a small state per key, send on."""
    incoming = app.topic(source, key_type=str, value_serializer="json")
    outgoing = app.topic(sink, key_type=str, value_serializer="json")
    states = app.Table("states", partitions=partitions)

    async def keep(stream: Any) -> None:
        async for key, frame in stream.items():
            state = states.get(key) or {"seq": -1, "chars": 0}
            states[key] = {"seq": frame["seq"], "chars": state["chars"] + len(frame["text"])}
            await outgoing.send(key=key, value=frame)

    app.agent(incoming)(keep)


if __name__ == "__main__":
    main()
