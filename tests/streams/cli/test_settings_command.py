"""`turngate settings`: every value, where it comes from, and the chains in force."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streams.settings import Settings
from tests.streams.cli.command import Cli, Done, turngate

CHAIN = """
print("printed while imported")
from processors import Deps, Incremental, Pass, input_processor, output_processor
@output_processor("wide", incremental=Incremental(lookback_chars=30))
def wide(answer): return Pass()
@output_processor("narrow", incremental=Incremental(lookback_chars=12), version="7")
def narrow(answer): return Pass()
@input_processor("ask")
def ask(prompt): return prompt
deps = Deps(output_processors=[wide, narrow], input_processors=[ask], window="sum", required_controls=["wide"])
"""


def by_setting(done: Done) -> dict[str, dict[str, Any]]:
    """Return the rows about settings."""
    return {row["setting"]: row for row in done.rows if "setting" in row}


def test_each_value_is_shown_with_where_it_comes_from(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Command line before environment before file before default."""
    (tmp_path / "turngate.toml").write_text('prefix = "filed."\npartitions = 3\nreplication = 2\n')
    monkeypatch.setenv("TURNGATE_PARTITIONS", "5")
    monkeypatch.setenv("TURNGATE_BROKER", "one:1")
    rows = by_setting(cli("settings", "--json", "--broker", "two:2"))
    assert set(rows) == set(Settings.model_fields)
    shown = {name: (rows[name]["value"], rows[name]["from"]) for name in ("broker", "partitions", "prefix", "on_busy")}
    assert shown == {
        "broker": ("two:2", "command line"),
        "partitions": (5, "environment"),
        "prefix": ("filed.", "turngate.toml"),
        "on_busy": ("queue", "default"),
    }


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_secrets_are_hidden(cli: Cli, monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]) -> None:
    """That there is one is shown."""
    monkeypatch.setenv("TURNGATE_OPENAI_API_KEY", "sk-very-secret")
    done = cli("settings", *form)
    assert done.status == 0
    assert "very-secret" not in done.out + done.err
    assert "(hidden)" in done.out


@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://api.example:8443/v1", "https://api.example:8443/v1"),
        ("http://[::1]:11434/v1", "http://[::1]:11434/v1"),
        ("https://hunter2:hunter3@api.example/v1", "https://(hidden)@api.example/v1"),
        ("https://hunter2@api.example/v1", "https://(hidden)@api.example/v1"),
        ("https://u:hunter2/hunter3@api.example/v1", "https://(hidden)@api.example/v1"),
        ("https://u:hunter2?hunter3@api.example/v1", "(hidden)"),
        ("hunter2:hunter3@api.example/v1", "(hidden)@api.example/v1"),
        (
            "https://api.example/v1?api_key=hunter2&hunter3#hunter4",
            "https://api.example/v1?api_key=(hidden)&(hidden)#(hidden)",
        ),
    ],
)
def test_secrets_in_addresses_are_hidden(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, url: str, shown: str, form: tuple[str, ...]
) -> None:
    """The rest of an address is shown: it says where requests go."""
    monkeypatch.setenv("TURNGATE_OPENAI_BASE_URL", url)
    done = cli("settings", *form)
    assert done.status == 0
    assert "hunter" not in done.out + done.err
    assert by_setting(cli("settings", "--json"))["openai_base_url"]["value"] == shown


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_secrets_of_providers_are_hidden(cli: Cli, monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]) -> None:
    """Entry by entry: where they are and what they have is shown."""
    spare = {"base_url": "https://hunter1:hunter2@api.example/v1", "models": ["qwen*"], "api_key": "hunter3"}
    monkeypatch.setenv("TURNGATE_PROVIDERS", json.dumps({"spare": spare}))
    done = cli("settings", *form)
    assert done.status == 0
    assert "hunter" not in done.out + done.err
    assert by_setting(cli("settings", "--json"))["providers"]["value"] == {
        "spare": {"base_url": "https://(hidden)@api.example/v1", "models": ["qwen*"], "api_key": "(hidden)"}
    }


def test_the_chains_in_force_are_shown_with_their_origin(tmp_path: Path) -> None:
    """What the operator's module prints is not among the results."""
    (tmp_path / "chain.py").write_text(CHAIN)
    done = turngate("settings", "--json", "--deps", "chain:deps", cwd=tmp_path)
    assert done.status == 0
    members = [(row["chain"], row["position"], row["processor"]) for row in done.rows if "processor" in row]
    assert members == [("input", 0, "ask"), ("output", 0, "wide"), ("output", 1, "narrow")]
    assert all(row["from"] == "chain:deps" for row in done.rows if "processor" in row)
    assert done.rows[-2]["version"] == "7"
    assert done.rows[-1] == {
        "release": "incremental",
        "window": "sum",
        "window_chars": 42,
        "required_controls": ["wide"],
        "history": None,
        "gate_post_processed": False,
        "carry_across_steps": False,
    }
    assert "printed while imported" in done.err


