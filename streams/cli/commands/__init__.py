"""What can be typed: one module for each command or group of commands. Imports nothing that takes long."""

from __future__ import annotations
