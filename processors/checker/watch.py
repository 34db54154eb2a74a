"""Running the stages in a process of its own, watching it, and ending it when a call does not come back.

The process is forked, so that chains that exist only in a test can be checked. It ends with its last stage; if it is ended
or ends before that, another one goes on behind the stage where that happened.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from typing import Any, Protocol, TypeAlias

from processors.checker import wording
from processors.checker.findings import CheckReport, Example, Finding, Measure
from processors.checker.judge import Meter
from processors.checker.stages import Setup, Stage, Stages
from processors.checker.texts import Text
from processors.deps import Deps
from processors.errors import DepsError, ProcessorsError
from processors.manifest import Window

_log = logging.getLogger(__name__)

_POLL_S = 0.05


class CheckerError(ProcessorsError):
    """The check itself could not be done: says why."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to check with: `texts` beside those built in; `window` in place of the Deps' own, `only` one member.

    A call that takes longer than `limit_s` seconds counts as hanging, a stage ends after `budget_s`. Each text is also cut
    at random, `splits` times, the same way for the same `seed`.
    """

    texts: Sequence[Text] = ()
    window: Window | None = None
    only: str | None = None
    seed: int = 0
    splits: int = 20
    limit_s: float = 5.0
    budget_s: float = 120.0


class Progress(Protocol):
    """Told how far a check has come."""

    def __call__(self, done: int, total: int, doing: str, calls: int) -> None:
        """`done` of `total` stages are through, the one under way is `doing`; so many calls were made."""


@dataclass(frozen=True, slots=True)
class _Begun:
    stage: Stage


@dataclass(frozen=True, slots=True)
class _Ended:
    stage: Stage


@dataclass(frozen=True, slots=True)
class _Failed:
    """The process could not go on: a `DepsError` of the operator's, or the class name of a fault here."""

    error: DepsError | str


_Message: TypeAlias = Setup | _Begun | _Ended | _Failed | Finding | Measure


@dataclass(slots=True)
class _State:
    """What is known so far, across processes."""

    setup: Setup | None = None
    stages: list[Stage] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    measures: dict[str | None, Measure] = field(default_factory=dict)
    current: Stage | None = None
    done: int = 0


def check(make: Callable[[], Deps], options: Options, progress: Progress | None = None) -> CheckReport:
    """Check the output chain of what `make` returns; it is called in the checking process, and there only.

    Raises:
        DepsError: there is no such chain, or no member `only`.
        CheckerError: this system has no `fork`, or the checker has a fault.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        raise CheckerError("the promise checker needs a system that can fork processes: Linux, macOS or another Unix")
    meter = Meter()
    state = _State()
    while state.setup is None or state.stages:
        _round(make, options, meter, state, progress)
    return _report(state, meter)


def _round(make: Callable[[], Deps], options: Options, meter: Meter, state: _State, progress: Progress | None) -> None:
    """Have one process go as far as it gets."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(theirs, make, options, meter, tuple(state.stages)), daemon=True)
    with warnings.catch_warnings():
        # Forking beside threads is a risk that is taken: a child that never begins is ended like one that hangs.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    theirs.close()
    try:
        _follow(ours, process, options, meter, state, progress)
    finally:
        process.kill()
        process.join()
        ours.close()


def _follow(
    link: Connection, process: Any, options: Options, meter: Meter, state: _State, progress: Progress | None
) -> None:
    """Take what a process finds until it is through, ends, or hangs; in the latter cases plan how to go on."""
    last, since = meter.beats(), time.monotonic()
    while True:
        message: _Message | None = None
        try:
            if link.poll(_POLL_S):
                message = link.recv()
        except (EOFError, OSError):
            if state.setup is not None and not state.stages:
                return
            process.join()
            _stopped(state, meter, None)
            return
        beats = meter.beats()
        now = time.monotonic()
        if message is not None or beats != last or state.current is None:
            last, since = beats, now
        if message is not None:
            _take(state, message)
        if progress is not None:
            progress(state.done, state.done + len(state.stages), _doing(state), meter.read()[0])
        if now - since > _limit(state, options):
            _stopped(state, meter, _limit(state, options))
            return


def _take(state: _State, message: _Message) -> None:
    match message:
        case Setup():
            if state.setup is None:
                state.setup, state.stages = message, message.stages()
        case _Begun():
            state.current = message.stage
        case _Ended():
            state.stages.remove(message.stage)
            state.current = None
            state.done += 1
        case _Failed(error):
            if isinstance(error, DepsError):
                raise error
            raise CheckerError(f"the promise checker has a fault ({error}): please report it")
        case Measure():
            state.measures[message.processor] = message
        case Finding():
            if message not in state.findings:
                state.findings.append(message)


