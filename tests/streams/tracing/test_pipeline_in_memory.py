"""One turn through all roles: which spans there are, what they say, and what they do not."""

from __future__ import annotations

import importlib
import json
import re
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from processors import Answer, Deps, Replace, output_processor, tool
from streams.tracing import spans as names_of_attributes
from tests.memory.simtime import simulate
from tests.streams.tracing.kept import Kept, attributes, id_of, parent_of, trace_of
from tests.streams.tracing.world import STEPPED_SCRIPT, Traced, headers_on
from tests.streams.turns.simulation import FRAMES, NAMES, PROMPTS, RELEASED, REQUESTS, TOOL_CALLS, TOOL_RESULTS
from topics import names
from topics.ids import TurnKey
from topics.trace_context import TraceContext, context_in

CALLER = TraceContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", sampled=True, state="us=1")
TURN = "invoke_agent default"
CONTENT = ("555-0123", "secret", "Bob", "bob", "hello", "thread-of-bob", "It is")


@output_processor(name="hide-digits", version="3")
def hide_digits(answer: Answer) -> Replace:
    """Hide a number."""
    return Replace(answer.text.replace("555-0123", "[number]"))


@tool()
async def echo(x: str) -> str:
    """Say it again."""
    return x


DEPS = Deps(output_processors=[hide_digits], tools=[echo])


def traced(spans: Kept | None, **fields: Any) -> Traced:
    """Return a pipeline through which one turn of Bob's has gone."""
    pipeline = Traced(DEPS, spans)
    asked: dict[str, Any] = {"script": STEPPED_SCRIPT, "headers": CALLER.headers, "thread_id": "thread-of-bob"}
    pipeline.asks(**{**asked, **fields})
    simulate(pipeline.run())
    return pipeline


@pytest.fixture(scope="module")
def kept() -> Kept:
    """Return the spans of that turn."""
    spans = Kept()
    traced(spans, user={"id": "bob"})
    return spans


def test_every_part_of_a_turn_is_a_span_under_the_turns_which_is_under_its_callers(kept: Kept) -> None:
    """Two model calls, the tool between them, and the chain on each answer."""
    turn = kept.named(TURN)
    assert parent_of(turn) == int(CALLER.span_id, 16)
    assert {trace_of(span) for span in kept.all} == {int(CALLER.trace_id, 16)}
    others = [span for span in kept.by_id.values() if span is not turn]
    assert {parent_of(span) for span in others} == {id_of(turn)}
    assert sorted(span.name for span in others) == [
        "chat acme-1",
        "chat acme-1",
        "execute_tool echo",
        "output hide-digits",
        "output hide-digits",
    ]
    assert len(kept.all) == len(kept.by_id) == 6


def test_spans_say_what_the_conventions_name(kept: Kept) -> None:
    """A model call, a tool call, and the turn as the call of an agent."""
    chats = sorted((span for span in kept.all if span.name == "chat acme-1"), key=lambda span: span.start_time or 0)
    assert [span.kind for span in chats] == [SpanKind.CLIENT] * 2
    said = attributes(chats[0])
    assert said.pop("gen_ai.response.time_to_first_chunk") >= 0
    assert said == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "acme",
        "gen_ai.request.model": "acme-1",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": 5,
        "gen_ai.usage.output_tokens": 3,
        "turngate.step": 0,
        "turngate.attempt": 0,
        "turngate.retry": False,
    }
    assert attributes(kept.named("execute_tool echo")) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "echo",
        "gen_ai.tool.type": "function",
        "turngate.outcome": "answered",
        "turngate.step": 0,
        "turngate.attempt": 0,
    }
    turn = kept.named(TURN)
    said = attributes(turn)
    assert len(said.pop("gen_ai.conversation.id")) == 16
    assert said == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "default",
        "turngate.outcome": "completed",
        "turngate.delivery": "stream",
        "turngate.step": 1,
    }
    assert (turn.kind, turn.status.status_code) == (SpanKind.CONSUMER, StatusCode.UNSET)


def test_a_processors_span_says_its_version_and_verdict(kept: Kept) -> None:
    """And lies within the turn's."""
    turn = kept.named(TURN)
    for step, span in enumerate(span for span in kept.all if span.name == "output hide-digits"):
        assert attributes(span) == {
            "turngate.phase": "output",
            "turngate.processor.name": "hide-digits",
            "turngate.processor.version": "3",
            "turngate.processor.verdict": "replace",
            "turngate.processor.changes": 1,
            "turngate.step": step,
            "turngate.attempt": 0,
        }
        assert (turn.end_time or 0) >= (span.end_time or 0) >= (span.start_time or 0)


def test_no_span_says_anything_that_was_said(kept: Kept) -> None:
    """Neither words nor ids of people."""
    everything = json.dumps([json.loads(span.to_json()) for span in kept.all])
    assert {word for word in CONTENT if word in everything} == set()
    assert "invoke_agent" in everything


