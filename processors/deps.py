"""What the operator declares: one `Deps` object with the chains of every kind, and how it is found.

`TURNGATE_DEPS=module:attribute` names it. It is the floor: it applies to every agent, persona, tenant and step.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Literal, TypeAlias

from processors.declare import CONTROLS, Declaration, Kind, Processor, as_processor
from processors.errors import DeclarationError, DepsError, DepsImportError, RequiredControlError
from processors.scanner import ScannerChain

Window: TypeAlias = Literal["widest", "sum"]
ReleaseMode: TypeAlias = Literal["live", "whole", "incremental", "scan"]


@dataclass(frozen=True)
class Manifest:
    """What is declared, without the code: for those who decide about chains but do not run them.

    Each list is in the order its chain runs in. Can be sent to another process.
    """

    output: tuple[Declaration, ...] = ()
    input: tuple[Declaration, ...] = ()
    pre: tuple[Declaration, ...] = ()
    post: tuple[Declaration, ...] = ()
    required_controls: tuple[str, ...] = ()
    window: Window = "widest"

    def chain(self, kind: Kind) -> tuple[Declaration, ...]:
        """Return the members of one kind, in the order they run in."""
        members: tuple[Declaration, ...] = getattr(self, kind)
        return members

    def __bool__(self) -> bool:
        """Tell whether anything is declared at all."""
        return bool(self.output or self.input or self.pre or self.post)

    @property
    def release_mode(self) -> ReleaseMode:
        """How answers are released: as they come, after the whole answer is judged, prefix by prefix, or scanned."""
        if not self.output:
            return "live"
        if all(member.scans and member.linear_time for member in self.output):
            return "scan"
        return "incremental" if all(member.incremental is not None for member in self.output) else "whole"

    @property
    def window_chars(self) -> int:
        """How many characters at the end of the chain's output an incremental release holds back."""
        lookbacks = [member.incremental.lookback_chars for member in self.output if member.incremental is not None]
        return sum(lookbacks) if self.window == "sum" else max(lookbacks, default=0)


@dataclass(frozen=True, init=False)
class Deps:
    """The chains that apply to every turn.

    Output and input processors run in the order given, each on what the one before it made; pre- and post-processors
    in order of (priority, name). `required_controls` names input and output processors without which nothing may
    start. `window` is how the lookbacks of an incremental output chain combine: the widest of them, or their sum for
    chains whose members feed each other.
    """

    output_processors: tuple[Processor, ...]
    input_processors: tuple[Processor, ...]
    pre_processors: tuple[Processor, ...]
    post_processors: tuple[Processor, ...]
    required_controls: tuple[str, ...]
    window: Window
    manifest: Manifest = field(repr=False, compare=False)

    def __init__(
        self,
        *,
        output_processors: Iterable[object] = (),
        input_processors: Iterable[object] = (),
        pre_processors: Iterable[object] = (),
        post_processors: Iterable[object] = (),
        required_controls: Iterable[str] = (),
        window: Window = "widest",
    ) -> None:
        """Check and sort what is given.

        Raises:
            DepsError: an entry is no processor of its list's kind, or a name is there twice.
            RequiredControlError: a required control is not among the input and output processors.
        """
        by_priority = attrgetter("priority", "name")
        chains: dict[Kind, tuple[Processor, ...]] = {
            "output": _members("output", output_processors),
            "input": _members("input", input_processors),
            "pre": tuple(sorted(_members("pre", pre_processors), key=by_priority)),
            "post": tuple(sorted(_members("post", post_processors), key=by_priority)),
        }
        if window not in ("widest", "sum"):
            raise DepsError('Deps: window must be "widest" or "sum"')
        required = _required(required_controls, chains)
        declared = {kind: tuple(member.declaration() for member in members) for kind, members in chains.items()}
        manifest = Manifest(
            output=declared["output"],
            input=declared["input"],
            pre=declared["pre"],
            post=declared["post"],
            required_controls=required,
            window=window,
        )
        values = {f"{kind}_processors": members for kind, members in chains.items()}
        for name, value in (values | {"required_controls": required, "window": window, "manifest": manifest}).items():
            object.__setattr__(self, name, value)

    def chain(self, kind: Kind) -> tuple[Processor, ...]:
        """Return the members of one kind, in the order they run in."""
        members: tuple[Processor, ...] = getattr(self, f"{kind}_processors")
        return members

    def scanners(self) -> Callable[[], ScannerChain] | None:
        """Return what opens the output chain's scanners, if every member has one. Only in mode `scan` are they to be run."""
        openers = [member.open_scanner for member in self.output_processors]
        found = [opener for opener in openers if opener is not None]
        if not found or len(found) < len(openers):
            return None
        return lambda: ScannerChain(found)


