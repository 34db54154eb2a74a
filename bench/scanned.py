"""A chain of scanners, as most operators would declare it: redaction that holds back exactly what is still open."""

from __future__ import annotations

from processors import Deps
from processors.builtin import cards, emails, redact

deps = Deps(output_processors=[redact([emails(), cards()])])
