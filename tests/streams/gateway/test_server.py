"""The gateway as a server: who may do what, and what a client can do to it."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
import uuid
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import httpx
import pytest

from streams.brokers import ports
from streams.gateway import serve
from streams.gateway.ids import public_id, turn_of
from streams.gateway.keys import KeySettings, hash_of
from streams.settings import Settings, SettingsError
from tests.brokers.broker import Broker
from tests.streams.gateway.server import LIMIT_S, Served, Worker, answer, serving, text_of
from topics import codec, names
from topics.connection import Connection
from topics.ids import TurnKey
from topics.names import REQUEST, Names
from topics.records import CancelTurn, CompletedFrame, TextFrame, TurnRequest

pytestmark = pytest.mark.only_brokers("embedded")

WORDS = "xylophone"
ACME, ACME_USER, GLOBEX = "tg_acme", "tg_acme_user", "tg_globex"
KEYS = {
    "acme": KeySettings(sha256=hash_of(ACME), tenant="acme"),
    "acme-user": KeySettings(sha256=hash_of(ACME_USER), tenant="acme", user="u-1"),
    "globex": KeySettings(sha256=hash_of(GLOBEX), tenant="globex"),
}


def bearer(key: str) -> dict[str, str]:
    """Return the header that a key goes in."""
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
async def served(broker: Broker, prefix: str) -> AsyncIterator[Served]:
    """Give a gateway with three keys."""
    async with serving(broker.bootstrap, prefix, gateway_keys=KEYS) as running:
        yield running


async def requests(broker: Broker, prefix: str) -> list[TurnRequest | CancelTurn]:
    """Return what is on `requests`."""
    found: list[TurnRequest | CancelTurn] = []
    async with Connection(broker.bootstrap).consumer() as consumer:
        consumer.subscribe([Names(prefix).topic(names.REQUESTS)])
        for _ in range(5):
            for records in (await consumer.getmany(timeout_ms=200)).values():
                found += [codec.decode(record.value, REQUEST) for record in records]
    return found


async def test_without_a_key_of_its_own_nobody_gets_in(served: Served) -> None:
    """Not to anything that tells of turns; and what is wrong is said as OpenAI's clients expect it."""
    for method, path in (
        ("POST", "/v1/turns"),
        ("GET", "/v1/turns"),
        ("GET", "/v1/turns/t_YS9i"),
        ("GET", "/v1/turns/t_YS9i/events"),
        ("DELETE", "/v1/turns/t_YS9i"),
        ("GET", "/v1/processors"),
        ("GET", "/v1/models"),
        ("POST", "/v1/chat/completions"),
    ):
        for headers in ({}, bearer("tg_acm"), {"Authorization": f"Basic {ACME}"}, bearer(hash_of(ACME))):
            answered = await served.http.request(method, path, headers=headers, json={"message": "x"})
            assert answered.status_code == httpx.codes.UNAUTHORIZED, (method, path)
            assert answered.json()["error"]["code"] == "invalid_api_key"
    assert (await served.http.get("/live")).json() == {"ok": True}
    assert (await served.http.get("/ready")).json() == {"ok": True}


async def test_a_key_sets_the_tenant_and_the_user(served: Served, broker: Broker, prefix: str) -> None:
    """Whatever the body says of them."""
    body = {"message": "hi", "thread_id": "t", "turn_id": "one", "user": {"id": "u-9", "plan": "gold"}}
    first = await served.http.post("/v1/turns", json=body, headers=bearer(ACME))
    again = await served.http.post("/v1/turns", json=body, headers=bearer(ACME))
    assert (first.status_code, first.json()) == (httpx.codes.ACCEPTED, again.json())
    assert turn_of("acme", first.json()["id"]) == TurnKey("acme", "t", "one")
    refused = await served.http.post("/v1/turns", json={**body, "tenant": "globex"}, headers=bearer(ACME))
    assert (refused.status_code, refused.json()["error"]["param"]) == (422, "tenant")
    await served.http.post("/v1/turns", json={**body, "thread_id": "u"}, headers=bearer(ACME_USER))
    await served.http.post("/v1/turns", json={**body, "thread_id": "g"}, headers=bearer(GLOBEX))
    asked = {one.thread_id: one for one in await requests(broker, prefix) if isinstance(one, TurnRequest)}
    assert {thread: one.tenant for thread, one in asked.items()} == {"t": "acme", "u": "acme", "g": "globex"}
    users = {thread: one.user.model_dump() for thread, one in asked.items() if one.user is not None}
    assert users == {
        "t": {"id": "u-9", "plan": "gold"},
        "u": {"id": "u-1", "plan": "gold"},
        "g": {"id": "u-9", "plan": "gold"},
    }


