"""The topics as an AsyncAPI 3 document: addresses, records, keys, how Kafka keeps them, and who writes and reads what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

from topics.acls import ACL_ROLES, READS, WRITES_AS, AclRole
from topics.layout import wanted_layout
from topics.names import DEFAULT_PREFIX, SINGLE, TOPICS, JournalRole, KeyKind, Names, Topic
from topics.records import WIRE_VERSION
from topics.schemas import ID, Schema, definitions, records_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VERSION: Final = "3.0.0"
#: The version of the Kafka binding's own words.
_KAFKA: Final = "0.5.0"
_INTEGERS: Final = frozenset({"retention.ms", "delete.retention.ms", "segment.ms"})

#: What a topic is for.
ABOUT: Mapping[str, str] = {
    "requests": "Turns that callers ask for, and cancels of turns.",
    "prompts": "What goes to the model: one record for each attempt of a model call.",
    "frames": "What the model writes, piece by piece; no control has passed it.",
    "cancels": "Attempts whose answer nobody waits for any more.",
    "tool-calls": "Calls of tools that the chain has passed.",
    "tool-results": "What tools answered.",
    "released": "What readers may see: text that the whole chain has approved, and how each turn ended.",
    "usage": "What model calls cost.",
    "decisions": "What each processor decided about a turn, without content.",
    "deployments": "Which version of each processor is active.",
    "audit": "Who changed deployments or erased threads, and when.",
    "erasures": "Threads and users to be forgotten, and what workers made of that.",
    "workers": "What each worker runs and could run.",
    "dead-letters": "Records that could not be taken: where they are, and what is wrong with them.",
}
_KEYS: Mapping[KeyKind, Schema] = {
    "thread": {
        "type": "string",
        "description": "`tenant/thread_id` in UTF-8; the partition is (murmur2(key) & 0x7fffffff) % partitions",
        "pattern": r"^[^/\x00-\x1f\x7f]{1,200}/[^/\x00-\x1f\x7f]{1,200}$",
        "examples": ["acme/chat-4711"],
    },
    "processor": {
        "type": "string",
        "description": "`kind/name@version` of a version, `kind/name` of a deployment, or `promotion`",
        "examples": ["output/redact-emails", "output/redact-emails@2", "promotion"],
    },
    "name": {"type": "string", "description": "the worker's name"},
    "id": {"type": "string", "description": "the record's `id`; of a dead letter what was refused"},
}
#: What records about turns carry where turns are traced, and what a caller who traces puts on requests.
_HEADERS: Final[Schema] = {
    "type": "object",
    "properties": {
        "traceparent": {"type": "string", "description": "the trace, as W3C's Trace Context has it"},
        "tracestate": {"type": "string", "description": "what tracing systems tell each other beside that"},
    },
}
#: What a record of the topic is told by, where it is about one turn.
_CORRELATION: Final = {"description": "The turn, in its thread.", "location": "$message.payload#/turn_id"}

_CLOSED: Final = (
    "It holds what no control has passed: readers must be denied it. Where the operator encrypts at rest, the payload is "
    "what a value says once it is opened."
)
_INTRODUCTION: Final = """\
The topics of a turngate pipeline. Names begin with a prefix, `turngate.` unless the operator chose another.

Topics are at least once: a record may come again with the same bytes. Fields that you do not know are to be ignored.
`requests` and every topic about turns have the same number of partitions. No header is needed; a trace may have some.
The workers' journals are nobody else's business and not described here. What the records mean together, and how released
frames are read, is written down in turngate's `docs/wire.md`."""


def document(prefix: str = DEFAULT_PREFIX) -> Schema:
    """Return the document, made of dicts, lists and texts; `prefix` is the one that addresses have by default."""
    names = Names(prefix)
    return {
        "asyncapi": VERSION,
        "info": {"title": "turngate", "version": f"{WIRE_VERSION}.0.0", "description": _INTRODUCTION},
        "defaultContentType": "application/json",
        "channels": {topic.name: _channel(topic, names) for topic in TOPICS},
        "operations": {name: one for topic in TOPICS for name, one in _operations(topic, names)},
        "components": {
            "parameters": {"prefix": {"description": "What all names of the pipeline begin with.", "default": prefix}},
            "messages": {name: _message(name, topic) for topic in TOPICS for name in records_of(topic)},
            "schemas": {name: _inside(one) for name, one in definitions().items()},
        },
    }