def test_the_names_are_those_of_the_conventions() -> None:
    """The package has them, in a module that is not stable: hence not imported by what runs."""
    known: set[str] = set()
    for area in ("gen_ai", "error"):
        module = importlib.import_module(f"opentelemetry.semconv._incubating.attributes.{area}_attributes")
        known |= {value for name, value in vars(module).items() if name.isupper() and isinstance(value, str)}
    assert known >= names_of_attributes.CONVENTIONAL


def test_the_context_travels_in_headers_to_every_topic() -> None:
    """What the turn worker writes is the turn's, what runners write is their call's."""
    spans = Kept()
    pipeline = traced(spans)
    turn, tool_call = spans.named(TURN), spans.named("execute_tool echo")
    chats = [span for span in spans.all if span.name == "chat acme-1"]
    expected: dict[str, list[ReadableSpan]] = {
        PROMPTS: [turn],
        TOOL_CALLS: [turn],
        RELEASED: [turn],
        NAMES.topic(names.USAGE): [turn],
        NAMES.topic(names.DECISIONS): [turn],
        FRAMES: chats,
        TOOL_RESULTS: [tool_call],
    }
    for topic, ones in expected.items():
        contexts = [context_in(headers) for headers in headers_on(pipeline, topic)]
        assert contexts, topic
        assert {one.span_id for one in contexts if one} == {f"{id_of(span):016x}" for span in ones}, topic
        assert {(one.trace_id, one.sampled, one.state) for one in contexts if one} == {(CALLER.trace_id, True, "us=1")}
    assert [context_in(headers) for headers in headers_on(pipeline, REQUESTS)] == [CALLER]


def test_without_a_caller_a_turn_begins_a_trace_of_its_own() -> None:
    """Its id follows from the turn, and the turn's span is its root."""
    spans = Kept()
    traced(spans, headers=())
    turn = spans.named(TURN)
    assert parent_of(turn) is None
    assert len(spans.by_id) == 6
    assert len({trace_of(span) for span in spans.all}) == 1


def test_a_trace_that_its_caller_does_not_record_is_passed_on_and_not_told() -> None:
    """Whoever began it has decided that."""
    spans = Kept()
    pipeline = traced(spans, headers=TraceContext(CALLER.trace_id, CALLER.span_id, sampled=False).headers)
    assert spans.all == []
    contexts = [context_in(headers) for headers in headers_on(pipeline, FRAMES)]
    assert {(one.trace_id, one.sampled) for one in contexts if one} == {(CALLER.trace_id, False)}


def test_the_operators_sampler_decides_about_traces_that_begin_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """By OpenTelemetry's own variable."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0")
    spans = Kept()
    pipeline = traced(spans, headers=())
    assert spans.all == []
    assert all(context_in(headers) for headers in headers_on(pipeline, RELEASED))


def test_without_tracing_nothing_has_headers_and_the_journal_says_nothing_of_it() -> None:
    """Not even when callers send some: what runs is what ran before there were traces."""
    off, bare = traced(None), traced(None, headers=())
    for (topic, partition), log in off.broker.logs.items():
        if topic == REQUESTS:
            continue
        assert not any(one.headers for one in log.records), topic
        others = bare.broker.logs[topic, partition].records
        assert [timeless(one.value) for one in log.records] == [timeless(one.value) for one in others], topic
    assert not any(b"traceparent" in value or CALLER.trace_id.encode() in value for value in everything(off))


def test_a_journal_of_traced_turns_without_callers_traces_is_that_of_untraced_ones() -> None:
    """Only a caller's context must be remembered: the rest follows from the turn."""
    with_spans = traced(Kept(), headers=())
    assert not any(b'"trace":' in value for value in with_spans.broker.values(NAMES.journal("turns")))
    accepted = [one.value for one in traced(Kept()).broker.read(NAMES.journal("turns")) if one.value]
    assert any(b'"trace":"' in value and CALLER.trace_id.encode() in value and b'"v":3' in value for value in accepted)


def timeless(value: bytes | None) -> bytes:
    """Return a value without what says how long a processor took."""
    return re.sub(rb'"time_ms":[0-9.e-]+', b"", value or b"")


def everything(pipeline: Traced) -> list[bytes]:
    """Return all values but those that callers wrote."""
    return [
        one.value
        for (topic, _), log in pipeline.broker.logs.items()
        if topic != REQUESTS
        for one in log.records
        if one.value is not None
    ]


def test_a_conversation_is_told_from_another_one_and_not_by_its_name() -> None:
    """Threads of the same name of two tenants are two."""
    one, other = TurnKey("a", "b", "c"), TurnKey("a/b", "", "c")
    assert names_of_attributes.conversation_of(one.thread) != names_of_attributes.conversation_of(other.thread)
    assert one.thread_id != names_of_attributes.conversation_of(one.thread)