async def test_a_reader_sees_its_own_tenants_turns_alone(served: Served, broker: Broker, prefix: str) -> None:
    """Another tenant's turn looks like one that does not exist, also with its right id and position."""
    turn = TurnKey("acme", "t", uuid.uuid4().hex)
    await Worker(broker.bootstrap, prefix, served.settings.partitions).release(*answer(turn, [WORDS]))
    events = await served.events(public_id(turn), headers=bearer(ACME))
    assert text_of(events) == WORDS
    path = f"/v1/turns/{public_id(turn)}"
    foreign = await served.http.get(path, headers=bearer(GLOBEX))
    nothing = await served.http.get(f"/v1/turns/{public_id(turn._replace(turn_id='none'))}", headers=bearer(GLOBEX))
    assert foreign.json()["state"] == nothing.json()["state"] == "pending"
    assert WORDS not in foreign.text
    headers = {**bearer(GLOBEX), "Last-Event-ID": events[0].id}
    stream = await asyncio.open_connection("127.0.0.1", served.settings.gateway_port)
    lines = "".join(f"{name}: {value}\r\n" for name, value in {"Host": "localhost", **headers}.items())
    stream[1].write(f"GET {path}/events HTTP/1.1\r\n{lines}\r\n".encode())
    await asyncio.sleep(1.5)
    assert b"event:" not in await stream[0].read(65_536)
    stream[1].close()
    listed = [
        [row["id"] for row in (await served.http.get("/v1/turns", headers=bearer(key))).json()["turns"]]
        for key in (ACME, GLOBEX)
    ]
    assert listed == [[public_id(turn)], []]
    bound = await served.http.get("/v1/turns", headers=bearer(ACME_USER))
    assert bound.status_code == httpx.codes.FORBIDDEN


async def test_a_turn_is_cancelled_when_asked_to(served: Served, broker: Broker, prefix: str) -> None:
    """By DELETE, and by a disconnect where the request said so, and not otherwise."""
    ids = []
    for thread in ("deleted", "left", "left-and-cancelled"):
        body = {"message": "hi", "thread_id": thread, "turn_id": "x"}
        ids.append((await served.http.post("/v1/turns", json=body, headers=bearer(ACME))).json()["id"])
    gone = await served.http.delete(f"/v1/turns/{ids[0]}", headers=bearer(ACME))
    assert gone.status_code == httpx.codes.ACCEPTED
    for name, query in ((ids[1], ""), (ids[2], "?on_disconnect=cancel")):
        async with served.http.stream("GET", f"/v1/turns/{name}/events{query}", headers=bearer(ACME)) as stream:
            await anext(stream.aiter_raw())
    await asyncio.sleep(1.0)
    cancelled = {one.thread_id for one in await requests(broker, prefix) if isinstance(one, CancelTurn)}
    assert cancelled == {"deleted", "left-and-cancelled"}


async def test_a_stream_that_ended_by_itself_cancels_nothing(served: Served, broker: Broker, prefix: str) -> None:
    """Only a client that leaves early does."""
    turn = TurnKey("acme", "t", "done")
    await Worker(broker.bootstrap, prefix, served.settings.partitions).release(*answer(turn, ["all"]))
    path = f"/v1/turns/{public_id(turn)}/events?on_disconnect=cancel"
    assert "event: completed" in (await served.http.get(path, headers=bearer(ACME))).text
    await asyncio.sleep(0.5)
    assert await requests(broker, prefix) == []


