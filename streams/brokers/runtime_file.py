"""Where the running embedded broker is: a small file that its owner writes and other commands attach through.

The directory is the caller's business (`$XDG_RUNTIME_DIR`, or else the system's directory for temporary files; the
settings know). That directory may be shared by all users of the machine, so the file carries the user's id in its
name, and one that belongs to somebody else is never believed: it could lead a client to a stranger's broker.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class RuntimeFileError(RuntimeError):
    """The runtime file cannot be written; the message says what to do about it."""


class RunningBroker(BaseModel):
    """What the file says."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    bootstrap: str = Field(min_length=1)
    """Address for clients, `host:port`."""
    pid: int = Field(gt=0)
    """Process that owns the broker (`up` or `demo`); the file is stale when it is dead."""


def runtime_file(directory: Path) -> Path:
    """Return the path of this user's runtime file in `directory`."""
    return directory / f"turngate-{os.getuid()}.json"


def write(directory: Path, broker: RunningBroker) -> bool:
    """Publish `broker` for other commands of this user.

    Returns False, and leaves the file alone, when another living process has published its own there. Readers see
    the whole file or none. Raises `RuntimeFileError` when the directory does not allow it.
    """
    current = read(directory)
    if current is not None and current.pid != broker.pid:
        return False
    path = runtime_file(directory)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(prefix=f"{path.name}.", dir=directory)  # readable by this user only
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(broker.model_dump_json())
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink()
            raise
    except OSError as error:
        raise RuntimeFileError(
            f"Cannot write {path} ({error.strerror}), through which other commands find the broker. Remove the file, "
            f"or set XDG_RUNTIME_DIR to a directory of yours. Until then name the broker: --broker {broker.bootstrap}"
        ) from error
    return True


def read(directory: Path) -> RunningBroker | None:
    """Return the broker that this user runs on this machine.

    None when there is no file, when it is unreadable or another user's, and when the owner it names is dead.
    """
    path = runtime_file(directory)
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_uid != os.getuid():
                return None
            broker = RunningBroker.model_validate_json(file.read())
    except (OSError, ValidationError):
        return None
    return broker if _is_alive(broker.pid) else None


def remove(directory: Path, pid: int) -> None:
    """Take the file away if it is the one that process `pid` wrote, or a stale one; harmless when there is none."""
    current = read(directory)
    if current is None or current.pid == pid:
        with contextlib.suppress(OSError):
            runtime_file(directory).unlink()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
