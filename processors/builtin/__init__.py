"""Processors that ship: each is a function that returns one, configured.

Those that redact can be combined into one processor with `redact`. Some need the extra `builtin`: `pip install
turngate[builtin]`.
"""

from __future__ import annotations

from processors.builtin.api_keys import api_keys
from processors.builtin.cap import length_cap
from processors.builtin.cards import cards
from processors.builtin.chat_text import plain_text, whatsapp
from processors.builtin.emails import emails
from processors.builtin.enrich import account_in_prompt, enrich
from processors.builtin.footer import footer
from processors.builtin.handoff import handoff
from processors.builtin.ibans import ibans
from processors.builtin.jwts import jwts
from processors.builtin.messages import redact_messages, refuse_messages
from processors.builtin.moderation import moderation
from processors.builtin.national_ids import national_ids
from processors.builtin.office_hours import office_hours
from processors.builtin.own_patterns import patterns
from processors.builtin.pem import pem_blocks
from processors.builtin.phones import phones
from processors.builtin.profanity import profanity
from processors.builtin.prompts import redact_prompts
from processors.builtin.rate_limit import rate_limit
from processors.builtin.redaction import redact
from processors.builtin.reply_cap import reply_cap
from processors.builtin.sql_gate import sql_gate, sql_rule
from processors.builtin.thinking import strip_thinking
from processors.builtin.urls import credential_urls
from processors.builtin.words import words

__all__ = [
    "account_in_prompt",
    "api_keys",
    "cards",
    "credential_urls",
    "emails",
    "enrich",
    "footer",
    "handoff",
    "ibans",
    "jwts",
    "length_cap",
    "moderation",
    "national_ids",
    "office_hours",
    "patterns",
    "pem_blocks",
    "phones",
    "plain_text",
    "profanity",
    "rate_limit",
    "redact",
    "redact_messages",
    "redact_prompts",
    "refuse_messages",
    "reply_cap",
    "sql_gate",
    "sql_rule",
    "strip_thinking",
    "whatsapp",
    "words",
]