async def test_what_is_too_much_is_refused(broker: Broker, prefix: str) -> None:
    """Bodies, records, requests and streams; each with the status that clients know."""
    limits = {"gateway_max_body_bytes": 900_000, "gateway_streams_per_key": 1, "gateway_requests_per_minute": 8}
    async with serving(broker.bootstrap, prefix, **limits) as served:
        post = served.http.post
        for size in (1_000_000, 850_000):
            large = await post("/v1/turns", json={"message": "x" * size})
            assert large.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(100):
                yield b"x" * 20_000

        chunked = await post("/v1/turns", content=pieces(), headers={"content-type": "application/json"})
        assert chunked.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE
        deep = '{"message": "x", "attributes": ' + '{"a":' * 200 + "1" + "}" * 201
        nested = await post("/v1/turns", content=deep, headers={"content-type": "application/json"})
        assert nested.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        path = f"/v1/turns/{public_id(TurnKey('default', 't', 'x'))}/events"
        async with served.http.stream("GET", path) as stream:
            await anext(stream.aiter_raw())
            second = await served.http.get(path)
            assert second.status_code == httpx.codes.TOO_MANY_REQUESTS
            assert second.headers["retry-after"] == "1"
        await asyncio.sleep(0.2)
        async with served.http.stream("GET", path) as stream:
            assert stream.status_code == httpx.codes.OK
        statuses = [(await served.http.get("/v1/models")).status_code for _ in range(8)]
        assert statuses[-1] == httpx.codes.TOO_MANY_REQUESTS


async def self_willed_reader(served: Served, path: str, meanwhile: Coroutine[Any, Any, None]) -> bytes:
    """Ask for a stream, take nothing of it until the gateway has closed the connection, and return what had come."""
    loop = asyncio.get_running_loop()
    got = b""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as reader:
        reader.setblocking(False)
        await loop.sock_connect(reader, ("127.0.0.1", served.settings.gateway_port))
        await loop.sock_sendall(reader, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await meanwhile
        async with asyncio.timeout(LIMIT_S):
            while is_established(served.settings.gateway_port, reader.getsockname()[1]):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            while piece := await loop.sock_recv(reader, 65_536):
                got += piece
    return got


def is_established(port: int, peer: int) -> bool:
    """Say whether the gateway's end of a connection is open, as the kernel sees it."""
    ends = (f"0100007F:{port:04X}", f"0100007F:{peer:04X}")
    rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="utf-8").splitlines()[1:]]
    return any((row[1], row[2]) == ends and row[3] == "01" for row in rows)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the kernel does not tell of connections here")
async def test_a_reader_that_takes_nothing_is_dropped_and_can_go_on(broker: Broker, prefix: str) -> None:
    """What is held for it is bounded: the text is larger than all buffers between, and is not sent to it."""
    turn = TurnKey("default", "t", "long")
    text = ["0123456789" * 20_000] * 50
    async with serving(broker.bootstrap, prefix, gateway_send_timeout_s=0.5) as served:
        worker = Worker(broker.bootstrap, prefix, served.settings.partitions)
        frames = [TextFrame(**turn._asdict(), offset=200_000 * at, text=piece) for at, piece in enumerate(text)]
        got = await self_willed_reader(served, f"/v1/turns/{public_id(turn)}/events", worker.release(*frames))
        assert len(got) < 5_000_000
        last = got.rpartition(b"\nid: ")[2].partition(b"\n")[0].decode()
        data = [line[6:] for line in got.split(b"\n") if line.startswith(b"data: ") and line.endswith(b"}")]
        had = sum(len(json.loads(one)["text"]) for one in data)
        end = CompletedFrame(**turn._asdict(), offset=10_000_000, length=10_000_000, finish_reason="stop")
        await worker.release(end)
        rest = await served.events(public_id(turn), last)
        assert rest[0].data["offset"] <= had
        assert rest[0].data["offset"] + sum(len(event.data["text"]) for event in rest[:-1]) == 10_000_000


