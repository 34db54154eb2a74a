"""`docs/wire.md` says what the code does: every topic, record, field, kind and error, and none beside them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from aiokafka.partitioner import murmur2
from pydantic import BaseModel

from tests.docs.markdown import ROOT, Fence, code, codes, fences, sections
from tests.docs.regenerate import made
from topics import codec, names, records
from topics.errors import WireError
from topics.layout import wanted_layout
from topics.names import BY_NAME, TOPICS, Names, Topic
from topics.records import TERMINAL_KINDS, ErrorName, RejectedFrame, ReleasedRecord
from topics.reference import base_of
from topics.schemas import models, records_of

PAGE = ROOT / "docs" / "wire.md"
SECTIONS = sections(PAGE)
MODELS = models()
EXAMPLES = [fence for fence in fences(PAGE) if fence.language == "json"]
FOUR, TWELVE = 4, 12


def classes_on(topic: Topic) -> list[type[BaseModel]]:
    """Return the record classes that a topic's records may have, in their order."""
    return [MODELS[name] for name in records_of(topic)]


@pytest.mark.parametrize("path", sorted(made()), ids=lambda path: path.name)
def test_what_is_made_from_the_code_is_as_the_code_is(path: Path) -> None:
    """Tables, schemas and the AsyncAPI document; `make reference` writes them."""
    assert path.read_text(encoding="utf-8") == made()[path], "run `make reference`"


def test_no_schema_is_left_of_a_topic_that_is_gone() -> None:
    """`make reference` takes it away."""
    assert {path.name for path in (ROOT / "docs" / "schemas").iterdir()} == {f"{topic.name}.json" for topic in TOPICS}


def test_the_journals_are_named() -> None:
    """What `topics create` makes beside the table is told too."""
    made = {layout.name for layout in wanted_layout(Names(), FOUR)}
    told = {name for name in codes(SECTIONS["Topics"].text) if name.startswith(names.DEFAULT_PREFIX)} - {
        names.DEFAULT_PREFIX
    }
    assert told == made - {Names().topic(topic) for topic in TOPICS}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_each_record_says_which_fields_it_has_beside_its_own(name: str) -> None:
    """In the words before its table, which are written by hand."""
    base = base_of(MODELS[name])
    prose = " ".join(SECTIONS[f"`{name}`"].lines).partition("|")[0]
    words = prose.replace("as the fields of", "the fields of")
    assert f"the fields of `{base.__name__}`, and:" in words if base else "the fields of" not in words


def test_no_record_is_made_up() -> None:
    """There is a section for each model, and for nothing else that looks like one."""
    assert {code(title) for title in SECTIONS if title.startswith("`")} == set(MODELS)


def test_each_record_says_where_it_is() -> None:
    """The section of each topic's record names the topic; frames of `released` have theirs in common."""
    for topic in TOPICS:
        for model in classes_on(topic):
            where = ReleasedRecord if issubclass(model, ReleasedRecord) else model
            assert f"On `{topic.name}`" in SECTIONS[f"`{where.__name__}`"].text


def test_the_kinds_of_released_frames() -> None:
    """All kinds, and which of them end a turn."""
    table, *_ = [table for table in SECTIONS["Read an answer"].tables if "kind" in table[0]]
    kinds = {model.model_fields["kind"].default for model in classes_on(names.RELEASED_FRAMES)}
    assert {code(row["kind"]): row["ends the turn"] for row in table} == {
        kind: "yes" if kind in TERMINAL_KINDS else "no" for kind in kinds
    }


def test_the_errors_of_turns() -> None:
    """All that `failed` can say, and the one that `rejected` says."""
    table, *_ = [table for table in SECTIONS["Read an answer"].tables if "error" in table[0]]
    assert {code(row["error"]) for row in table} == {
        *get_args(ErrorName),
        RejectedFrame.model_fields["error"].default,
    }


def test_the_kinds_of_dead_letters() -> None:
    """What workers put into a dead letter's `error`: the codec's errors, and those that desks name themselves."""
    named = set(errors_in_calls("Refused", "_refuse_frame", "_refuse_request"))
    _, table = SECTIONS["`DeadLetter`"].tables
    assert {code(row["dead letter"]) for row in table} == named | set(names_below(WireError))


