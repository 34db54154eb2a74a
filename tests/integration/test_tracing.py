"""One turn through real processes is one trace, from the HTTP request to the tool, and says nothing of what was said."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiokafka import TopicPartition

from tests.brokers.broker import Broker
from tests.integration.otlp_receiver import Received, receiving
from tests.integration.pipeline import Pipeline
from tests.streams.gateway.server import serving
from topics import names
from topics.client import TurnClient
from topics.ids import TurnKey
from topics.names import Topic
from topics.trace_context import TraceContext, context_in

DEPS = "tests.integration.desk_deps:deps"
SCRIPT = (
    {"step": 0, "text": "I look it up. "},
    {
        "step": 0,
        "tool_call_delta": {
            "index": 0,
            "id": "c-anna",
            "name": "account_of",
            "arguments": json.dumps({"name": "anna"}),
        },
    },
    {"step": 0, "finish_reason": "tool_calls", "usage": {"prompt_tokens": 10, "completion_tokens": 5}},
    {"step": 1, "text": "Anna is anna@example.com"},
    {"step": 1, "finish_reason": "stop", "usage": {"prompt_tokens": 20, "completion_tokens": 6}},
)
#: What was said, by whom, and where: none of it is anybody's business who looks at traces.
UNSAID = ("anna", "Anna", "123456", "example.com", "look it up", "help desk", "thread-7", "turn-7", "your desk")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have spans sent soon after they end."""
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    for name in ("OTEL_TRACES_EXPORTER", "OTEL_SDK_DISABLED", "OTEL_TRACES_SAMPLER"):
        monkeypatch.delenv(name, raising=False)


async def contexts(pipeline: Pipeline, topic: Topic, turn: TurnKey) -> list[TraceContext | None]:
    """Return the trace contexts of a thread's records on a topic."""
    async with pipeline.connection.consumer() as consumer:
        place = TopicPartition(pipeline.names.topic(topic), turn.thread.partition(pipeline.client.partitions))
        consumer.assign([place])
        await consumer.seek_to_beginning()
        found = (await consumer.getmany(timeout_ms=3_000)).get(place, [])
    return [context_in(record.headers) for record in found if record.key == turn.thread.encode()]


async def test_a_turn_over_http_is_one_trace_through_all_roles(
    broker: Broker, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client's span above all of it, and none of its words in what is exported."""
    caller = TraceContext(secrets.token_hex(16), secrets.token_hex(8), sampled=True)
    with receiving() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint)
        settings: dict[str, Any] = {"partitions": 1, "traces": True}
        async with Pipeline(broker.bootstrap, prefix, tmp_path, DEPS, processor_workers=1, **settings) as pipeline:
            for role in ("turns", "models", "tools"):
                pipeline.start(role)
            probe = await pipeline.submit("probe", "probe", ["ready"], agent="desk")
            await pipeline.read([probe])
            async with serving(broker.bootstrap, prefix, **settings) as gateway:
                body = {"thread_id": "thread-7", "turn_id": "turn-7", "agent": "desk", "message": "Who is anna?"}
                asked = await gateway.http.post(
                    "/v1/turns", json={**body, "params": {"script": SCRIPT}}, headers={"traceparent": caller.parent}
                )
                assert asked.status_code == httpx.codes.ACCEPTED, asked.text
                (*_, last) = await gateway.events(asked.json()["id"])
                assert last.data["reply"] == "I look it up. Anna is [email]"
            turn = TurnKey("default", "thread-7", "turn-7")
            travelled = {
                topic: await contexts(pipeline, topic, turn)
                for topic in (names.REQUESTS, names.PROMPTS, names.FRAMES, names.TOOL_RESULTS, names.RELEASED_FRAMES)
            }
        spans = receiver.spans(caller.trace_id)
        exported = b"".join(receiver.bodies)
    assert_one_trace(spans, caller)
    for topic, found in travelled.items():
        assert found, topic.name
        assert {one.trace_id for one in found if one is not None} == {caller.trace_id}, topic.name
        assert None not in found, topic.name
    assert {word for word in UNSAID if word.encode() in exported} == set()


def assert_one_trace(spans: list[Received], caller: TraceContext) -> None:
    """Check who told what, and what lies under what."""
    by_name: dict[str, list[Received]] = {}
    for span in spans:
        by_name.setdefault(span.name, []).append(span)
    told = {(span.service, span.name) for span in spans}
    assert told == {
        ("turngate-gateway", "POST /v1/turns"),
        ("turngate-turns", "invoke_agent desk"),
        ("turngate-turns", "governance no-shouting"),
        ("turngate-turns", "governance nothing-is-closed"),
        ("turngate-turns", "input mask-numbers"),
        ("turngate-turns", "output redact-emails"),
        ("turngate-turns", "post footer"),
        ("turngate-models", "chat script"),
        ("turngate-tools", "execute_tool account_of"),
    }
    (request,), (turn,) = by_name["POST /v1/turns"], by_name["invoke_agent desk"]
    assert request.parent_id == caller.span_id
    assert turn.parent_id == request.span_id
    assert {span.parent_id for span in spans if span not in (request, turn)} == {turn.span_id}
    assert len({span.span_id for span in spans}) == len(spans)
    assert [says(span, "gen_ai.usage.output_tokens") for span in sorted(by_name["chat script"], key=step_of)] == [5, 6]
    assert request.attributes["http.response.status_code"] == httpx.codes.ACCEPTED
    assert not any(span.failed for span in spans)


def says(span: Received, name: str) -> Any:
    """Return what a span says under a name."""
    return span.attributes[name]


def step_of(span: Received) -> int:
    """Return which step of its turn a span is about."""
    return int(span.attributes["turngate.step"])


async def test_a_client_hands_on_the_context_of_its_caller(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """By whatever fills in a carrier; without traces in the pipeline it stays on the request."""
    caller = TraceContext(secrets.token_hex(16), secrets.token_hex(8), sampled=True)
    async with Pipeline(broker.bootstrap, prefix, tmp_path, partitions=1) as pipeline:
        pipeline.start("turns")
        pipeline.start("models")
        await pipeline.ready()

        def inject(carrier: Any) -> None:
            carrier.update(traceparent=caller.parent, baggage="who=anna")

        async with TurnClient(pipeline.connection, pipeline.names, inject=inject) as client:
            turn = await client.submit("Hello", thread_id="thread", params={"script": ["Hi."]})
            await pipeline.read([turn])
        assert await contexts(pipeline, names.REQUESTS, turn) == [caller]
        for topic in (names.PROMPTS, names.FRAMES, names.RELEASED_FRAMES):
            assert set(await contexts(pipeline, topic, turn)) == {None}, topic.name
