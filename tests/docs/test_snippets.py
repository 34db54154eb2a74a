"""What pages show is run: Python as it stands, commands with the output that is shown beneath them."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from streams.cli.app import app
from tests.docs.markdown import PAGES, ROOT, Fence, fences
from tests.streams.cli.command import environment

LIMIT_S = 60
SHELL = shutil.which("bash") or "/bin/sh"

#: Python that is compiled and not run here: a line of it, and why.
NOT_RUN_PYTHON = {
    "openai.OpenAI(": "needs a running gateway; tests/streams/cli/test_first_steps.py runs the README's with one",
    "async with TurnClient(": "needs a running pipeline; tests/streams/cli/test_first_steps.py and "
    "tests/integration/test_readers.py run them in one",
    "async def serve(": "needs a running pipeline; tests/docs/test_model_server.py runs it in one",
}
#: Commands that are not run here: what they begin with, and why. Those of turngate are parsed all the same.
NOT_RUN_COMMANDS = {
    "curl": "needs a running gateway; tests/streams/cli/test_first_steps.py runs it with one",
    "make demo": "builds an environment; tests/streams/cli/test_demo.py runs the demo",
    "make test": "is what runs this",
    "npm install": "fetches a package",
    "node ask.mjs": "needs kafkajs and a running pipeline; tests/integration/test_readers.py runs it in one",
    "go ": "fetches modules, and needs a running pipeline; tests/integration/test_readers.py runs it in one",
    "docker ": "needs an engine; tests/deploy/test_compose.py runs the commands of its containers",
    "export GRAFANA_PASSWORD": "is for those",
    "turngate keys create me": "writes a file; tests/deploy/test_compose.py makes a key so",
    "pip install": "fetches packages; tests/architecture/test_wheel.py builds the wheel and looks into it",
    "helm ": "needs a cluster; tests/deploy/test_helm.py renders the chart",
    "kubectl ": "the same",
    "turngate up": "runs until it is stopped; tests/streams/cli/test_up.py runs it",
    **dict.fromkeys(
        (
            "turngate processors push",
            "turngate processors deploy",
            "turngate processors list",
            "turngate processors rollback",
        ),
        "needs a running pipeline; tests/integration/test_deployments.py runs it in one",
    ),
    "turngate gateway": "runs until it is stopped; tests/integration/test_gateway.py has one",
    "turngate keys": "writes a file; tests/streams/cli/test_gateway_command.py runs it",
    "turngate key-ring add": "writes a key; tests/streams/cli/test_key_ring_command.py runs it",
    "turngate processors check my_app": "checks an application of the reader's; tests/streams/cli/test_check.py runs it",
    "turngate erase": "needs a running pipeline; tests/integration/test_erasing.py runs it in one",
    "turngate send": "needs a running pipeline; tests/streams/cli/test_up.py runs it",
}
#: Languages that are no code of ours to run: pictures, records (see test_wire.py), readers (see test_readers.py here
#: and in tests/integration), the settings file (see test_settings_page.py).
OTHER_LANGUAGES = {"", "go", "json", "js", "toml"}

_ELISION = "..."
_COMMENT = re.compile(r"\s+# .*$")

FENCES = [fence for page in PAGES for fence in fences(page)]
PYTHON = [fence for fence in FENCES if fence.language == "python"]


def commands_of(fence: Fence) -> list[tuple[str, list[str]]]:
    """Return the commands of a console block, each with the lines shown beneath it."""
    found: list[tuple[str, list[str]]] = []
    for line in fence.text.splitlines():
        if line.startswith("$ "):
            found.append((_COMMENT.sub("", line[2:]), []))
        else:
            assert found, f"{fence.place}: output before any command"
            found[-1][1].append(line)
    return found


CONSOLE = [
    pytest.param(command, shown, id=f"{fence.place}-{number}")
    for fence in FENCES
    if fence.language == "console"
    for number, (command, shown) in enumerate(commands_of(fence))
]


def reason_not_to_run(text: str, reasons: dict[str, str], *, at_start: bool) -> str | None:
    """Return why `text` is not run here, or None if it is."""
    found = (why for mark, why in reasons.items() if (text.startswith(mark) if at_start else mark in text))
    return next(found, None)


def test_every_block_is_known() -> None:
    """A block in a language that nobody looks after would be checked by nothing."""
    assert {fence.language for fence in FENCES} <= {"python", "console"} | OTHER_LANGUAGES


def test_every_exception_is_needed() -> None:
    """Nothing is excused that is not there any more."""
    shown = [str(parameter.values[0]) for parameter in CONSOLE]
    assert [start for start in NOT_RUN_COMMANDS if not any(one.startswith(start) for one in shown)] == []
    assert [mark for mark in NOT_RUN_PYTHON if not any(mark in fence.text for fence in PYTHON)] == []
    for why in (*NOT_RUN_COMMANDS.values(), *NOT_RUN_PYTHON.values()):
        assert all((ROOT / path).exists() for path in re.findall(r"tests/[\w/.]+\.py", why)), why


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(fence.page == page for fence in PYTHON)], ids=lambda p: p.name
)
def test_python_runs(page: Path) -> None:
    """The blocks of a page in order, one going on where the last one ended, as a reader would try them."""
    namespace: dict[str, Any] = {"__name__": page.stem}
    ran = 0
    for fence in PYTHON:
        if fence.page != page:
            continue
        top_level_await = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(fence.text, fence.place, "exec", flags=top_level_await, dont_inherit=True)
        if reason_not_to_run(fence.text, NOT_RUN_PYTHON, at_start=False) is None:
            exec(code, namespace)  # noqa: S102 - our own pages
            ran += 1
    assert ran or page.name in {"wire.md", "gateway.md", "readers.md"}


@pytest.mark.parametrize(("command", "shown"), CONSOLE)
def test_commands_do_what_is_shown(command: str, shown: list[str]) -> None:
    """A command exits with 0 and prints what is shown; a line of three dots stands for any lines."""
    check_options(command)
    if reason_not_to_run(command, NOT_RUN_COMMANDS, at_start=True) is not None:
        return
    code = "import sys, turngate; sys.exit(turngate.main())"
    turngate = f'turngate() {{ {shlex.quote(sys.executable)} -P -c {shlex.quote(code)} "$@"; }}'
    done = subprocess.run(
        [SHELL, "-eu", "-c", f"{turngate}\n{command}"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if shown:
        pattern = "".join(r"(?:.*\n)*" if line == _ELISION else re.escape(line) + r"\n" for line in shown)
        assert re.fullmatch(pattern, done.stdout), done.stdout


def check_options(command: str) -> None:
    """Let the command line parse what is typed after `turngate`, without doing it; fails for an option it does not have."""
    words = shlex.split(command)
    if "turngate" not in words:
        return
    arguments = words[words.index("turngate") + 1 :]
    current = typer.main.get_command(app)
    while arguments and isinstance(current, TyperGroup):
        assert arguments[0] in current.commands, command
        current, arguments = current.commands[arguments[0]], arguments[1:]
    assert not isinstance(current, TyperGroup), f"{command}: no command"
    current.make_context(command, arguments)


def test_the_readme_shows_the_example_as_it_is() -> None:
    """But for its text and its imports of the future, which say nothing to a reader of the README."""
    (shown,) = [fence for fence in FENCES if fence.page.name == "README.md" and "EMAIL = " in fence.text]
    example = ast.parse((ROOT / "examples" / "redact_emails.py").read_text(encoding="utf-8"))
    kept = [
        node
        for node in example.body
        if not (isinstance(node, ast.Expr) or (isinstance(node, ast.ImportFrom) and node.module == "__future__"))
    ]
    assert [ast.dump(node) for node in kept] == [ast.dump(node) for node in ast.parse(shown.text).body]
