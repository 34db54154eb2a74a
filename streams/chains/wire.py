"""What a runner and its child processes say to each other, and how it is framed.

A message is a 4-byte big-endian length and that many bytes of pickle. Both ends are the same code of the same operator
on the same machine; nothing that arrived over a network is ever unpickled without having been parsed and checked first.
"""

from __future__ import annotations

import pickle
import struct
from dataclasses import dataclass
from typing import TypeAlias

from processors.board import Plan
from processors.chain import Outcome, Run
from processors.errors import DepsError
from processors.manifest import Manifest
from processors.policy import FailurePolicy
from processors.tools import ToolContext
from streams.tools.answers import ToolAnswer

_LENGTH = struct.Struct(">I")
_PICKLE_PROTOCOL = 5


@dataclass(frozen=True)
class Boot:
    """To the child, first of all: load the `Deps` at `spec` and the code at `sources`, looking in `paths` too.

    With `debug` it says on stderr what processors and tools throw, which may quote what somebody said.
    """

    spec: str | None
    paths: tuple[str, ...]
    policy: FailurePolicy
    sources: tuple[str, ...] = ()
    debug: bool = False


@dataclass(frozen=True)
class Install:
    """To the child: make chains of what is loaded as `plan` says, and call them `number`."""

    number: int
    plan: Plan


@dataclass(frozen=True)
class Uninstall:
    """To the child: nobody will run the chains `number` any more."""

    number: int


@dataclass(frozen=True)
class Start:
    """To the child: go on with `run` of the chains `number`, and call it `call` when speaking of it."""

    call: int
    run: Run
    number: int = 0


@dataclass(frozen=True)
class CallTool:
    """To the child: call the tool `name`, and call it `call` when speaking of it.

    An async one has `limit_s` seconds; a sync one is held to its limit by the owner. The result may have `max_chars`.
    """

    call: int
    name: str
    arguments: str
    context: ToolContext
    limit_s: float
    max_chars: int


@dataclass(frozen=True)
class Drop:
    """To the child: nobody waits for `call` any more. Answered by `Done` all the same."""

    call: int


@dataclass(frozen=True)
class Ping:
    """To the child: say `Pong` once the event loop gets round to it."""


@dataclass(frozen=True)
class Ready:
    """From the child: loaded; `manifest` is what there is to run, `available` what could be deployed beside it."""

    manifest: Manifest
    available: tuple[str, ...] = ()


@dataclass(frozen=True)
class Installed:
    """From the child: the chains `number` are ready, and consist of `manifest`; or they cannot be made, for `error`."""

    number: int
    manifest: Manifest | None
    error: DepsError | None = None


@dataclass(frozen=True)
class NotReady:
    """From the child: the `Deps` could not be loaded because of `error`."""

    error: DepsError


@dataclass(frozen=True)
class At:
    """From the child: `call` has come as far as `run`, whose next member is being called now."""

    call: int
    run: Run


@dataclass(frozen=True)
class Done:
    """From the child: `call` came to `outcome`, or to None if it was dropped."""

    call: int
    outcome: Outcome | None


@dataclass(frozen=True)
class ToolDone:
    """From the child: the tool's `call` came to `answer`, or to None if it was dropped."""

    call: int
    answer: ToolAnswer | None


@dataclass(frozen=True)
class Pong:
    """From the child: the event loop is alive."""


ToChild: TypeAlias = Boot | Install | Uninstall | Start | CallTool | Drop | Ping
FromChild: TypeAlias = Ready | NotReady | Installed | At | Done | ToolDone | Pong


def pack(message: ToChild | FromChild) -> bytes:
    """Return a message as it goes over the wire."""
    body = pickle.dumps(message, _PICKLE_PROTOCOL)
    return _LENGTH.pack(len(body)) + body


class Unpacker:
    """Takes bytes as they come and gives messages as they are complete."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Add what has arrived."""
        self._buffer += data

    def next(self) -> ToChild | FromChild | None:
        """Return the next complete message and forget its bytes, or None."""
        buffer = self._buffer
        if len(buffer) < _LENGTH.size:
            return None
        end = _LENGTH.size + _LENGTH.unpack_from(buffer)[0]
        if len(buffer) < end:
            return None
        message: ToChild | FromChild = pickle.loads(bytes(buffer[_LENGTH.size : end]))  # noqa: S301 - see above
        del buffer[:end]
        return message
