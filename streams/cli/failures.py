"""What each error means to whoever typed the command: one sentence, and an exit status."""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Final

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
UNREACHABLE: Final = 3
#: A fault of turngate itself, as `sysexits.h` numbers it; a worker that ends so should be started again.
FAULT: Final = 70


class CommandError(Exception):
    """A command cannot go on: the message says what to do, `status` is what the process exits with."""

    def __init__(self, message: str, status: int = USAGE) -> None:
        super().__init__(message)
        self.status = status


def report(exc: Exception) -> int:
    """Say on stderr, in a line, what went wrong, and return the exit status; at log level debug with the traceback."""
    status, sentence = explain(exc)
    if logging.getLogger().isEnabledFor(logging.DEBUG):
        traceback.print_exception(exc)
    sys.stderr.write(f"turngate: {sentence}\n")
    return status


def explain(exc: Exception) -> tuple[int, str]:
    """Return the exit status and the sentence for an error.

    Only errors of our own speak for themselves: they quote no content. Of any other one the class is named.
    """
    if isinstance(exc, CommandError):
        return exc.status, str(exc)
    if (usage := _usage(exc)) is not None:
        return USAGE, usage
    names = {base.__name__ for base in type(exc).__mro__}
    for name, status in _STATUS:
        if name in names and _is_ours(exc):
            return status, str(exc)
    if "KafkaError" in names:
        return UNREACHABLE, f"the broker failed or was lost ({type(exc).__name__}): look at its health, then try again."
    return FAULT, (
        f"a fault of turngate itself ({type(exc).__name__}). Please report it; TURNGATE_LOG_LEVEL=debug shows where it "
        "happened, and may show message text."
    )


#: By class name, most special first: importing all of these would take longer than most commands.
_STATUS: Final = (
    ("SettingsError", USAGE),
    ("BrokerUnreachableError", UNREACHABLE),
    ("EmbeddedBrokerError", UNREACHABLE),
    ("DepsError", USAGE),
    ("DeclarationError", USAGE),
    ("AdapterMissingError", USAGE),
    ("FrameInputError", USAGE),
    ("KeyRingError", USAGE),
    ("TopicsError", FAILED),
    ("ChainsError", FAILED),
    ("RuntimeFileError", FAILED),
)


def _is_ours(exc: Exception) -> bool:
    return type(exc).__module__.partition(".")[0] in {"streams", "topics", "processors"}


def _usage(exc: Exception) -> str | None:
    """Return what the parser has to say, in one line; None for what is no error of the parser."""
    speak = getattr(exc, "format_message", None)
    if speak is None or getattr(exc, "exit_code", None) is None:
        return None
    context = getattr(exc, "ctx", None)
    path = context.command_path if context is not None else "turngate"
    return f"{' '.join(str(speak()).split()).rstrip('.')}. See `{path} --help`."
