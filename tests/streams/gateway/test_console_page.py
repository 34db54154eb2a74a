"""The console in a real browser, where one is installed: what people see while a turn goes on, and how they get about."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from streams.brokers import ports
from streams.gateway.ids import public_id
from streams.gateway.keys import KeySettings, hash_of
from tests.brokers.broker import Broker
from tests.streams.cli.pipeline import Up, wait_for
from tests.streams.gateway.server import Served, Worker, answer, serving
from topics import codec, names
from topics.connection import Connection
from topics.ids import TurnKey
from topics.names import REQUEST, Names
from topics.records import Decision, FailedFrame, ModelFrame, ResetFrame, TextFrame, TurnRequest

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

playwright = pytest.importorskip("playwright.async_api", reason="playwright is not installed: pip install playwright")

#: Where a browser may be: named by who runs the tests, or by one of these names.
BROWSER = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.only_brokers("embedded"),
    pytest.mark.skipif(BROWSER is None, reason="no browser: apt-get install chromium, or set CHROMIUM to one"),
]

KEY, USER_KEY, OPERATOR = "tg_console", "tg_console_user", "tg_console_operator"
KEYS = {
    "console": KeySettings(sha256=hash_of(KEY), tenant="default"),
    "user": KeySettings(sha256=hash_of(USER_KEY), tenant="default", user="u-1"),
    "operator": KeySettings(sha256=hash_of(OPERATOR), tenant="default", operator=True),
}
TURN = TurnKey("default", "orders", "turn-1")
IDS = TURN._asdict()
LIMIT_MS = 15_000


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    """Give a browser without a window."""
    async with playwright.async_playwright() as driver:
        opened = await driver.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        yield opened
        await opened.close()


class Faults(list[str]):
    """What the browser complained of."""


async def opened(browser: Browser, url: str, faults: Faults, **context: Any) -> Page:
    """Return a tab of its own at `url`; errors of scripts and of the content policy go to `faults`."""
    made = await browser.new_context(locale="en-GB", **context)
    page = await made.new_page()
    page.set_default_timeout(LIMIT_MS)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if "Content Security Policy" in said.text else None)
    await page.goto(url)
    return page


async def saying(page: Page, selector: str, words: str) -> str:
    """Return what is written in an element once `words` are in it."""
    found = page.locator(selector).filter(has_text=words)
    await found.wait_for()
    return await found.inner_text()


@pytest.fixture
async def served(broker: Broker, prefix: str) -> AsyncIterator[Served]:
    """Give a gateway that is open to this machine and counts what models write."""
    async with serving(broker.bootstrap, prefix, gateway_frames="count") as running:
        yield running


@pytest.fixture
def worker(broker: Broker, prefix: str, served: Served) -> Worker:
    """Give somebody who writes what workers write."""
    return Worker(broker.bootstrap, prefix, served.settings.partitions)


async def the_request(broker: Broker, prefix: str) -> TurnRequest:
    """Return the one turn that was submitted."""
    async with Connection(broker.bootstrap).consumer() as consumer:
        consumer.subscribe([Names(prefix).topic(names.REQUESTS)])
        for _ in range(50):
            for records in (await consumer.getmany(timeout_ms=200)).values():
                for record in records:
                    found = codec.decode(record.value, REQUEST)
                    assert isinstance(found, TurnRequest)
                    return found
    raise AssertionError("nothing was submitted")


async def test_a_message_is_sent_with_enter_and_its_text_arrives(
    broker: Broker, prefix: str, served: Served, worker: Worker, browser: Browser
) -> None:
    """Piece by piece, without a reload; then the ending, the row in the list, and the course as a picture."""
    faults = Faults()
    page = await opened(browser, served.url, faults)
    await saying(page, "#who", "tenant default")
    await page.fill("#thread", "orders")
    await page.fill("#message", "Where is <b>my</b> parcel?")
    await page.press("#message", "Shift+Enter")
    await page.keyboard.type("It is late.")
    await page.press("#message", "Enter")
    request = await the_request(broker, prefix)
    assert request.message[0].model_dump()["text"] == "Where is <b>my</b> parcel?\nIt is late."
    ids = request.turn._asdict()
    assert request.thread_id == "orders"
    assert await page.input_value("#message") == ""

    await worker.write(names.DECISIONS, _decided(ids, "pre", "greeting", "skipped"))
    await worker.write(names.FRAMES, ModelFrame(**ids, seq=0, text="It is with <i>Bob</i>, who"))
    await worker.release(TextFrame(**ids, text="It is with <i>"))
    await saying(page, "#answer", "It is with <i>")
    await saying(page, "#held-text", "26 characters written, 14 out, 12 held")
    await saying(page, "#turn-state", "running")
    await worker.release(*answer(request.turn, ["It is with <i>", "Bob</i>."])[1:])
    assert (await saying(page, "#answer", "completed")).startswith("It is with <i>Bob</i>.")
    await saying(page, "#turns", "completed")
    await page.locator("#timeline svg rect title").filter(has_text="greeting@1: skipped").wait_for(state="attached")
    assert not await page.locator("#cancel").is_visible()
    assert faults == []


async def test_a_turn_that_is_opened_in_its_middle_is_shown_from_its_beginning(
    served: Served, worker: Worker, browser: Browser
) -> None:
    """By its address, in a tab that has not seen it before; and text that is taken back is gone."""
    faults = Faults()
    await worker.release(TextFrame(**IDS, text="Hello "), TextFrame(**IDS, offset=6, text="there"))
    page = await opened(browser, f"{served.url}/#{public_id(TURN)}", faults)
    await saying(page, "#answer", "Hello there")
    await worker.release(ResetFrame(**IDS, attempt=1), TextFrame(**IDS, attempt=1, text="Good day"))
    assert "Hello" not in await saying(page, "#answer", "Good day")
    failed = FailedFrame(**IDS, attempt=1, offset=8, error="ModelFailedError", phase="model", message="ask again")
    await worker.release(failed)
    await saying(page, "#answer", "failed: ModelFailedError in model")
    assert faults == []


async def test_a_key_is_asked_for_once_and_stays_in_the_tab(broker: Broker, prefix: str, browser: Browser) -> None:
    """A wrong one is refused in words; a right one survives a reload, and no other storage knows it."""
    faults = Faults()
    async with serving(broker.bootstrap, prefix, gateway_keys=KEYS) as served:
        page = await opened(browser, served.url, faults)
        await page.locator("#key-dialog").wait_for()
        await page.fill("#key", "tg_wrong")
        await page.press("#key", "Enter")
        await saying(page, "#key-fault", "not known here")
        await page.fill("#key", KEY)
        await page.press("#key", "Enter")
        await saying(page, "#who", "key console · tenant default")
        await page.reload()
        await saying(page, "#who", "key console · tenant default")
        stored = await page.evaluate("[JSON.stringify(sessionStorage), JSON.stringify(localStorage), document.cookie]")
        assert KEY in stored[0]
        assert stored[1:] == ["{}", ""]
        assert KEY not in page.url
        other = await opened(browser, served.url, faults)
        await other.locator("#key-dialog").wait_for()
        await page.click("#key-button")
        await page.click("#key-forget")
        assert KEY not in await page.evaluate("JSON.stringify(sessionStorage)")
    assert faults == []


async def test_what_models_write_is_shown_to_operators_only(broker: Broker, prefix: str, browser: Browser) -> None:
    """And only when they open it."""
    faults = Faults()
    async with serving(broker.bootstrap, prefix, gateway_keys=KEYS, gateway_frames="show") as served:
        worker = Worker(broker.bootstrap, prefix, served.settings.partitions)
        await worker.write(names.FRAMES, ModelFrame(**IDS, seq=0, text="Write to bob@example.org"))
        await worker.release(TextFrame(**IDS, text="Write to "))
        for key, shown in ((OPERATOR, True), (KEY, False), (USER_KEY, False)):
            page = await opened(browser, f"{served.url}/#{public_id(TURN)}", faults)
            await page.fill("#key", key)
            await page.press("#key", "Enter")
            await saying(page, "#held-text", "24 characters written, 9 out, 15 held")
            assert await page.locator("#written").is_visible() is shown
            if shown:
                await page.locator("#written summary").click()
                await saying(page, "#written-text", "Write to bob@example.org")
            else:
                assert "bob@" not in await page.content()
    assert faults == []


async def test_the_keyboard_is_enough(served: Served, worker: Worker, browser: Browser) -> None:
    """Single keys lead to the message, through the list and to the help; where somebody types, they are letters."""
    faults = Faults()
    for number in range(3):
        await worker.release(*answer(TurnKey("default", f"thread-{number}", "t"), [f"answer {number}"]))
    page = await opened(browser, served.url, faults)
    for number in range(3):
        await saying(page, "#turns", f"thread-{number}")
    await page.fill("#message", "")
    await page.keyboard.type("jk/?n")
    assert await page.input_value("#message") == "jk/?n"
    await page.keyboard.press("Escape")
    for key in ("j", "j", "k", "j", "j"):
        await page.keyboard.press(key)
    await page.keyboard.press("Enter")
    await saying(page, "#answer", "answer 0")
    await page.keyboard.press("f")
    assert await page.evaluate("document.activeElement.id") == "filter-state"
    await page.keyboard.press("Escape")
    await page.keyboard.press("/")
    assert await page.evaluate("document.activeElement.id") == "message"
    await page.keyboard.press("Escape")
    await page.keyboard.press("?")
    await page.locator("#help-dialog").wait_for()
    await page.uncheck("#single-keys")
    await page.keyboard.press("Escape")
    await page.keyboard.press("f")
    assert await page.evaluate("document.activeElement.id") != "filter-state"
    assert faults == []


async def test_the_list_is_narrowed_by_outcome_and_thread(served: Served, worker: Worker, browser: Browser) -> None:
    """And says so where nothing is left."""
    faults = Faults()
    await worker.release(*answer(TURN, ["a"]))
    await worker.release(TextFrame(thread_id="chat", turn_id="t", text="a"))
    page = await opened(browser, served.url, faults)
    await saying(page, "#turns", "chat")
    await page.select_option("#filter-state", "completed")
    await page.locator("#turns").filter(has_not_text="chat").wait_for()
    assert await page.locator("#turns tbody tr").count() == 1
    await page.fill("#filter-thread", "nowhere")
    await saying(page, "#turns-note", "No turn that this gateway holds is like that")
    assert faults == []


async def test_the_page_fits_a_phone_and_follows_the_colours_that_are_preferred(
    served: Served, worker: Worker, browser: Browser
) -> None:
    """Nothing is wider than the screen, and dark is dark."""
    faults = Faults()
    await worker.release(*answer(TURN, ["a " * 300]))
    grounds = []
    for scheme in ("light", "dark"):
        page = await opened(
            browser,
            f"{served.url}/#{public_id(TURN)}",
            faults,
            viewport={"width": 360, "height": 740},
            color_scheme=scheme,
        )
        await saying(page, "#turn-state", "completed")
        await page.locator("#timeline svg[role=img]").wait_for()
        assert await page.evaluate("document.documentElement.scrollWidth") <= 360
        grounds.append(await page.evaluate("getComputedStyle(document.body).backgroundColor"))
    light, dark = (sum(json.loads(one.replace("rgb(", "[").replace(")", "]"))) for one in grounds)
    assert dark < 150
    assert light > 600
    assert faults == []


async def test_a_gateway_that_goes_away_is_said_and_the_text_goes_on_when_it_is_back(
    broker: Broker, prefix: str, browser: Browser
) -> None:
    """No character is lost or doubled: the page resumes after the last event that it has."""
    faults = Faults()
    async with serving(broker.bootstrap, prefix) as first:
        worker = Worker(broker.bootstrap, prefix, first.settings.partitions)
        await worker.release(TextFrame(**IDS, text="Hello "))
        page = await opened(browser, f"{first.url}/#{public_id(TURN)}", faults)
        await saying(page, "#answer", "Hello")
    await page.locator("#trouble").wait_for()
    async with serving(broker.bootstrap, prefix, gateway_port=first.settings.gateway_port):
        await worker.release(*answer(TURN, ["Hello ", "you."])[1:])
        assert (await saying(page, "#answer", "completed")).startswith("Hello you.")
        await page.locator("#trouble").wait_for(state="hidden")
    assert faults == []


async def test_a_turn_is_cancelled_with_a_key(served: Served, worker: Worker, browser: Browser) -> None:
    """What goes out is the request to; the page shows what comes of it."""
    faults = Faults()
    await worker.release(TextFrame(**IDS, text="Hello "))
    page = await opened(browser, f"{served.url}/#{public_id(TURN)}", faults)
    await saying(page, "#answer", "Hello")
    await page.locator("#cancel").wait_for()
    await page.keyboard.press("Escape")
    async with page.expect_response(lambda answered: answered.request.method == "DELETE") as cancelling:
        await page.keyboard.press("x")
    assert (await cancelling.value).status == httpx.codes.ACCEPTED
    assert faults == []


async def test_a_whole_pipeline_is_watched(tmp_path: Path, browser: Browser) -> None:
    """With real workers behind it: what is masked never shows, what is held is counted, each processor's run is drawn."""
    faults = Faults()
    up = await asyncio.to_thread(
        Up.start, tmp_path, "--model", "script", "--deps", "guard:deps", "--gateway-port", str(ports.free_port())
    )
    try:
        page = await opened(browser, "about:blank", faults)
        await asyncio.to_thread(
            wait_for, lambda: ports.is_open(int(up.first["gateway"].rpartition(":")[2])), "the gateway does not come up"
        )
        page.set_default_timeout(3 * LIMIT_MS)
        await page.goto(up.first["gateway"])
        await page.locator("summary", has_text="Parameters").click()
        script = ["my pin ", "is 12", "34, and more", {"text": " than that", "delay_s": 8}]
        await page.fill("#params", json.dumps({"script": script}))
        await page.fill("#message", "my pin?")
        await page.press("#message", "Enter")
        await saying(page, "#held-text", "24 characters written, 20 out, 4 held")
        await saying(page, "#held-why", "The last 4 characters wait for what follows them: mask and refuse may still")
        assert (await saying(page, "#answer", "completed")).startswith("my pin is ####, and more than that")
        for words in ("no-lottery", "mask@", "refuse@"):
            await page.locator("#timeline svg title").filter(has_text=words).first.wait_for(state="attached")
        await page.locator("#processors td.n").filter(has_text="1").first.wait_for()
        await page.locator("#pulse").filter(has_text="completed 1").wait_for()
        assert "1234" not in await page.locator("main").inner_text()
    finally:
        await asyncio.to_thread(up.end, signal.SIGINT)
    assert faults == []


def _decided(ids: dict[str, Any], phase: Any, processor: str, verdict: Any) -> Decision:
    return Decision(**ids, phase=phase, processor=processor, version="1", verdict=verdict, time_ms=20.0, at=time.time())