TURN = """
from processors import *
@message_rule("house")
def house(message): return Proceed()
@tool_rule("no-refunds")
def no_refunds(check): return Allow()
@pre_processor("hours")
def hours(message): return Proceed()
@post_processor("footer")
def footer(reply): return ModifiedResponse(reply.text)
@input_processor("ask")
def ask(prompt): return prompt
@output_processor("judge")
def judge(answer): return Pass()
@tool(description="Tell the time.", timeout_s=5)
def clock() -> str: return "noon"
deps = Deps(
    governance=[no_refunds, house], pre_processors=[hours], input_processors=[ask], output_processors=[judge],
    post_processors=[footer], tools=[clock], history=LastMessages(9), prompt_builder=lambda prompt: "now",
    agents=[Agent("desk", system="Keep a secret.", tools=("clock",), history=TokenLimit(50)), Agent("free")],
    budgets=[Budget("user", 1000, 60), Budget("tenant", 5, 1.5, only="acme")], gate_post_processed=True,
    carry_across_steps=True,
)
own = Deps(history=lambda messages: messages)
"""


def test_what_a_turn_is_made_of_is_shown_in_the_order_of_a_turn(tmp_path: Path) -> None:
    """Rules, chains and what derives prompts; tools, agents and budgets; no system prompt, which is text."""
    (tmp_path / "whole.py").write_text(TURN)
    done = turngate("settings", "--json", "--deps", "whole:deps", cwd=tmp_path)
    assert done.status == 0
    rows = [row for row in done.rows if "setting" not in row]
    assert [(row["chain"], row["processor"]) for row in rows if "processor" in row] == [
        ("governance", "house"),
        ("pre", "hours"),
        ("prompt_builder", "prompt-builder"),
        ("input", "ask"),
        ("output", "judge"),
        ("tool_rule", "no-refunds"),
        ("post", "footer"),
    ]
    assert rows[7:-1] == [
        {"tool": "clock", "timeout_s": 5.0},
        {"agent": "desk", "model": None, "tools": ["clock"], "max_steps": None, "history": "50 tokens"},
        {"agent": "free", "model": None, "tools": None, "max_steps": None, "history": None},
        {"budget": "user", "tokens": 1000, "per_s": 60, "only": None},
        {"budget": "tenant", "tokens": 5, "per_s": 1.5, "only": "acme"},
    ]
    assert (rows[-1]["history"], rows[-1]["gate_post_processed"], rows[-1]["carry_across_steps"]) == (
        "9 messages",
        True,
        True,
    )
    assert "Keep a" not in done.out
    own = turngate("settings", "--json", "--deps", "whole:own", cwd=tmp_path)
    assert own.rows[-1]["history"] == "own function"


def test_what_a_turn_is_made_of_is_said_in_sentences(tmp_path: Path) -> None:
    """For people."""
    (tmp_path / "whole.py").write_text(TURN)
    done = turngate("settings", "--deps", "whole:deps", cwd=tmp_path)
    assert done.status == 0
    for sentence in (
        "Tools: clock.",
        "Agents: desk, free.",
        "Budget: 1,000 tokens in 60 s for each user.",
        "Budget: 5 tokens in 1.5 s for tenant acme.",
        "History: the last 9 messages.",
        "passes the output chain again",
        "judged as one text",
    ):
        assert sentence in done.out


def test_without_processors_it_says_that_answers_go_out_unjudged(cli: Cli) -> None:
    """That is allowed, and nobody should be in doubt about it."""
    done = cli("settings")
    assert "unjudged" in done.out
    assert cli("settings", "--json").rows[-1]["release"] == "live"


def test_processors_that_do_not_load_are_status_2_after_the_settings(cli: Cli) -> None:
    """The settings show which Deps was looked for."""
    done = cli("settings", "--json", "--deps", "no_such_module:deps")
    assert done.status == 2
    assert by_setting(done)["deps"]["value"] == "no_such_module:deps"
    assert "no_such_module" in done.sentence


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("prefx = 'x'", "unknown setting prefx in turngate.toml, did you mean prefix?"),
        ("TURNGATE_PARTITIONS = 8", "unknown setting TURNGATE_PARTITIONS in turngate.toml: write `partitions` there"),
        ("Partitions = 'many'", "write `partitions` there"),
        ("prefix", "turngate.toml is not TOML"),
        ("partitions = 'many'", "TURNGATE_PARTITIONS"),
    ],
)
def test_a_bad_file_is_status_2(cli: Cli, tmp_path: Path, file: str, said: str) -> None:
    """The entry is named, its value is not."""
    (tmp_path / "turngate.toml").write_text(file)
    done = cli("settings")
    assert done.status == 2
    assert said in done.sentence
    assert "many" not in done.sentence


def test_a_list_that_is_no_json_is_refused_by_name(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes a bare word is told the form."""
    monkeypatch.setenv("TURNGATE_VOICE_CHANNELS", "voice")
    done = cli("settings")
    assert done.status == 2
    assert "TURNGATE_VOICE_CHANNELS" in done.sentence
    assert "JSON list" in done.sentence
