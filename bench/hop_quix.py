"""What turngate is measured against: Quix Streams with a state per key, in RocksDB with a changelog, as it comes."""

from __future__ import annotations

import sys
import tempfile
from typing import Any

from quixstreams import Application, State


def count(frame: dict[str, Any], state: State) -> dict[str, Any]:
    """Keep a small state of the frame's key, and pass the frame on."""
    kept = state.get("kept", {"seq": -1, "chars": 0})
    state.set("kept", {"seq": frame["seq"], "chars": kept["chars"] + len(frame["text"])})
    return frame


def main() -> None:
    """Run until killed. Arguments: the broker's address, the source topic, the sink topic."""
    broker, source, sink = sys.argv[1:4]
    app = Application(
        broker_address=broker,
        consumer_group=f"{source}-hop",
        auto_offset_reset="earliest",
        state_dir=tempfile.mkdtemp(),
        loglevel="WARNING",
        auto_create_topics=True,
        consumer_extra_config={
            "session.timeout.ms": 6_000,
            "heartbeat.interval.ms": 1_000,
            "max.poll.interval.ms": 60_000,
            "fetch.wait.max.ms": 20,
        },
    )
    stream = app.dataframe(app.topic(source, value_deserializer="json", key_deserializer="bytes"))
    stream = stream.apply(count, stateful=True)
    stream.to_topic(app.topic(sink, value_serializer="json", key_serializer="bytes"))
    app.run()


if __name__ == "__main__":
    main()
