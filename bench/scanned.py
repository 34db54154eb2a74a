"""Chains of scanners, as most operators would declare them: redaction that holds back exactly what is still open."""

from __future__ import annotations

from processors import Deps
from processors.builtin import cards, emails, jwts, redact

deps = Deps(output_processors=[redact([emails(), cards()])])

#: Three processors, one behind the other.
three = Deps(output_processors=[emails(), cards(), jwts()])
