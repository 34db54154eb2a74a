"""Processors that ship: each is a function that returns one, configured.

Those that redact can be combined into one processor with `redact`. Some need the extra `builtin`: `pip install
turngate[builtin]`.
"""

from __future__ import annotations

from processors.builtin.api_keys import api_keys
from processors.builtin.cap import length_cap
from processors.builtin.cards import cards
from processors.builtin.emails import emails
from processors.builtin.ibans import ibans
from processors.builtin.jwts import jwts
from processors.builtin.moderation import moderation
from processors.builtin.national_ids import national_ids
from processors.builtin.own_patterns import patterns
from processors.builtin.pem import pem_blocks
from processors.builtin.phones import phones
from processors.builtin.profanity import profanity
from processors.builtin.rate_limit import rate_limit
from processors.builtin.redaction import redact
from processors.builtin.sql_gate import sql_gate
from processors.builtin.thinking import strip_thinking
from processors.builtin.urls import credential_urls
from processors.builtin.words import words

__all__ = [
    "api_keys",
    "cards",
    "credential_urls",
    "emails",
    "ibans",
    "jwts",
    "length_cap",
    "moderation",
    "national_ids",
    "patterns",
    "pem_blocks",
    "phones",
    "profanity",
    "rate_limit",
    "redact",
    "sql_gate",
    "strip_thinking",
    "words",
]
