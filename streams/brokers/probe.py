"""Ask a broker who it is."""

from __future__ import annotations

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

ANSWER_LIMIT_MS = 2_000


async def cluster_id(bootstrap: str) -> str | None:
    """Return the id of the cluster that answers a metadata request at `bootstrap` (`host:port`).

    None when nobody answers within two seconds. The client logs an error for each refused connection, so look first
    whether the port is open.
    """
    client = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=ANSWER_LIMIT_MS)
    try:
        await client.start()
        answer = await client.describe_cluster()
    except (KafkaError, OSError):
        return None
    finally:
        await client.close()
    return str(answer["cluster_id"])