def load_deps(spec: str, *, paths: Sequence[str | Path] = ()) -> Deps:
    """Import the `Deps` that `spec` names as `module:attribute`; a list of output processors will do.

    A console script, unlike `python -m`, does not find modules in the current directory. Directories in `paths` are
    therefore put in front of `sys.path`, where they stay: the module may import its neighbours later, while it runs.

    Raises:
        DepsImportError: the module cannot be imported, or has no such attribute, or the attribute is something else.
        DepsError: a list there is no chain of output processors.
    """
    module_name, separator, attribute = spec.partition(":")
    if not (module_name and separator and attribute):
        raise DepsImportError(f"{spec!r} does not say where the Deps is: write module:attribute, e.g. my_app.gate:deps")
    for path in reversed([str(path) for path in paths]):
        if path not in sys.path:
            sys.path.insert(0, path)
    found = _attribute(_module(module_name, spec, paths), attribute, spec)
    if isinstance(found, Deps):
        return found
    if isinstance(found, list | tuple):
        return Deps(output_processors=found)
    raise DepsImportError(
        f"{spec} is of type {type(found).__name__}: it must be a Deps(...), or a list of output processors"
    )


def _members(kind: Kind, given: Iterable[object]) -> tuple[Processor, ...]:
    """Return the processors of one list, checked."""
    listed = f"{kind}_processors"
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DepsError(f"Deps: {listed} must be a list of processors, not {type(given).__name__}")
    members: list[Processor] = []
    for position, member in enumerate(given):
        try:
            members.append(as_processor(member, kind))
        except DeclarationError as error:
            raise DepsError(f"Deps: {listed}[{position}]: {error}") from error
    names = [member.name for member in members]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DepsError(f"Deps: {listed} has more than one of: {', '.join(twice)}. Give each its own name.")
    return tuple(members)


def _required(given: Iterable[str], chains: dict[Kind, tuple[Processor, ...]]) -> tuple[str, ...]:
    """Return the names of required controls; all of them are active."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DepsError(f"Deps: required_controls must be a list of names, not {type(given).__name__}")
    required = tuple(given)
    active = {member.name for kind in CONTROLS for member in chains[kind]}
    missing = [str(name) for name in required if name not in active]
    if missing:
        raise RequiredControlError(
            f"required_controls: not active: {', '.join(missing)}. Active controls: "
            f"{', '.join(sorted(active)) or 'none'}. Add them to input_processors or output_processors."
        )
    return required


def _module(name: str, spec: str, paths: Sequence[str | Path]) -> object:
    """Import a module, or say why that failed."""
    try:
        return importlib.import_module(name)
    except DepsError as error:  # a `Deps` was there, and is wrong: that error says it all but where
        raise type(error)(f"{spec}: {error}") from error
    except (Exception, SystemExit) as error:  # importing runs the module: anything may come of it
        where = f" and {', '.join(map(str, paths))}" if paths else ""
        absent = error.name if isinstance(error, ModuleNotFoundError) else None
        hint = (
            f"Looked in the installed packages{where}. Is it spelt right, and installed or in one of these places?"
            if absent is not None and (name == absent or name.startswith(f"{absent}."))
            else "The module was found, but fails while it is imported: mend that, then start again."
        )
        what = f"{type(error).__name__}: {_sentence(error)}"
        raise DepsImportError(f"{spec}: cannot import {name!r}: {what} {hint}") from error


def _sentence(error: BaseException) -> str:
    """Return the message of an error, ended with one full stop."""
    return f"{error}".rstrip(".") + "."


def _attribute(module: object, attribute: str, spec: str) -> object:
    """Look up a possibly dotted attribute of a module."""
    found = module
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            candidates = sorted(name for name, value in vars(module).items() if isinstance(value, Deps))
            hint = f"It has: {', '.join(candidates)}." if candidates else "There is no Deps object in it."
            raise DepsImportError(f"{spec}: the module was imported but has no {attribute!r}. {hint}") from error
    return found
