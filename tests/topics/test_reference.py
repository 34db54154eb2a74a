"""The tables of the wire's page: made where they belong, and nothing else on the page is touched."""

from __future__ import annotations

import pytest

from topics.records import CancelTurn, ModelFrame, TurnRequest
from topics.reference import field_table, topic_table, updated
from topics.schemas import models

PAGE = """# A page

Words.

## Topics

| topic | old |
|---|---|
| gone | x |

After the table.

| another | table |
|---|---|
| stays | as it is |

```text
### `CancelTurn`
| not a | table |
```

### `CancelTurn`

Words of it.

| field | type |
|---|---|
| gone | x |
"""


def test_tables_are_replaced_and_words_stay() -> None:
    """The first table of the section, where the section is no part of a block."""
    new = updated(PAGE)
    assert new.startswith("# A page\n\nWords.\n\n## Topics\n\n" + "\n".join(topic_table()) + "\n\nAfter the table.\n\n")
    assert "| another | table |\n|---|---|\n| stays | as it is |\n" in new
    assert "```text\n### `CancelTurn`\n| not a | table |\n```\n" in new
    assert "Words of it.\n\n" + "\n".join(field_table(CancelTurn)) + "\n" in new
    assert "| gone |" not in new
    assert updated(new) == new


def test_records_without_a_section_get_one() -> None:
    """At the end, with what can be said of it."""
    new = updated(PAGE)
    for name in models():
        assert f"\n### `{name}`\n" in new
    assert "On `frames`. Has the fields of `CallRecord`, and:\n\n| field | type | default | meaning |\n" in new


@pytest.mark.parametrize(
    ("model", "row"),
    [
        (CancelTurn, '| `type` | `"cancel"` | `"cancel"` | must be written: a request without `type` is a turn |'),
        (ModelFrame, "| `seq` | integer ≥ 0 or null | required | the frame's number in its attempt, from 0; "),
        (ModelFrame, "| `usage` | `Usage` | `null` | what the call cost; the last one counts |"),
        (TurnRequest, "| `message` | text or list of part, at least 1 | required | what the user says; "),
        (TurnRequest, '| `agent` | id | `"default"` | who is asked; '),
        (TurnRequest, "| `deadline_s` | number > 0 | `null` | "),
        (TurnRequest, '| `delivery` | `"stream"` or `"final"` | `"stream"` | '),
    ],
)
def test_rows(model: type[TurnRequest], row: str) -> None:
    """What a field is, what it is when it is left out, and what it means."""
    assert [line for line in field_table(model) if line.startswith(row)] != []


def test_a_table_has_the_records_own_fields() -> None:
    """Those of its bases have tables of their own."""
    assert len(field_table(CancelTurn)) == 3


def test_the_table_of_topics() -> None:
    """A row for each, in order."""
    assert topic_table()[2] == (
        "| `requests` | `TurnRequest`, `CancelTurn` | thread | n | delete, 7 d | callers | workers |"
    )
    assert "| `workers` | `WorkerStatus` | name | 1 | compact | any worker | readers |" in topic_table()
