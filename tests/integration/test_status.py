"""Workers as processes say when they are ready, and what they did."""

from __future__ import annotations

import asyncio
import json
import re
import urllib.error
import urllib.request
from pathlib import Path

from streams.brokers import ports
from streams.metric_list import BY_NAME
from tests.brokers.broker import Broker
from tests.integration.pipeline import Pipeline

READY_S = 60.0
_SAMPLE = re.compile(r"^(turngate_\w+)(\{[^}]*\})? (\S+)$", re.MULTILINE)


def ask(port: int, path: str) -> tuple[int, str]:
    """Return what a process answers, as a code and a body; (0, "") where nobody listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()
    except OSError:
        return 0, ""


async def until_ready(port: int) -> list[int]:
    """Wait until a process is ready, and return the codes that it answered until then."""
    codes: list[int] = []
    async with asyncio.timeout(READY_S):
        while not codes or codes[-1] != 200:
            codes.append((await asyncio.to_thread(ask, port, "/ready"))[0])
            await asyncio.sleep(0.05)
    return codes


def samples(port: int) -> dict[str, float]:
    """Return the samples of a process's metrics, with their labels in their names."""
    return {f"{name}{labels}": float(value) for name, labels, value in _SAMPLE.findall(ask(port, "/metrics")[1])}


async def test_every_role_says_when_it_is_ready_and_what_it_did(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """A worker without partitions is ready too: it takes over when another one dies."""
    deps = "streams.cli.demo_deps:streamed"
    async with Pipeline(broker.bootstrap, prefix, tmp_path, deps, partitions=1) as pipeline:
        at = {name: ports.free_port() for name in ("turns", "spare", "models", "tools")}
        pipeline.start("turns", metrics_port=at["turns"])
        codes = await until_ready(at["turns"])
        assert set(codes) <= {0, 503, 200}
        pipeline.start("turns", metrics_port=at["spare"])
        for role in ("models", "tools"):
            pipeline.start(role, metrics_port=at[role])
        await asyncio.gather(*map(until_ready, at.values()))
        turn = await pipeline.submit("Whom?", "thread", ["Write to ", "bob@example.org", ", please."])
        await pipeline.read([turn])
        for name, port in at.items():
            assert json.loads(ask(port, "/live")[1]) == {"live": True}
            found = samples(port)
            assert found["turngate_ready"] == 1.0
            role = "turns" if name == "spare" else name
            mine = {metric.name for metric in BY_NAME.values() if role in metric.roles and not metric.labels}
            assert {one for one in mine if BY_NAME[one].kind != "histogram"} <= set(found)
        owner, other = samples(at["turns"]), samples(at["spare"])
        assert sorted([owner["turngate_owned_partitions"], other["turngate_owned_partitions"]]) == [0.0, 1.0]
        worked = owner if owner["turngate_owned_partitions"] else other
        assert worked['turngate_turns_total{outcome="completed"}'] == 1.0
        assert worked["turngate_first_release_seconds_count"] == 1.0
        assert worked["turngate_added_latency_seconds_count"] >= 1.0
        assert worked["turngate_released_characters_total"] == len("Write to [email], please.")