def _channel(topic: Topic, names: Names) -> Schema:
    (layout,) = [one for one in wanted_layout(names, SINGLE) if one.name == names.topic(topic)]
    configured: dict[str, Any] = {
        key: int(value) if key in _INTEGERS else value.split(",") if key == "cleanup.policy" else value
        for key, value in layout.configs.items()
    }
    partitions = {} if topic.per_turn else {"partitions": SINGLE}
    closed = f" {_CLOSED}" if topic.sensitive else ""
    return {
        "address": f"{{prefix}}{topic.name}",
        "title": topic.name,
        "description": f"{ABOUT[topic.name]} Written by: {', '.join(topic.writers)}.{closed}",
        "parameters": {"prefix": {"$ref": "#/components/parameters/prefix"}},
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in records_of(topic)},
        "bindings": {"kafka": {**partitions, "topicConfiguration": configured, "bindingVersion": _KAFKA}},
        "x-sensitive": topic.sensitive,
        "x-writers": list(topic.writers),
        "x-readers": [role for role in ACL_ROLES if topic in READS[role]],
        "x-partitions": "those of the pipeline" if topic.per_turn else SINGLE,
    }


def _message(name: str, topic: Topic) -> Schema:
    schema = definitions()[name]
    of_a_turn = {"correlationId": _CORRELATION} if "turn_id" in schema.get("required", ()) else {}
    traced = {"headers": _HEADERS} if topic.key == "thread" else {}
    summary, _, _ = str(schema["description"]).partition("\n\n")
    return {
        "name": name,
        "title": name,
        "summary": summary,
        "contentType": "application/json",
        **traced,
        "payload": {"$ref": f"#/components/schemas/{name}"},
        **of_a_turn,
        "bindings": {"kafka": {"key": _KEYS[topic.key], "bindingVersion": _KAFKA}},
    }


def _operations(topic: Topic, names: Names) -> Iterator[tuple[str, Schema]]:
    """Yield what each role does with a topic, by names such as `callers-send-requests`."""
    for role in ACL_ROLES:
        if set(topic.writers) & set(WRITES_AS[role]):
            yield f"{role}-send-{topic.name}", _operation("send", role, topic, names)
        if topic in READS[role]:
            yield f"{role}-receive-{topic.name}", _operation("receive", role, topic, names)


def _operation(action: str, role: AclRole, topic: Topic, names: Names) -> Schema:
    verb = "write" if action == "send" else "read"
    one = {
        "action": action,
        "channel": {"$ref": f"#/channels/{topic.name}"},
        "summary": f"What {role} {verb}.",
        "tags": [{"name": role}],
        "messages": [{"$ref": f"#/channels/{topic.name}/messages/{name}"} for name in records_of(topic)],
    }
    group = _group(role, topic, names) if action == "receive" else None
    if group is None:
        return one
    kafka = {"groupId": {"type": "string", "enum": [group]}, "bindingVersion": _KAFKA}
    return {**one, "bindings": {"kafka": kafka}}


def _group(role: AclRole, topic: Topic, names: Names) -> str | None:
    """Return the group that workers share their input out in; what they follow as a whole, and readers, have none."""
    for journal in get_args(JournalRole):
        if journal == role and topic.per_turn and topic.sensitive:
            return names.group(journal)
    return None


def _inside(schema: Any) -> Any:
    """Return a definition in AsyncAPI's own dialect: it has another place, and nothing may stand beside a `$ref`."""
    if isinstance(schema, list):
        return [_inside(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("not") == ID["not"]:
        return dict(schema)
    made = {key: _inside(value) for key, value in schema.items()}
    if "$ref" in made:
        made["$ref"] = made["$ref"].replace("#/$defs/", "#/components/schemas/")
        if len(made) > 1:
            made = {**{key: value for key, value in made.items() if key != "$ref"}, "allOf": [{"$ref": made["$ref"]}]}
    return made
