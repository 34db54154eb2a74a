"""Try a chain of output processors in a test, or check what it promises: no broker, no worker, one call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from processors.checker import CheckReport, Options, check, given_texts
from processors.deps import Deps
from streams.chains import InlineChainRunner
from streams.gate.policy import Policy
from streams.gate_run import GateRun, Outcome


@dataclass(frozen=True, slots=True)
class GateResult:
    """What a reader would have seen.

    `releases` are the released texts in order and `text` is all of them together. `error` is a class name; `processor`
    and `reason` say who refused or broke the answer, and why.
    """

    releases: list[str]
    outcome: Outcome
    text: str
    error: str | None = None
    processor: str | None = None
    reason: str | None = None


def run_gate(
    chain: Deps | Sequence[object],
    frames: Iterable[str | Mapping[str, Any]],
    window: Literal["widest", "sum"] | None = None,
) -> GateResult:
    """Send one answer through the gate and return what came out, with one pass per frame.

    `chain` is a `Deps` or a list of output processors. A frame is a text delta or a mapping with `ModelFrame`'s optional
    fields; frames without `seq` are numbered, and an answer without a finish finishes with `stop`. `window` says how
    the lookbacks of an incremental chain combine, where it differs from what the `Deps` says.

    Raises:
        DepsError: the chain is no list of output processors.
        FrameInputError: a frame cannot be read as one.
    """
    deps = chain if isinstance(chain, Deps) else Deps(output_processors=chain)
    if window is not None:
        deps = Deps(output_processors=deps.output_processors, window=window)
    return _in_own_loop(deps, frames)


def check_promise(
    chain: Deps | Sequence[object],
    texts: Iterable[str] = (),
    *,
    window: Literal["widest", "sum"] | None = None,
    seed: int = 0,
    limit_s: float = 5.0,
) -> CheckReport:
    """Look for a split of a text that breaks what a chain promises, as `turngate processors check` does.

    `chain` is a `Deps` or a list of output processors, `texts` come beside those that are built in. `report.ok` says that
    nothing is wrong, `report.findings` what is (`processors.checker.Finding`), `report.members` which windows hold. A
    call that takes longer than `limit_s` seconds counts as hanging. The chain runs in a forked process.

    Raises:
        DepsError: the chain is no list of output processors.
        CheckerError: this system cannot fork processes.
    """
    deps = chain if isinstance(chain, Deps) else Deps(output_processors=chain)
    options = Options(texts=given_texts(texts), window=window, seed=seed, limit_s=limit_s)
    return check(lambda: deps, options)


def gate_policy(deps: Deps) -> Policy:
    """Return the gate's policy for the output chain of `deps`."""
    return Policy(mode=deps.manifest.release_mode, window=deps.manifest.window_chars)


async def _run(deps: Deps, frames: Iterable[str | Mapping[str, Any]]) -> GateResult:
    chains = InlineChainRunner(deps)
    await chains.start()
    try:
        run = GateRun(chains, gate_policy(deps), deps.scanners() if deps.manifest.release_mode == "scan" else None)
        releases = [text async for text in run.feed(frames)]
    finally:
        await chains.stop()
    end = run.end
    if end is None:
        raise RuntimeError("the gate let an answer end without an outcome")
    return GateResult(releases, end.outcome, end.text, end.error, end.processor, end.reason)


def _in_own_loop(deps: Deps, frames: Iterable[str | Mapping[str, Any]]) -> GateResult:
    """Run in a thread with an event loop of its own, so that async tests can call it like any function."""
    results: list[GateResult] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            results.append(asyncio.run(_run(deps, frames)))
        except BaseException as exc:  # noqa: BLE001 - handed to the caller
            failures.append(exc)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]
