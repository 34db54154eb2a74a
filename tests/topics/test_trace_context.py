"""W3C's trace context in headers: what is understood, and what is left alone."""

from __future__ import annotations

import pytest

from topics.trace_context import TraceContext, context_in, headers_in, kept_of

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"
KNOWN = TraceContext(TRACE, SPAN, sampled=True)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (PARENT, KNOWN),
        (f"00-{TRACE}-{SPAN}-00", TraceContext(TRACE, SPAN, sampled=False)),
        (f"00-{TRACE}-{SPAN}-03", KNOWN),
        (f"01-{TRACE}-{SPAN}-01-what-comes-later", KNOWN),
        (f"{PARENT} one=1,two=2", TraceContext(TRACE, SPAN, sampled=True, state="one=1,two=2")),
        (f"{PARENT} {'x' * 600}", KNOWN),
        (f"{PARENT} one=\u00fc", KNOWN),
        (f"{PARENT}-more", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        (f"01-{TRACE}-{SPAN}-01-{'x' * 300}", None),
        ("Bob asked this", None),
        ("", None),
    ],
)
def test_a_context_is_understood_or_it_is_none(said: str, meant: TraceContext | None) -> None:
    """What W3C does not allow begins no trace."""
    assert TraceContext.parse(said) == meant


def test_a_context_comes_back_from_text_and_from_headers() -> None:
    """With and without a state."""
    for context in (KNOWN, TraceContext(TRACE, SPAN, sampled=False, state="a=b")):
        assert TraceContext.parse(str(context)) == context
        assert context_in(context.headers) == context


@pytest.mark.parametrize(
    "headers",
    [
        None,
        (),
        (("traceparent", None),),
        (("traceparent", "text"),),
        (("traceparent", b"\xff\xfe"),),
        (("traceparent", PARENT.encode()), ("traceparent", PARENT.encode())),
        (("tracestate", b"a=b"),),
    ],
)
def test_headers_that_name_no_trace_are_none(headers: object) -> None:
    """Whoever may write a record may write anything there."""
    assert context_in(headers) is None  # type: ignore[arg-type]


def test_of_a_carrier_only_the_trace_is_taken() -> None:
    """Baggage can say anything about anybody."""
    carrier = {"traceparent": PARENT, "tracestate": "a=b", "baggage": "user=bob"}
    assert headers_in(carrier) == (("traceparent", PARENT.encode()), ("tracestate", b"a=b"))
    assert headers_in({"traceparent": "no"}) == ()
    assert headers_in({}) == ()


@pytest.mark.parametrize(
    "headers",
    [
        [("traceparent", PARENT.encode())],
        [("x", b"y" * 1_000_000), ("tracestate", b"a=b"), ("traceparent", PARENT.encode()), ("baggage", b"z" * 9_000)],
        [("traceparent", PARENT.encode())] * 5_000,
        [("tracestate", b"a=b")] * 5_000 + [("traceparent", PARENT.encode())],
        [("traceparent", PARENT.encode() + b"-" * 1_000_000)],
        [("traceparent", f"01{PARENT[2:]}-".encode() + b"x" * 1_000_000)],
        [("traceparent", PARENT.encode()), ("tracestate", b"a=" + b"b" * 1_000_000)],
        [("traceparent", b"\xff\xfe"), ("tracestate", None)],
        [("traceparent", None)],
        [],
    ],
)
def test_what_is_kept_of_headers_says_the_same_and_is_short(headers: list[tuple[str, bytes | None]]) -> None:
    """However many there are, and however long."""
    kept = kept_of(headers)
    assert context_in(kept) == context_in(headers)
    assert sum(len(name) + len(value) for name, value in kept) < 2_000
