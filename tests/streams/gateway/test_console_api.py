"""What the console asks the gateway: told to whom it may be told, without content; and the files of the console."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from streams.gateway.console_files import POLICY, read_files
from streams.gateway.ids import public_id
from streams.gateway.keys import KeySettings, hash_of
from tests.brokers.broker import Broker
from tests.streams.gateway.server import LIMIT_S, Served, Worker, answer, serving
from topics import names
from topics.ids import TurnKey
from topics.records import Decision, ModelFrame, TextFrame

pytestmark = pytest.mark.only_brokers("embedded")

WORDS = "xylophone"
ACME, ACME_USER, ACME_OPERATOR, GLOBEX = "tg_acme", "tg_acme_user", "tg_acme_operator", "tg_globex"
KEYS = {
    "acme": KeySettings(sha256=hash_of(ACME), tenant="acme"),
    "acme-user": KeySettings(sha256=hash_of(ACME_USER), tenant="acme", user="u-1"),
    "acme-operator": KeySettings(sha256=hash_of(ACME_OPERATOR), tenant="acme", operator=True),
    "globex": KeySettings(sha256=hash_of(GLOBEX), tenant="globex"),
}
TURN = TurnKey("acme", "orders", "turn-1")
IDS = TURN._asdict()
PATHS = ("/v1/key", "/v1/pulse", f"/v1/turns/{public_id(TURN)}/timeline", f"/v1/turns/{public_id(TURN)}/written")


def bearer(key: str) -> dict[str, str]:
    """Return the header that a key goes in."""
    return {"Authorization": f"Bearer {key}"}


async def until(what: Callable[[], Awaitable[Any]], right: Callable[[Any], bool]) -> Any:
    """Return what is answered once it is right: topics are read one beside the other."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            found = await what()
            if right(found):
                return found
            await asyncio.sleep(0.05)


async def get(served: Served, path: str, key: str = ACME, **query: Any) -> Any:
    """Return what a GET answers."""
    answered = await served.http.get(path, headers=bearer(key), params=query)
    assert answered.status_code == httpx.codes.OK, answered.text
    return answered.json()


@pytest.fixture
async def served(broker: Broker, prefix: str) -> AsyncIterator[Served]:
    """Give a gateway that keeps what models write."""
    async with serving(broker.bootstrap, prefix, gateway_keys=KEYS, gateway_frames="show") as running:
        yield running


@pytest.fixture
def worker(broker: Broker, prefix: str, served: Served) -> Worker:
    """Give somebody who writes what workers write."""
    return Worker(broker.bootstrap, prefix, served.settings.partitions)


def decision(**changes: Any) -> Decision:
    """Return what a processor decided, with a reason that quotes content."""
    given: dict[str, Any] = {"processor": "redact", "version": "7", "phase": "output", "verdict": "replace"} | changes
    return Decision(**IDS, changes=2, time_ms=3.0, reason=f"found {WORDS}", at=time.time(), **given)


async def test_nobody_is_told_anything_without_a_key(served: Served) -> None:
    """The page itself is for everybody, and holds nothing."""
    for path in PATHS:
        assert (await served.http.get(path)).status_code == httpx.codes.UNAUTHORIZED, path
    assert (await served.http.get("/")).status_code == httpx.codes.OK


async def test_the_course_of_a_turn_is_told_to_its_tenant_without_content(served: Served, worker: Worker) -> None:
    """What processors did, how much was written and released; not what, nor why in their words."""
    path = f"/v1/turns/{public_id(TURN)}/timeline"
    await worker.write(names.FRAMES, ModelFrame(**IDS, seq=0, text=f"say {WORDS} aloud"))
    await worker.write(names.DECISIONS, decision())
    await worker.release(TextFrame(**IDS, text="say "))
    told = await until(
        lambda: get(served, path), lambda told: bool(told["ran"] and told["out"] and told["held"] is not None)
    )
    assert (told["state"], told["held"], told["ran"][0]["version"], told["ran"][0]["changes"]) == (
        "running",
        15,
        "7",
        2,
    )
    for key in (ACME, ACME_USER, ACME_OPERATOR):
        assert WORDS not in str(await get(served, path, key))
    other = await get(served, path, GLOBEX)
    assert (other["state"], other["ran"], other["wrote"], other["out"]) == ("pending", [], [], [])


async def test_what_models_write_is_for_operators(served: Served, worker: Worker) -> None:
    """And of their own tenant's turns only."""
    path = f"/v1/turns/{public_id(TURN)}/written"
    await worker.write(names.FRAMES, ModelFrame(**IDS, seq=0, text=WORDS, finish_reason="stop"))
    shown = await until(lambda: get(served, path, ACME_OPERATOR), lambda told: bool(told["written"]))
    assert shown["written"] == [{"step": 0, "attempt": 0, "text": WORDS, "complete": True}]
    for key in (ACME, ACME_USER, GLOBEX):
        refused = await served.http.get(path, headers=bearer(key))
        assert (refused.status_code, refused.json()["error"]["code"]) == (httpx.codes.FORBIDDEN, "operators_only")
        assert WORDS not in refused.text