async def test_open_to_this_machine_means_not_to_the_pages_of_others(broker: Broker, prefix: str) -> None:
    """A web page can make a browser send requests to this machine; where no key is wanted they are told by their headers."""
    async with serving(broker.bootstrap, prefix) as served:
        status = {
            (host, origin): (
                await served.http.get("/v1/models", headers={"Host": host, **({"Origin": origin} if origin else {})})
            ).status_code
            for host, origin in (
                (f"127.0.0.1:{served.settings.gateway_port}", ""),
                ("localhost:1", ""),
                ("localhost:1", "http://localhost:1"),
                ("evil.example", ""),
                ("localhost:1", "https://evil.example"),
                ("localhost:1", "null"),
            )
        }
        assert list(status.values()) == [200, 200, 200, 403, 403, 403]


async def test_no_page_of_another_origin_may_read_unless_it_is_named(broker: Broker, prefix: str) -> None:
    """CORS is off by default."""
    ask = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    async with serving(broker.bootstrap, prefix, gateway_keys=KEYS) as served:
        answered = await served.http.options("/v1/turns", headers=ask)
        assert "access-control-allow-origin" not in answered.headers
    async with serving(
        broker.bootstrap, prefix, gateway_keys=KEYS, gateway_cors_origins=("https://app.example",)
    ) as served:
        answered = await served.http.options("/v1/turns", headers=ask)
        assert answered.headers["access-control-allow-origin"] == "https://app.example"
        other = await served.http.options("/v1/turns", headers={**ask, "Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers


async def test_nothing_of_what_people_say_is_logged(
    broker: Broker, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor is it in an answer that refuses it."""
    with caplog.at_level(logging.INFO):
        async with serving(broker.bootstrap, prefix) as served:
            for body in (
                {"message": WORDS, "thread_id": "t", "turn_id": "x"},
                {"message": {"role": WORDS}},
                {"message": WORDS, "thread_id": f"{WORDS}/x"},
                {"message": WORDS, "history": [{"role": WORDS}]},
                {f"{WORDS} {WORDS}": 1},
            ):
                answered = await served.http.post("/v1/turns", json=body)
                assert WORDS not in answered.text
            bad = await served.http.post(
                "/v1/turns", content=f'{{"message": "{WORDS}', headers={"content-type": "application/json"}
            )
            assert (bad.status_code, WORDS in bad.text) == (422, False)
            chat = {"model": WORDS, "messages": [{"role": "user", "content": [{"type": "audio", "text": WORDS}]}]}
            refused = await served.http.post("/v1/chat/completions", json=chat)
            assert (refused.status_code, WORDS in refused.text) == (400, False)
            turn = TurnKey("default", "t", "x")
            await Worker(broker.bootstrap, prefix, served.settings.partitions).release(*answer(turn, [WORDS]))
            assert WORDS in text_of(await served.events(public_id(turn)))
    assert "gateway ready" in caplog.text
    assert WORDS not in caplog.text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "turngate keys create"),
        ({"gateway_open": True, "gateway_host": "0.0.0.0"}, "loopback"),  # noqa: S104 - refused
        ({"gateway_keys_file": "there-is-none.toml"}, "TURNGATE_GATEWAY_KEYS_FILE"),
    ],
)
def test_a_gateway_that_would_let_everybody_in_does_not_start(changes: dict[str, Any], words: str) -> None:
    """It says what to do."""
    with pytest.raises(SettingsError, match=words):
        serve.check(Settings(**changes))


async def test_a_port_that_is_taken_is_said(broker: Broker, prefix: str) -> None:
    """With the setting that mends it."""
    async with serving(broker.bootstrap, prefix) as served:
        with pytest.raises(SettingsError, match="TURNGATE_GATEWAY_PORT"):
            await serve.run(served.settings, broker.bootstrap, asyncio.Event())


async def test_odd_bodies_are_taken_or_refused(broker: Broker, prefix: str) -> None:
    """And what is taken is a record that workers can read."""
    message = '"messages": [{"role": "user", "content": "x"}]'
    bodies = [
        '{"message": "\\ud83d", "thread_id": "t", "turn_id": "x"}',
        '{"message": "x", "thread_id": "\\ud83d"}',
        '{"message": "x", "attributes": {"a": "\\ud83d", "b": NaN, "c": 1e999, "d": 123456789012345678901234567890}}',
        '{"message": "x", "deadline_s": NaN}',
        '{"message": "x", "deadline_s": 1e999}',
        '{"message": "x", "thread_id": "' + "9" * 10_000 + '"}',
        '{"message": "x", "params": {"n": ' + "9" * 10_000 + "}}",
        "[" * 100_000,
        '{"a":' * 50_000,
        "",
        "null",
        "\ud83d",
        "{" + message + ', "model": "\\ud83d", "stream": NaN}',
        "{" + message + ', "user": "a/b"}',
        "{" + message + ', "turngate": {"thread_id": "\\ud83d"}}',
        "{" + message + ', "temperature": [1e999], "n": 2}',
    ]
    async with serving(broker.bootstrap, prefix) as served:
        for body in bodies:
            for path in ("/v1/turns", "/v1/chat/completions"):
                raw = body.encode(errors="surrogatepass")
                answered = await served.http.post(path, content=raw, headers={"content-type": "application/json"})
                assert answered.status_code < httpx.codes.INTERNAL_SERVER_ERROR, (body[:80], answered.text)
                if answered.status_code >= httpx.codes.BAD_REQUEST:
                    assert set(answered.json()["error"]) == {"message", "type", "param", "code"}
        taken = await requests(broker, prefix)
    assert len(taken) >= 3
    for record in taken:
        assert codec.decode(codec.encode(record), REQUEST) == record


@pytest.mark.parametrize(
    ("body", "header", "words"),
    [
        ('{"message": "private"}', "application/x-www-form-urlencoded", "Content-Type: application/json"),
        ("", "application/json", "a JSON object is wanted here"),
        ('{"message": "private"', "application/json", "this is not JSON"),
        ('{"msg": "private"}', "application/json", "there is no such field"),
        ('{"message": "private", "thread_id": "a/b"}', "application/json", "no slash"),
    ],
)
async def test_a_body_that_cannot_be_taken_is_told_how_it_should_be(
    broker: Broker, prefix: str, body: str, header: str, words: str
) -> None:
    """Curl sends a form where nothing is said about it."""
    async with serving(broker.bootstrap, prefix) as served:
        answered = await served.http.post("/v1/turns", content=body, headers={"content-type": header})
    assert answered.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert words in answered.json()["error"]["message"]
    assert "private" not in answered.text


async def test_a_path_that_is_not_there_is_told_where_the_api_is(broker: Broker, prefix: str) -> None:
    """A base URL without its end is a common slip."""
    async with serving(broker.bootstrap, prefix) as served:
        answered = await served.http.post("/chat/completions", json={})
    assert answered.status_code == httpx.codes.NOT_FOUND
    assert "/v1" in answered.json()["error"]["message"]


async def test_requests_are_counted_by_the_pattern_of_their_path(broker: Broker, prefix: str) -> None:
    """Whatever ids they have in them; one that there is no path for has an empty one."""
    port = ports.free_port()
    async with serving(broker.bootstrap, prefix, metrics_port=port) as gateway:
        for path in ("/v1/turns", "/v1/turns/t_dC0xLzE", "/v1/turns/t_dC0xLzI", "/v1/turns/secret/place"):
            await gateway.http.get(path)
        async with httpx.AsyncClient() as client:
            shown = (await client.get(f"http://127.0.0.1:{port}/metrics")).text
    counted = dict(re.findall(r'requests_total\{route="([^"]*)",status="\d+"\} ([\d.]+)', shown))
    assert counted == {"/v1/turns": "1.0", "/v1/turns/{turn_id}": "2.0", "": "1.0"}
    assert 'turngate_gateway_response_seconds_count{route="/v1/turns/{turn_id}"} 2.0' in shown
    assert "t_dC0" not in shown
