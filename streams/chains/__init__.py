"""Running chains of processors for the turn worker: off its event loop, each member under an enforced limit."""

from __future__ import annotations

from streams.chains.errors import ChainsError, ChainsStoppedError, ChainStartError
from streams.chains.inline import InlineChainRunner
from streams.chains.ports import ChainRunner
from streams.chains.process import ProcessChainRunner

__all__ = [
    "ChainRunner",
    "ChainStartError",
    "ChainsError",
    "ChainsStoppedError",
    "InlineChainRunner",
    "ProcessChainRunner",
]
