"""Which scanners run in the turn worker itself, and what an operator's own one does to it: nothing."""

from __future__ import annotations

import asyncio
import contextlib
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from streams.chains import ProcessChainRunner
from streams.gate_run import GateEnd, GateRun
from streams.roles.turns import policy, scanner_opener
from streams.settings import Settings

MODULE = """
import os
from processors import Deps, Incremental, Replace, output_processor
from processors.builtin import length_cap, patterns
from processors.patterns import Pattern
from processors.patterns.redactor import Redactor, Rule

class Scanner:
    def feed(self, delta):
        while "hang" in delta:
            pass
        if "crash" in delta:
            os._exit(3)
        return ""
    def finish(self):
        return ""

@output_processor("own", incremental=Incremental(lookback_chars=4), open_scanner=Scanner)
def own(answer):
    return Replace(answer.text.upper())

@output_processor("scanning", incremental=Incremental(lookback_chars=4), open_scanner=Scanner, timeout_s=0.5)
def scanning(answer):
    Scanner().feed(answer.text)
    return Replace(answer.text.upper())

@output_processor("lazy", open_scanner=Scanner)
def lazy(answer):
    return Replace(answer.text.upper())

@output_processor("vouched", open_scanner=Scanner, linear_time=True)
def vouched(answer):
    return Replace(answer.text.upper())

def check(found):
    return True

built_in = Deps(output_processors=[length_cap(9), patterns({"PIN": "[0-9]{4}"})])
mixed = Deps(output_processors=[length_cap(9), own])
checked = Deps(output_processors=[Redactor("checked", [Rule("PIN", Pattern("[0-9]{4}", check=check))])])
own_deps = Deps(output_processors=[own])
scanning_deps = Deps(output_processors=[scanning])
whole = Deps(output_processors=[lazy])
promised = Deps(output_processors=[vouched])
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write an operator's module into the current directory, and return its name: another one for each test."""
    name = f"operators_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.chdir(tmp_path)
    return name


@contextlib.asynccontextmanager
async def started(spec: str) -> AsyncIterator[tuple[ProcessChainRunner, Settings]]:
    """Give the chains of `spec` in processes of their own, and the settings that name it."""
    chains = ProcessChainRunner(spec, paths=(Path.cwd(),))
    await chains.start()
    try:
        yield chains, Settings(deps=spec)
    finally:
        await chains.stop()


async def gated(chains: ProcessChainRunner, settings: Settings, frames: list[str]) -> tuple[list[str], GateEnd | None]:
    """Return what a turn worker of these settings releases of an answer, and how that ends."""
    run = GateRun(chains, policy(settings, chains.manifest), scanner_opener(settings, chains.manifest))
    return [text async for text in run.feed(frames)], run.end


@pytest.mark.parametrize(
    ("attribute", "mode"),
    [
        ("built_in", "scan"),
        ("promised", "scan"),
        ("mixed", "incremental"),
        ("checked", "incremental"),
        ("own_deps", "incremental"),
        ("whole", "whole"),
    ],
)
async def test_only_scanners_that_somebody_vouches_for_run_in_the_worker(
    module: str, attribute: str, mode: str
) -> None:
    """Turngate for its own, an operator for theirs; one without that and the whole chain is judged in processes."""
    async with started(f"{module}:{attribute}") as (chains, settings):
        assert policy(settings, chains.manifest).mode == mode
        assert (scanner_opener(settings, chains.manifest) is not None) == (mode == "scan")


@pytest.mark.parametrize("text", ["hang", "crash"])
async def test_a_scanner_that_nobody_vouches_for_cannot_stop_the_worker(module: str, text: str) -> None:
    """It is not run: its processor judges the prefixes."""
    async with started(f"{module}:own_deps") as (chains, settings):
        released, end = await gated(chains, settings, ["let it ", text, " here", " or there"])
        assert (end.outcome, end.text) == ("completed", f"LET IT {text.upper()} HERE OR THERE") if end else False
        assert len(released) > 1


@pytest.mark.parametrize("text", ["hang", "crash"])
async def test_a_processor_that_hangs_fails_its_turn_while_others_go_on(module: str, text: str) -> None:
    """Here it runs its scanner itself, in a process that can be ended."""
    async with started(f"{module}:scanning_deps") as (chains, settings):
        bad = asyncio.create_task(gated(chains, settings, ["fine ", text]))
        good = await gated(chains, settings, ["all ", "is ", "well"])
        assert good[1] == GateEnd("completed", "ALL IS WELL")
        _, end = await bad
        assert end is not None
        assert (end.outcome, end.error, end.processor) == ("failed", "ProcessorFailedError", "scanning")
        again = await gated(chains, settings, ["still ", "well"])
        assert again[1] == GateEnd("completed", "STILL WELL")
