"""A support desk whose agent writes SQL over sensitive data, with a control at each place where something can go wrong.

    on the way in   card numbers are refused, swearing is masked, a wish for a person is noticed, the account looked up
    to the model    no account number leaves, be it in a message, in a tool call or in what a tool returned
    to the tool     SQL that writes ends the turn; a table or column that is not permitted is refused, and may be tried again
    to the reader   no e-mail address comes out; with a moderation server nothing does that it has not seen
    at the end      Markdown becomes WhatsApp's own marks, long replies are cut, and a line says who wrote them

turngate up --model script --deps examples.support_desk:deps
turngate send "What did I pay for last?" --agent support --user ann --script examples/support_answer.jsonl

A real model needs no script. `SUPPORT_DESK_MODERATION_URL=https://host/v1` switches moderation on.
"""

from __future__ import annotations

import functools
import os
import sqlite3
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from processors import (
    Agent,
    Block,
    Budget,
    Deps,
    IncomingMessage,
    LastMessages,
    Proceed,
    ToolContext,
    TurnContext,
    message_rule,
    tool,
)
from processors.builtin import (
    account_in_prompt,
    cards,
    emails,
    enrich,
    footer,
    handoff,
    ibans,
    moderation,
    office_hours,
    patterns,
    profanity,
    rate_limit,
    redact,
    redact_messages,
    redact_prompts,
    reply_cap,
    sql_gate,
    sql_rule,
    whatsapp,
)

SYSTEM = """You answer customers of a small bank. Look things up with run_sql; the dialect is SQLite. Tables:
customers(id, name, email, plan), accounts(id, customer_id, number, kind, balance_cents),
payments(id, account_id, day, payee, cents). Use LIMIT 20."""

TABLES = ("customers", "accounts", "payments")
MAX_ROWS = 20
#: In earnest this is a replica, under a user that may only read, and of the rows only the customer's own.
DATA = """
CREATE TABLE customers (id TEXT PRIMARY KEY, name TEXT, email TEXT, plan TEXT);
CREATE TABLE accounts (id INTEGER PRIMARY KEY, customer_id TEXT, number TEXT, kind TEXT, balance_cents INTEGER);
CREATE TABLE payments (id INTEGER PRIMARY KEY, account_id INTEGER, day TEXT, payee TEXT, cents INTEGER);
CREATE TABLE staff_notes (customer_id TEXT, note TEXT);
INSERT INTO customers VALUES
    ('ann', 'Ann Miller', 'ann.miller@example.com', 'pro'),
    ('bob', 'Bob Ray', 'bob@example.org', 'basic');
INSERT INTO accounts VALUES
    (1, 'ann', 'DE89370400440532013000', 'checking', 125099),
    (2, 'bob', 'ACC-20417733', 'savings', 4200);
INSERT INTO payments VALUES
    (1, 1, '2026-03-02', 'City Power, billing@power.example', 8450),
    (2, 1, '2026-03-05', 'Book Shop', 1999),
    (3, 2, '2026-03-06', 'Bakery', 350);
INSERT INTO staff_notes VALUES ('ann', 'complains a lot');
"""
OTHERS = """
DELETE FROM customers WHERE id IS NOT :id;
DELETE FROM accounts WHERE customer_id IS NOT :id;
DELETE FROM payments WHERE account_id NOT IN (SELECT id FROM accounts);
"""


@functools.lru_cache(maxsize=64)
def data_of(customer: str | None) -> sqlite3.Connection:
    """Return a customer's own rows, which nothing can write to: whatever a model asks for, there are no others here."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(DATA)
    for statement in OTHERS.split(";"):
        connection.execute(statement, {"id": customer})
    connection.commit()
    connection.execute("PRAGMA query_only = ON")
    return connection


@tool(timeout_s=10)
def run_sql(
    query: Annotated[str, Field(description="one SELECT statement for SQLite")], context: ToolContext
) -> list[dict[str, Any]]:
    """Read what the bank has on the customer: at most 20 rows."""
    cursor = data_of(context.user.id if context.user else None).execute(query)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchmany(MAX_ROWS)]


async def account_of(context: TurnContext) -> dict[str, str] | None:
    """Look up who speaks: in earnest, in a service."""
    customer = context.user.id if context.user else None
    found = data_of(customer).execute("SELECT id, plan FROM customers").fetchone()
    return {"customer_id": found[0], "plan": found[1]} if found else None


#: What an account number looks like: that of an IBAN, and the bank's old ones.
ACCOUNT_NUMBERS = (ibans(label="ACCOUNT"), patterns({"ACCOUNT": r"\bACC-[0-9]{8}\b"}))


@message_rule(name="no-card-numbers")
def no_card_numbers(incoming: IncomingMessage) -> Proceed | Block:
    """Have nobody send what must not even be stored."""
    _, found = redact([cards()]).reader()(incoming.text)
    return Block("Please do not send card numbers here.", reason="card number") if found else Proceed()


def support_desk(*, clock: Callable[[], datetime] | None = None, moderation_url: str | None = None) -> Deps:
    """Return the whole declaration; `clock` tells the office's time in tests, `moderation_url` is a server's that judges."""
    judged = [moderation(base_url=moderation_url, model="omni-moderation-latest")] if moderation_url else []
    return Deps(
        governance=[no_card_numbers, sql_rule(tables=TABLES, max_rows=MAX_ROWS, dialect="sqlite")],
        pre_processors=[
            rate_limit(60, per_s=3_600),
            redact_messages(profanity()),
            # No reply of its own: the desk answers at any hour, and only people have office hours.
            office_hours(
                "Europe/Berlin", {"mon-fri": "09:00-17:30"}, holidays=["12-25", "12-26"], reply=None, clock=clock
            ),
            enrich(account_of, fields=["customer_id", "plan"]),
            handoff(
                reply="I am getting a colleague for you.",
                closed_reply="My colleagues are back on {opens:%A at %H:%M}, and will write to you then.",
            ),
        ],
        input_processors=[redact_prompts(redact(ACCOUNT_NUMBERS, numbered=True))],
        output_processors=[sql_gate(dialect="sqlite"), redact([emails(), *ACCOUNT_NUMBERS]), *judged],
        post_processors=[
            whatsapp(),
            reply_cap({"whatsapp": 4_000}),
            footer({"whatsapp": "_Written by a machine._"}, default="Written by a machine."),
        ],
        # What post-processors leave is judged again: marks that are taken out could join what they had parted.
        gate_post_processed=True,
        required_controls=["no-card-numbers", "sql-rule", "redact-prompts", "sql-gate", "redact"],
        prompt_builder=account_in_prompt(),
        agents=[Agent("support", system=SYSTEM, tools=("run_sql",), max_steps=4, history=LastMessages(30))],
        tools=[run_sql],
        budgets=[Budget("user", 100_000, 3_600)],
    )


deps = support_desk(moderation_url=os.environ.get("SUPPORT_DESK_MODERATION_URL"))
