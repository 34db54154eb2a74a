"""Loopback ports: find a free one, see whether one answers."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """Return a TCP port of the loopback address that nobody listens on at this moment.

    Another process can take it before the caller does; whoever then fails to bind it should ask for another.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def is_open(port: int, *, timeout_s: float = 0.5) -> bool:
    """Say whether something accepts connections on this loopback port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(timeout_s)
        return probe.connect_ex((LOOPBACK, port)) == 0
