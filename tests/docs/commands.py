"""Commands as pages show them: found, parsed by what would run them, and run."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import typer
from typer.core import TyperCommand, TyperGroup

from streams.cli.app import app
from tests.docs.markdown import ROOT, Fence
from tests.streams.cli.command import environment

LIMIT_S = 60
SHELL = shutil.which("bash") or "/bin/sh"

#: What is in code font, begins like a command and is none: labels that keys are derived with.
NO_COMMANDS = {"turngate key check", "turngate seal"}

_ELISION = "..."
_WILDCARD = "…"
_COMMENT = re.compile(r"\s+# (.*)$")
_STATUS = re.compile(r"exits with (\d+)")
_COMMAND = re.compile(
    r"\s*(?:(?:[$#>]\s+)?(?:turngate|make|pip|python3?|docker|helm|kubectl|curl) \S|[$] \S|export [A-Z_]+=)"
)
_TARGET = re.compile(r"^([a-z][\w-]*):", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """A line that begins with `$`: what is typed, the lines shown beneath it, and what it is to exit with."""

    text: str
    shown: tuple[str, ...]
    status: int

    def matches(self, output: str) -> bool:
        """Say whether `output` is what is shown: a line of three dots stands for any lines, `…` for any text of a line."""
        lines = (
            r"(?:.*\n)*" if line == _ELISION else ".*".join(map(re.escape, line.split(_WILDCARD))) + r"\n"
            for line in self.shown
        )
        return not self.shown or re.fullmatch("".join(lines), output) is not None


def commands_of(fence: Fence) -> list[Command]:
    """Return the commands of a console block, in order.

    What follows ` # ` is a comment; one that says `exits with N` is taken at its word, other commands exit with 0.
    """
    found: list[tuple[str, list[str]]] = []
    for line in fence.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            assert found, f"{fence.place}: output before any command"
            found[-1][1].append(line)
    return [_command(text, shown) for text, shown in found]


def _command(text: str, shown: list[str]) -> Command:
    comment = _COMMENT.search(text)
    status = _STATUS.search(comment[1]) if comment is not None else None
    return Command(_COMMENT.sub("", text), tuple(shown), int(status[1]) if status is not None else 0)


def run(command: str, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command with this environment's `turngate` and `python`, to its end."""
    code = "import sys, turngate; sys.exit(turngate.main())"
    python = shlex.quote(sys.executable)
    functions = f'turngate() {{ {python} -P -c {shlex.quote(code)} "$@"; }}\npython() {{ {python} "$@"; }}'
    return subprocess.run(
        [SHELL, "-u", "-c", f"{functions}\n{command}"],
        cwd=cwd,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def reason_not_to_run(command: str, reasons: Mapping[str, str]) -> str | None:
    """Return why a command is not run, by what it begins with, or None if it is."""
    return next((why for start, why in reasons.items() if command.startswith(start)), None)


def check_parses(command: str) -> None:
    """Have the command line parse what is typed after `turngate`, without doing it; fails for an option it does not have."""
    words = shlex.split(command)
    if "turngate" in words:
        found, arguments = _turngate(words[words.index("turngate") + 1 :], command)
        assert not isinstance(found, TyperGroup), f"{command}: no command"
        found.make_context(command, arguments)


def check_names(command: str) -> None:
    """Check that what prose mentions in code font is there: the command, its options, the target, the module, the files.

    Values may be words such as `NAME`, so they are not looked at.
    """
    if command in NO_COMMANDS:
        return
    match command.split():
        case ["turngate", *words]:
            found, arguments = _turngate(words, command)
            known = {name for option in found.params for name in (*option.opts, *option.secondary_opts)}
            assert {word for word in arguments if word.startswith("--")} <= known | {"--help"}, command
        case ["make", target, *_]:
            assert target in _TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")), command
        case ["python", "-m", module, *_] if module.startswith(("bench.", "tests.")):
            assert (ROOT / module.replace(".", "/")).with_suffix(".py").exists(), command
        case [program, *words] if program.endswith("/pytest"):
            assert all((ROOT / word).exists() for word in words if word.startswith("tests/")), command


def _turngate(words: list[str], command: str) -> tuple[TyperGroup | TyperCommand, list[str]]:
    current = typer.main.get_command(app)
    assert isinstance(current, TyperGroup)
    found: TyperGroup | TyperCommand = current
    while words and isinstance(found, TyperGroup):
        name = words[0]
        if name.startswith("-"):
            break
        assert name in found.commands, f"{command}: there is no {name}"
        inner = found.commands[name]
        assert isinstance(inner, TyperGroup | TyperCommand)
        found, words = inner, words[1:]
    return found, words


def hidden_commands(text: str) -> Iterator[str]:
    """Yield lines outside of console blocks that look like commands to type."""
    for line in text.splitlines():
        if _COMMAND.match(line):
            yield line