def names_below(error: type[Exception]) -> Iterator[str]:
    """Yield the names of the classes derived from an error, near or far."""
    for kind in error.__subclasses__():
        yield kind.__name__
        yield from names_below(kind)


def errors_in_calls(*functions: str) -> Iterator[str]:
    """Yield the names of errors that are written out as arguments of these functions in the workers' desks."""
    for path in (ROOT / "streams").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in functions:
                values = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
                yield from (value for value in values if isinstance(value, str) and value.endswith("Error"))


def test_the_partition_numbers() -> None:
    """The numbers that other implementations are to be checked with."""
    table = SECTIONS["Keys and partitions"].tables[1]
    for row in table:
        hashed = murmur2(code(row["key"]).encode()) & 0x7FFFFFFF
        cells = (row["murmur2(key) & 0x7fffffff"], row["n = 4"], row["n = 12"])
        assert cells == (str(hashed), str(hashed % FOUR), str(hashed % TWELVE))


def spelt_out(data: dict[str, Any]) -> dict[str, Any]:
    """Return a record with a bare text as `message` put into its part, as it is read."""
    message = data.get("message")
    if not isinstance(message, str) or "kind" in data:
        return data
    return {**data, "message": [{"type": "text", "text": message}]}


@pytest.mark.parametrize("fence", EXAMPLES, ids=lambda fence: fence.place)
def test_examples_are_records(fence: Fence) -> None:
    """Each is read as its topic's record, and has no field that the record does not have, at any depth."""
    topic = BY_NAME[fence.info[1]]
    record = codec.decode(fence.text.encode(), topic.shape)
    assert record.model_dump(mode="json", exclude_unset=True) == spelt_out(json.loads(fence.text))


def test_each_topic_that_others_write_or_read_has_an_example() -> None:
    """Requests, what a reader gets, and both sides of a model server and of a tool runner."""
    called = {"prompts", "frames", "cancels", "tool-calls", "tool-results"}
    assert {fence.info[1] for fence in EXAMPLES} == {"requests", "released", *called}


def test_examples_of_the_right_partition() -> None:
    """The partition that the examples name is that of their key among four."""
    for fence in EXAMPLES:
        data = json.loads(fence.text)
        if "partition" in data:
            record = records.CallRecord.model_validate(data)
            assert data["partition"] == record.turn.thread.partition(FOUR)


def test_limits_are_those_of_the_desks() -> None:
    """The sizes that the page gives."""
    from streams.gate.policy import Policy  # noqa: PLC0415 - only here
    from streams.turns.desk_settings import DeskSettings  # noqa: PLC0415 - the same

    settings, policy = DeskSettings(partitions=1), Policy()
    text = " ".join(SECTIONS["Rules for every record"].lines)
    for what, size in (
        ("for a request", settings.max_request_bytes),
        ("for a user", settings.max_user_bytes),
        ("for a prompt", policy.max_prompt_bytes),
        ("for a model frame", settings.max_frame_bytes),
        ("of JSON", policy.max_record_bytes),
    ):
        assert f"{size // 1024} KiB {what}" in text
    assert f"nested {codec.MAX_DEPTH} levels deep" in text


def test_limits_and_errors_are_those_of_the_tool_runner() -> None:
    """The sizes that the page gives, and every name that an error of the runner's own begins with."""
    from streams.runner.desk import MAX_CALL_ID_CHARS  # noqa: PLC0415 - only here
    from streams.tools import answers  # noqa: PLC0415 - the same

    section = SECTIONS["Let your own tool runner answer"]
    assert f"{answers.MAX_RESULT_BYTES // 1024} KiB per result" in " ".join(section.lines)
    assert f"{MAX_CALL_ID_CHARS} characters at most" in SECTIONS["`ToolCallRequest`"].text
    own = [one for one in vars(answers).values() if isinstance(one, answers.ToolAnswer)]
    own += [answers.timed_out(1.0), answers.too_large(2, 1, "bytes")]
    (table,) = section.tables
    told = {name for row in table for name in codes(row["what the result says"])}
    assert told == {*(one.failure for one in own), "ToolArgumentsError"}
