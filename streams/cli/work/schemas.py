"""Describe the records of every topic, for tools and for people who write readers and writers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from streams.cli import output, session
from streams.cli.failures import OK, CommandError
from topics import schemas as shapes
from topics.asyncapi import document
from topics.names import TOPICS

Form = Literal["json-schema", "asyncapi"]


def schemas(form: Form, *, topic: str | None, record: str | None, out: Path | None, as_json: bool) -> int:
    """Print one document, or write files to the directory `out` and print their names; return the exit status.

    Raises:
        CommandError: options that exclude each other, a name that nothing has, or a file that cannot be written.
        SettingsError: a setting is unknown, or its value cannot be used.
    """
    settings = session.begin()
    made = _made(form, topic, record, settings.prefix)
    if out is not None:
        if len(made) > 1:
            del made["all"]  # a file for each topic is what registries and generators take
        for path in _write(out, made):
            output.json_line({"file": str(path)}) if as_json else output.line(str(path))
    elif as_json:
        output.json_line(made.popitem()[1])
    else:
        output.text(spelt(made.popitem()[1]))
    return OK


def spelt(schema: Mapping[str, Any]) -> str:
    """Return a document as it stands in a file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _made(form: Form, topic: str | None, record: str | None, prefix: str) -> dict[str, Mapping[str, Any]]:
    """Return documents by name; what is printed is the last one."""
    if (topic is not None) + (record is not None) + (form == "asyncapi") > 1:
        raise CommandError("give one of --topic, --record and --format asyncapi: each chooses what is described.")
    try:
        if topic is not None:
            return {topic: shapes.topic_schema(shapes.topic_called(topic))}
        if record is not None:
            return {record: shapes.record_schema(record)}
    except shapes.UnknownRecordError as unknown:
        raise CommandError(str(unknown)) from None
    if form == "asyncapi":
        return {form: document(prefix)}
    return {**{one.name: shapes.topic_schema(one) for one in TOPICS}, "all": shapes.bundle()}


def _write(directory: Path, made: Mapping[str, Mapping[str, Any]]) -> list[Path]:
    paths = [directory / f"{name}.json" for name in made]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path, schema in zip(paths, made.values(), strict=True):
            path.write_text(spelt(schema), encoding="utf-8")
    except OSError as fault:
        raise CommandError(f"{directory} cannot be written ({type(fault).__name__}): name another directory.") from None
    return paths
