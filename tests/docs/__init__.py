"""Documentation that is checked: tables against the code, examples by running them."""

from __future__ import annotations
