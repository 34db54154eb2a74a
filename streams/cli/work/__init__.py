"""What the commands do; imported once a command has been typed."""

from __future__ import annotations
