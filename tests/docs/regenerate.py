"""Write what is made from the code: schemas, the AsyncAPI document, and the tables of `docs/wire.md` (`make reference`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from streams.cli.work.schemas import spelt
from tests.docs.markdown import ROOT
from topics.asyncapi import document
from topics.names import TOPICS
from topics.reference import updated
from topics.schemas import topic_schema

WIRE = ROOT / "docs" / "wire.md"
SCHEMAS = ROOT / "docs" / "schemas"
ASYNCAPI = ROOT / "docs" / "asyncapi.json"


def made() -> Mapping[Path, str]:
    """Return every file that is made from the code, with what has to be in it."""
    return {
        WIRE: updated(WIRE.read_text(encoding="utf-8")),
        ASYNCAPI: spelt(document()),
        **{SCHEMAS / f"{topic.name}.json": spelt(topic_schema(topic)) for topic in TOPICS},
    }


def main() -> None:
    """Write them all, and take away schemas of topics that are gone."""
    files = made()
    SCHEMAS.mkdir(exist_ok=True)
    for path in set(SCHEMAS.iterdir()) - set(files):
        path.unlink()
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
