"""What the operator declares: one `Deps` object with the chains of every kind, and how it is found.

`TURNGATE_DEPS=module:attribute` names it. It is the floor: it applies to every agent, persona, tenant and step.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from processors import listed
from processors.agents import Agent
from processors.budgets import Budget
from processors.declare import CONTROLS, KINDS, Declaration, Kind, Processor, list_of
from processors.errors import DepsError, DepsImportError
from processors.history import HistoryWindow, LastMessages, TokenLimit
from processors.manifest import Manifest, Window
from processors.scanner import OpenScanner, ScannerChain
from processors.tools import Tool


@dataclass(frozen=True, init=False)
class Deps:
    """What the operator declares: the chains that apply to every turn, and what turns are made of.

    Output and input processors run in the order given, each on what the one before it made; pre- and post-processors
    in order of (priority, name); `governance`, message rules and tool rules, in the order given and before all of them.
    `required_controls` names rules, output and input processors without which nothing may start. `window` is how the
    lookbacks of an incremental output chain combine: the widest of them, or their sum for chains whose members feed each
    other.

    `agents` and their `tools`, and the `budgets` of tenants and users, are those that turns know. `history` chooses which
    messages of a thread ride along in a prompt: a window, or a function of the operator's from messages to messages.
    `prompt_builder`, from a `Prompt` to a `Prompt` or to a text that is appended to the system prompt, adds to it before
    the input processors see it. Both functions may take the `TurnContext` as a second argument.

    With `gate_post_processed` the output chain judges what post-processors make of a reply. With `carry_across_steps` it
    judges the answers of a turn's steps as one text, so that nothing is split between two of them.
    """

    output_processors: tuple[Processor, ...]
    input_processors: tuple[Processor, ...]
    pre_processors: tuple[Processor, ...]
    post_processors: tuple[Processor, ...]
    required_controls: tuple[str, ...]
    window: Window
    governance: tuple[Processor, ...]
    tools: tuple[Tool, ...]
    agents: tuple[Agent, ...]
    budgets: tuple[Budget, ...]
    history: HistoryWindow | None
    derivation: tuple[Processor, ...]
    gate_post_processed: bool
    carry_across_steps: bool
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
        governance: Iterable[object] = (),
        tools: Iterable[object] = (),
        agents: Iterable[object] = (),
        budgets: Iterable[object] = (),
        history: HistoryWindow | Callable[..., Any] | None = None,
        prompt_builder: Callable[..., Any] | None = None,
        gate_post_processed: bool = False,
        carry_across_steps: bool = False,
    ) -> None:
        """Check and sort what is given.

        Raises:
            DepsError: an entry is not what its list holds, a name is there twice, an agent may call a tool that is not
                there, or another argument cannot be.
            RequiredControlError: a required control is not among the rules, the input and the output processors.
        """
        by_priority = attrgetter("priority", "name")
        values: dict[str, Any] = {
            "output_processors": listed.members("output", output_processors),
            "input_processors": listed.members("input", input_processors),
            "pre_processors": tuple(sorted(listed.members("pre", pre_processors), key=by_priority)),
            "post_processors": tuple(sorted(listed.members("post", post_processors), key=by_priority)),
            "governance": listed.rules(governance),
            "tools": listed.tools(tools),
            "budgets": listed.budgets(budgets),
            "derivation": listed.derivation(history, prompt_builder),
            "history": history if isinstance(history, LastMessages | TokenLimit) else None,
            "window": listed.one_of("window", window, ("widest", "sum")),
            "gate_post_processed": listed.flag("gate_post_processed", gate_post_processed),
            "carry_across_steps": listed.flag("carry_across_steps", carry_across_steps),
        }
        values["agents"] = listed.agents(agents, values["tools"])
        for name, value in values.items():
            object.__setattr__(self, name, value)
        controls = [member for kind in sorted(CONTROLS) for member in self.chain(kind)]
        object.__setattr__(self, "required_controls", listed.required(required_controls, controls))
        object.__setattr__(self, "manifest", self._manifest())

    def _manifest(self) -> Manifest:
        """Return what is declared, without the code."""
        return Manifest(
            **{kind: _declarations(self.chain(kind)) for kind in KINDS},
            derivation=_declarations(self.derivation),
            required_controls=self.required_controls,
            window=self.window,
            history=self.history,
            tools=tuple(one.spec() for one in self.tools),
            agents=self.agents,
            budgets=self.budgets,
            gate_post_processed=self.gate_post_processed,
            carry_across_steps=self.carry_across_steps,
        )

    def having(self, members: Mapping[Kind, tuple[Processor, ...]]) -> Deps:
        """Return this `Deps` with other members of each kind; all else is the same.

        Raises:
            RequiredControlError: a required control is not among them.
        """
        rules = (*members["governance"], *members["tool_rule"])
        values = {list_of(kind): chain for kind, chain in members.items() if list_of(kind) != "governance"}
        listed.required(self.required_controls, [member for kind in sorted(CONTROLS) for member in members[kind]])
        other = copy(self)
        by_priority = attrgetter("priority", "name")
        for name, value in {**values, "governance": rules}.items():
            ordered = sorted(value, key=by_priority) if name in ("pre_processors", "post_processors") else value
            object.__setattr__(other, name, tuple(ordered))
        object.__setattr__(other, "manifest", other._manifest())  # noqa: SLF001 - its own
        return other

    def chain(self, kind: Kind) -> tuple[Processor, ...]:
        """Return the members of one kind, in the order they run in."""
        members: tuple[Processor, ...] = getattr(self, list_of(kind))
        return tuple(member for member in members if member.kind == kind)

    def scanners(self) -> OpenScanner | None:
        """Return what opens the output chain's scanners, if every member has one. Only in mode `scan` are they to be run."""
        openers = [member.open_scanner for member in self.output_processors]
        found = [opener for opener in openers if opener is not None]
        if not found or len(found) < len(openers):
            return None
        # One alone has nobody to pass anything on to.
        return found[0] if len(found) == 1 else lambda: ScannerChain(found)


def load_deps(spec: str, *, paths: Sequence[str | Path] = ()) -> Deps:
    """Import the `Deps` that `spec` names as `module:attribute`; a list of output processors will do.

    A console script, unlike `python -m`, does not find modules in the current directory. Directories in `paths` are
    therefore put in front of `sys.path`, where they stay: the module may import its neighbours later, while it runs.

    Raises:
        DepsImportError: the module cannot be imported, or has no such attribute, or the attribute is something else.
        DepsError: a list there is no chain of output processors.
    """
    found = load_attribute(spec, paths=paths)
    if isinstance(found, Deps):
        return found
    if isinstance(found, list | tuple):
        return Deps(output_processors=found)
    raise DepsImportError(
        f"{spec} is of type {type(found).__name__}: it must be a Deps(...), or a list of output processors"
    )


def load_attribute(spec: str, *, paths: Sequence[str | Path] = ()) -> object:
    """Return what `spec` names as `module:attribute`; `paths` are as for `load_deps`.

    Raises:
        DepsImportError: the module cannot be imported, or has no such attribute.
    """
    module_name, separator, attribute = spec.partition(":")
    if not (module_name and separator and attribute):
        raise DepsImportError(f"{spec!r} does not say where the Deps is: write module:attribute, e.g. my_app.gate:deps")
    for path in reversed([str(path) for path in paths]):
        if path not in sys.path:
            sys.path.insert(0, path)
    return _attribute(_module(module_name, spec, paths), attribute, spec)


def _declarations(members: Iterable[Processor]) -> tuple[Declaration, ...]:
    """Return members without their code."""
    return tuple(member.declaration() for member in members)


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
