"""The AsyncAPI document says what the table of topics and the permissions say, and AsyncAPI's own parser reads it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from jsonschema.exceptions import ValidationError

from tests import fetched
from tests.topics.test_schemas import TURN
from topics.acls import ACL_ROLES, READS, grants
from topics.asyncapi import document
from topics.layout import wanted_layout
from topics.names import TOPICS, Names
from topics.schemas import definitions, records_of

DOCUMENT = document()
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Give what AsyncAPI's own parser makes of the document."""
    packages = fetched.from_npm("npm-asyncapi", "@asyncapi/parser@^3")
    directory = tmp_path_factory.mktemp("parser")
    (directory / "node_modules").symlink_to(packages / "node_modules")
    shutil.copy(HERE / "parse_asyncapi.mjs", directory)
    done = subprocess.run(
        ["node", "parse_asyncapi.mjs"],  # noqa: S607 - whichever node is there
        input=json.dumps(DOCUMENT),
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def test_its_own_parser_finds_nothing_wrong(parsed: dict[str, Any]) -> None:
    """It checks the document, the schemas in it and Kafka's bindings against AsyncAPI's definitions."""
    assert parsed["wrong"] == []
    assert parsed["channels"] == [topic.name for topic in TOPICS]
    assert {one["id"] for one in parsed["operations"]} == set(DOCUMENT["operations"])


def follow(reference: dict[str, str]) -> Any:
    """Return what a reference within the document leads to."""
    found: Any = DOCUMENT
    for step in reference["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return found


def test_every_topic_is_a_channel_with_its_records() -> None:
    """Its address with the prefix left open, and the messages that it carries."""
    assert list(DOCUMENT["channels"]) == [topic.name for topic in TOPICS]
    for topic in TOPICS:
        channel = DOCUMENT["channels"][topic.name]
        prefix = follow(channel["parameters"]["prefix"])["default"]
        assert channel["address"].format(prefix=prefix) == Names().topic(topic)
        assert [follow(one)["name"] for one in channel["messages"].values()] == list(records_of(topic))
        for message in map(follow, channel["messages"].values()):
            assert follow(message["payload"])["title"] == message["name"]


def test_channels_are_kept_as_topics_are_made() -> None:
    """What `topics create` asks of the broker, as Kafka calls it."""
    wanted = {layout.name: layout.configs for layout in wanted_layout(Names(), 1)}
    for topic in TOPICS:
        kafka = DOCUMENT["channels"][topic.name]["bindings"]["kafka"]
        told = {
            name: ",".join(value) if isinstance(value, list) else str(value)
            for name, value in kafka["topicConfiguration"].items()
        }
        assert told == wanted[Names().topic(topic)]
        assert ("partitions" in kafka) is not topic.per_turn


def test_operations_are_what_roles_are_permitted() -> None:
    """Who sends and who receives, as `topics acls` grants it, dead letters sent again aside."""
    told = {
        (one["tags"][0]["name"], one["action"], follow(one["channel"])["title"])
        for one in DOCUMENT["operations"].values()
    }
    words = {"Write": "send", "Read": "receive"}
    permitted = {
        (role, words[operation], Names().short(grant.name))
        for role in ACL_ROLES
        for grant in grants(role, Names(), replays=False)
        for operation in grant.operations
        if operation in words and grant.resource == "topic" and "journal" not in grant.name
    }
    assert told == permitted


def test_workers_share_their_input_in_their_groups() -> None:
    """And nobody else has a group: readers that share one miss what the others get."""
    groups = {
        name: one["bindings"]["kafka"]["groupId"]["enum"]
        for name, one in DOCUMENT["operations"].items()
        if "bindings" in one
    }
    assert groups == {
        "turns-receive-requests": ["turngate.turns"],
        "turns-receive-frames": ["turngate.turns"],
        "turns-receive-tool-results": ["turngate.turns"],
        "models-receive-prompts": ["turngate.models"],
        "models-receive-cancels": ["turngate.models"],
        "tools-receive-tool-calls": ["turngate.tools"],
        "tools-receive-cancels": ["turngate.tools"],
        **{f"{role}-receive-erasures": [f"turngate.{role}"] for role in ("turns", "models", "tools")},
    }
    assert DOCUMENT["channels"]["released"]["x-readers"] == [
        role for role in ACL_ROLES if "released" in {topic.name for topic in READS[role]}
    ]


def test_another_prefix_is_in_parameters_and_groups_alone() -> None:
    """Addresses leave it open."""
    other = document("other.")
    assert other["components"]["parameters"]["prefix"]["default"] == "other."
    assert other["channels"] == DOCUMENT["channels"]
    assert "turngate.turns" not in json.dumps(other["operations"])


def test_payloads_are_in_its_dialect() -> None:
    """Which is draft 7: nothing stands beside a `$ref`, since it would not be looked at; and they mean the same."""

    def check(value: object) -> None:
        if isinstance(value, dict):
            assert "$ref" not in value or len(value) == 1
            assert "$defs" not in value
            for one in value.values():
                check(one)
        elif isinstance(value, list):
            for one in value:
                check(one)

    schemas = DOCUMENT["components"]["schemas"]
    check(schemas)
    assert list(schemas) == list(definitions())
    root = {"$ref": "#/components/schemas/TurnRequest", "components": {"schemas": schemas}}
    Draft7Validator(root).validate({**TURN, "message": "hello", "user": {"id": "u"}})
    for wrong in ({**TURN}, {**TURN, "message": [], "user": {"id": "u"}}, {**TURN, "message": "m", "user": {}}):
        with pytest.raises(ValidationError):
            Draft7Validator(root).validate(wrong)


def test_a_trace_is_all_that_headers_tell() -> None:
    """Of records about turns, and nobody needs one."""
    for topic in TOPICS:
        for name in records_of(topic):
            headers = DOCUMENT["components"]["messages"][name].get("headers")
            if topic.key == "thread":
                assert list(headers["properties"]) == ["traceparent", "tracestate"]
                assert "required" not in headers
            else:
                assert headers is None


def test_keys_are_as_records_are_keyed() -> None:
    """A thread's key is two ids; others are explained."""
    key = DOCUMENT["components"]["messages"]["TurnRequest"]["bindings"]["kafka"]["key"]
    Draft7Validator(key).validate("acme/chat-4711")
    for wrong in ("acme", "acme/a/b", "/x", "a/\n"):
        assert not Draft7Validator(key).is_valid(wrong)
    for message in DOCUMENT["components"]["messages"].values():
        assert message["bindings"]["kafka"]["key"]["description"]
