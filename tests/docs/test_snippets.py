"""What pages show is run: Python as it stands, commands with the output that is shown beneath them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.commands import (
    Command,
    check_names,
    check_parses,
    commands_of,
    hidden_commands,
    reason_not_to_run,
    run,
)
from tests.docs.markdown import NAMES, PAGES, ROOT, codes, fences, prose

#: Pages whose commands only make sense in their order, each with the test that goes through all of it.
WALKED = {
    "docs/quickstart.md": "tests/docs/test_quickstart.py",
    "docs/operating.md": "tests/docs/test_operating.py",
}

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
    "make bench": "takes half an hour, and builds an environment",
    ".venv-bench/": "needs that environment",
    "npm install": "fetches a package",
    "node ask.mjs": "needs kafkajs and a running pipeline; tests/integration/test_readers.py runs it in one",
    "go ": "fetches modules, and needs a running pipeline; tests/integration/test_readers.py runs it in one",
    "docker ": "needs an engine; tests/deploy/test_compose.py runs the commands of its containers",
    "export GRAFANA_PASSWORD": "is for those",
    "turngate keys create me": "writes a file; tests/deploy/test_compose.py makes a key so",
    "pip install": "fetches packages; tests/packaging/test_install.py installs the wheel with each extra",
    "pip wheel": "builds it; tests/architecture/test_wheel.py does, and looks into it",
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
    "turngate topics create": "needs a broker; tests/streams/cli/test_topics_command.py runs it",
    "turngate topics drain": "needs a pipeline; tests/streams/cli/test_drain.py runs it on one",
    "turngate send": "needs a running pipeline; tests/streams/cli/test_up.py runs it",
}
#: Languages that are no code of ours to run: pictures, records (see test_wire.py), readers (see test_readers.py here
#: and in tests/integration), the settings file (see test_settings_page.py), other projects' configuration, Docker's file.
OTHER_LANGUAGES = {"", "go", "json", "js", "toml", "ts", "yaml", "dockerfile"}

#: What is run begins with one of these: nothing that builds or fetches runs because somebody forgot to excuse it.
HARMLESS = ("turngate ", "export TURNGATE_", "export OTEL_", "printf ")

FENCES = [fence for page in PAGES for fence in fences(page)]
RUN = [fence for fence in FENCES if NAMES[fence.page] not in WALKED]
PYTHON = [fence for fence in RUN if fence.language == "python" and "elsewhere" not in fence.info]
CONSOLE = [
    pytest.param(command, id=f"{fence.place}-{number}")
    for fence in RUN
    if fence.language == "console"
    for number, command in enumerate(commands_of(fence))
]


def test_every_block_is_known() -> None:
    """A block in a language that nobody looks after would be checked by nothing."""
    assert {fence.language for fence in FENCES} <= {"python", "console"} | OTHER_LANGUAGES


def test_every_exception_is_needed() -> None:
    """Nothing is excused that is not there any more, and what is said to stand in for it is there."""
    shown = [command.text for parameter in CONSOLE for command in parameter.values if isinstance(command, Command)]
    assert [start for start in NOT_RUN_COMMANDS if not any(one.startswith(start) for one in shown)] == []
    assert [mark for mark in NOT_RUN_PYTHON if not any(mark in fence.text for fence in PYTHON)] == []
    for why in (*NOT_RUN_COMMANDS.values(), *NOT_RUN_PYTHON.values(), *WALKED.values()):
        assert all((ROOT / path.rstrip(".")).exists() for path in re.findall(r"tests/[\w/.]+", why)), why
    assert set(WALKED) <= set(NAMES.values())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: NAMES[page])
def test_commands_are_in_console_blocks(page: Path) -> None:
    """Elsewhere nobody would run them: not in a block of another language, nor in an indented one."""
    blocks = [fence.text for fence in fences(page) if fence.language not in {"console", "dockerfile"}]
    indented = [line for line in prose(page) if line.startswith("    ")]
    assert [line for line in prose(page) if line.strip()[:3] in {"```", "~~~"}] == [], "begin blocks at the margin"
    assert [line for text in (*blocks, "\n".join(indented)) for line in hidden_commands(text)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: NAMES[page])
def test_commands_that_prose_mentions_are_there(page: Path) -> None:
    """With the options that are named."""
    for text in codes("\n".join(prose(page))):
        check_names(text)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(fence.page == page for fence in PYTHON)], ids=lambda p: NAMES[p]
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
        if not any(mark in fence.text for mark in NOT_RUN_PYTHON):
            exec(code, namespace)  # noqa: S102 - our own pages
            ran += 1
    assert ran or page.name in {"wire.md", "gateway.md", "readers.md"}


@pytest.mark.parametrize("command", CONSOLE)
def test_commands_do_what_is_shown(command: Command) -> None:
    """A command exits as is said and prints what is shown."""
    check_parses(command.text)
    if reason_not_to_run(command.text, NOT_RUN_COMMANDS) is not None:
        return
    assert command.text.startswith(HARMLESS), "say in NOT_RUN_COMMANDS why it is not run, or that it is harmless"
    done = run(command.text)
    assert done.returncode == command.status, done.stderr
    assert command.matches(done.stdout), done.stdout


def test_the_readme_shows_the_example_as_it_is() -> None:
    """But for its text and its imports of the future, which say nothing to a reader of the README."""
    (shown,) = [fence for fence in FENCES if fence.page == ROOT / "README.md" and "EMAIL = " in fence.text]
    example = ast.parse((ROOT / "examples" / "redact_emails.py").read_text(encoding="utf-8"))
    kept = [
        node
        for node in example.body
        if not (isinstance(node, ast.Expr) or (isinstance(node, ast.ImportFrom) and node.module == "__future__"))
    ]
    assert [ast.dump(node) for node in kept] == [ast.dump(node) for node in ast.parse(shown.text).body]