def _stopped(state: _State, meter: Meter, limit_s: float | None) -> None:
    """Record that a process hung (or ended, without `limit_s`) in a call, and leave out what would end the same way."""
    stage = state.current
    setup = state.setup
    if stage is None or setup is None:
        raise CheckerError("the checking process ended before it had begun: do the processors end their process?")
    name = None if stage.member is None else setup.names[stage.member]
    _, index, length = meter.read()
    example: Example | None = None
    if stage.what not in ("speed", "pace") and index < len(setup.texts) and length <= len(setup.texts[index].text):
        example = Example(setup.texts[index], 0, length, length)
    found = wording.crashes(name, example) if limit_s is None else wording.hangs(name, limit_s, example)
    if not any((one.kind, one.processor) == (found.kind, name) for one in state.findings):
        state.findings.append(found)
    state.current = None
    state.stages.remove(stage)
    if not stage.careful:
        # It may have been a text that was made to go on for long: be careful from now on, and try again.
        shared = (stage.member, None)
        state.stages = [replace(one, careful=True) if one.member in shared else one for one in state.stages]
        if stage.what == "window":
            state.stages.insert(0, replace(stage, careful=True))
            return
    state.done += 1
    if stage.what in ("window", "steady"):
        left = [one for one in state.stages if one.member is not None and one.member != stage.member]
        state.done += len(state.stages) - len(left)
        state.stages = left


def _limit(state: _State, options: Options) -> float:
    """Return how long a call may take, in seconds; loading the processors is no call."""
    setup, stage = state.setup, state.current
    if setup is None or stage is None:
        return float("inf")
    own = setup.timeouts_s if stage.member is None else (setup.timeouts_s[stage.member],)
    return min(options.limit_s, sum(own))


def _doing(state: _State) -> str:
    stage = state.current
    if stage is None or state.setup is None:
        return "loading" if state.setup is None else ""
    return f"{stage.what}: {'the chain' if stage.member is None else state.setup.names[stage.member]}"


def _report(state: _State, meter: Meter) -> CheckReport:
    setup = state.setup
    if setup is None:
        raise CheckerError("the checking process said nothing: please report it")
    members = tuple(
        state.measures.get(name) or Measure(name, lookback, None, scans=scans)
        for name, lookback, scans in zip(setup.names, setup.lookbacks, setup.scans, strict=True)
    )
    chain = state.measures.get(None)
    if len(members) == 1:
        chain = replace(members[0], processor=None)
    elif chain is None and members:
        chain = Measure(None, setup.window if setup.mode == "incremental" else None, None, scans=setup.mode == "scan")
    state.findings, shaky = _without_advice(state.findings)
    members = tuple(replace(one, smallest=None) if one.processor in shaky else one for one in members)
    if shaky:
        chain = chain and replace(chain, smallest=None)
    levels = ("error", "warning", "note")
    order = {name: number for number, name in enumerate((*setup.names, None))}
    findings = sorted(state.findings, key=lambda one: (levels.index(one.level), order.get(one.processor, 0)))
    return CheckReport(
        findings=tuple(findings),
        members=members,
        chain=chain,
        mode=setup.mode,
        texts=len(setup.texts),
        characters=sum(len(text.text) for text in setup.texts),
        calls=meter.read()[0],
        needs_sum=_needs_sum(chain, members, setup.total),
    )


def _without_advice(findings: Sequence[Finding]) -> tuple[list[Finding], set[str | None]]:
    """Return the findings without windows for what is unsteady, and the names of what is: no window means anything there."""
    shaky = {one.processor for one in findings if one.kind == "unsteady"}
    of_window = ("window", "needs-sum", "unbounded")
    kept = [
        wording.not_for_its_window(one) if shaky and one.kind in of_window and one.processor in {*shaky, None} else one
        for one in findings
    ]
    return kept, shaky


def _needs_sum(chain: Measure | None, members: Sequence[Measure], total: int) -> bool:
    declared = [member.declared for member in members]
    if chain is None or chain.smallest is None or len(members) < 2 or None in declared:  # noqa: PLR2004 - a chain
        return False
    return max(one for one in declared if one is not None) < chain.smallest <= total


# -- in the checking process -------------------------------------------------------------------------------------------


def _work(
    link: Connection, make: Callable[[], Deps], options: Options, meter: Meter, planned: tuple[Stage, ...]
) -> None:
    """Do the planned stages, or all of them, and end this process without any of what an ending interpreter does."""
    status = 1
    try:
        _prepare()
        meter.resume()
        _do(link, _chosen(make(), options), options, meter, planned)
        status = 0
    except DepsError as error:
        link.send(_Failed(error))
    except BaseException as error:  # noqa: BLE001 - whatever it is, the watcher must know, and no text be shown
        _log.debug("the check failed", exc_info=error)
        with contextlib.suppress(Exception):
            link.send(_Failed(type(error).__name__))
    finally:
        link.close()
        os._exit(status)


def _do(link: Connection, deps: Deps, options: Options, meter: Meter, planned: tuple[Stage, ...]) -> None:
    stages = Stages(deps, options.texts, meter, seed=options.seed, splits=options.splits, budget_s=options.budget_s)
    setup = stages.setup()
    link.send(setup)
    for stage in planned or setup.stages():
        link.send(_Begun(stage))
        for found in stages.run(stage):
            link.send(found)
        link.send(_Ended(stage))


def _prepare() -> None:
    """Let what processors print go to stderr: stdout is the owner's. Ctrl-C is for the owner to heed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr
    with contextlib.suppress(OSError):
        os.dup2(2, 1)


def _chosen(deps: Deps, options: Options) -> Deps:
    """Return the chain to check."""
    members = deps.output_processors
    if options.only is not None:
        members = tuple(member for member in members if member.name == options.only)
        if not members:
            there = ", ".join(member.name for member in deps.output_processors) or "none"
            raise DepsError(f"there is no output processor named {options.only!r}; there are: {there}")
    return Deps(output_processors=members, window=options.window or deps.window)