@pytest.mark.parametrize("frames", ["off", "count"])
async def test_not_even_operators_see_what_is_not_to_be_shown(broker: Broker, prefix: str, frames: str) -> None:
    """A key alone does not open it: the gateway's setting has to as well."""
    async with serving(broker.bootstrap, prefix, gateway_keys=KEYS, gateway_frames=frames) as served:
        refused = await served.http.get(f"/v1/turns/{public_id(TURN)}/written", headers=bearer(ACME_OPERATOR))
        assert refused.status_code == httpx.codes.FORBIDDEN
        assert (await get(served, "/v1/key", ACME_OPERATOR))["frames"] == frames


async def test_whose_key_it_is_is_told(served: Served) -> None:
    """For the console to know what to ask."""
    assert await get(served, "/v1/key", ACME_USER) == {
        "name": "acme-user",
        "tenant": "acme",
        "user": "u-1",
        "operator": False,
        "frames": "show",
    }


async def test_the_pulse_is_a_tenant_s_own(served: Served, worker: Worker) -> None:
    """And not for a key that is bound to a user."""
    await worker.release(*answer(TURN, ["a", "b"]))
    told = await until(lambda: get(served, "/v1/pulse"), lambda told: any(one["ended"] for one in told["slots"]))
    assert [one["ended"] for one in told["slots"] if one["ended"]] == [{"completed": 1}]
    other = await get(served, "/v1/pulse", GLOBEX)
    assert not any(one["ended"] for one in other["slots"])
    refused = await served.http.get("/v1/pulse", headers=bearer(ACME_USER))
    assert (refused.status_code, refused.json()["error"]["code"]) == (httpx.codes.FORBIDDEN, "user_bound_key")


async def test_the_list_of_turns_can_be_narrowed(served: Served, worker: Worker) -> None:
    """By outcome and by thread, before the limit applies."""
    await worker.release(*answer(TURN, ["a"]))
    for number in range(3):
        await worker.release(TextFrame(tenant="acme", thread_id=f"chat-{number}", turn_id="t", text="a"))
    await until(lambda: get(served, "/v1/turns"), lambda told: len(told["turns"]) == 4)
    found = await get(served, "/v1/turns", limit=1, state="completed")
    assert [one["thread_id"] for one in found["turns"]] == ["orders"]
    found = await get(served, "/v1/turns", thread="hat-")
    assert sorted(one["thread_id"] for one in found["turns"]) == ["chat-0", "chat-1", "chat-2"]
    assert (await get(served, "/v1/turns", thread="hat-", state=["completed", "failed"]))["turns"] == []


async def test_processors_are_counted_for_the_tenant_that_asks(
    broker: Broker, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How often each ran, changed, refused, was skipped or failed; nothing for a key that is bound to a user."""
    monkeypatch.syspath_prepend(".")
    async with serving(broker.bootstrap, prefix, gateway_keys=KEYS, deps="examples.redact_emails:deps") as served:
        worker = Worker(broker.bootstrap, prefix, served.settings.partitions)
        await worker.write(
            names.DECISIONS,
            decision(processor="redact-emails"),
            decision(processor="redact-emails", verdict="failed"),
            decision(processor="redact-emails", verdict="reject"),
        )

        async def counts(key: str) -> Any:
            (row,) = (await get(served, "/v1/processors", key))["processors"]
            return row["counts"]

        found = await until(lambda: counts(ACME), lambda counts: counts["runs"] == 3)
        assert found == {"runs": 3, "changed": 1, "changes": 6, "refused": 1, "skipped": 0, "failed": 1}
        assert (await counts(GLOBEX))["runs"] == 0
        assert await counts(ACME_USER) is None


async def test_the_console_is_sent_with_a_policy_that_lets_it_load_nothing_else(served: Served) -> None:
    """Every file, with its type, and none of them twice."""
    files = read_files()
    assert {"index.html", "console.css", "main.js"} <= set(files)
    for path, name in (("/", "index.html"), *((f"/console/{name}", name) for name in files)):
        sent = await served.http.get(path)
        assert sent.content == files[name].body, path
        assert sent.headers["content-type"] == files[name].media_type
        assert sent.headers["content-security-policy"] == POLICY
        assert sent.headers["x-content-type-options"] == "nosniff"
        again = await served.http.get(path, headers={"If-None-Match": sent.headers["etag"]})
        assert (again.status_code, again.content) == (httpx.codes.NOT_MODIFIED, b"")
    assert "unsafe" not in POLICY
    for path in ("/console/no.js", "/console/..%2Fkeys.py", "/console/../keys.py", "/console/"):
        assert (await served.http.get(path)).status_code == httpx.codes.NOT_FOUND, path


def test_the_console_s_files_refer_to_each_other_only() -> None:
    """Nothing inline and nothing from elsewhere: the policy would refuse it, and the page would be broken."""
    files = {name: file.body.decode() for name, file in read_files().items()}
    for name, text in files.items():
        assert "http://" not in text.replace("http://www.w3.org/", ""), name
        assert "https://" not in text, name
        assert "innerHTML =" not in text, name
    page = files["index.html"]
    assert " style=" not in page
    assert "<style" not in page
    assert " onclick" not in page
    for name in files:
        if name != "index.html":
            assert any(f"console/{name}" in text or f"./{name}" in text for text in files.values()), f"{name} is unused"


async def test_the_console_can_be_left_out(broker: Broker, prefix: str) -> None:
    """The API stays."""
    async with serving(broker.bootstrap, prefix, gateway_console=False) as served:
        assert (await served.http.get("/")).status_code == httpx.codes.NOT_FOUND
        assert (await served.http.get("/v1/key")).status_code == httpx.codes.OK
