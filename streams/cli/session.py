"""What every command begins with: the settings in force, logging set up, and the broker found."""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streams.brokers import runtime_file
from streams.cli.failures import UNREACHABLE, CommandError
from streams.process import configure_logging
from streams.settings import EMBEDDED, FILE, PREFIX, Settings, SettingsError, load_settings, runtime_dir

if TYPE_CHECKING:
    from topics.connection import Connection
    from topics.names import Names

#: How long a command, whose user is waiting, tries to reach the broker, in seconds.
REACH_LIMIT_S = 5.0


def begin(overrides: Mapping[str, Any] | None = None, *, worker: bool = False) -> Settings:
    """Load the settings, `overrides` by name (None: not given) before all else, and have logging go to stderr.

    Commands that are no workers log warnings only, unless the level is debug: their output is what they are for.

    Raises:
        SettingsError: a setting is unknown, or its value cannot be used.
    """
    try:
        settings = load_settings(**(overrides or {}))
    except SettingsError:
        _refuse_variables_in_file()
        raise
    level = settings.log_level
    configure_logging("warning" if level == "info" and not worker else level, salt_of(settings))
    return settings


def salt_of(settings: Settings) -> str:
    """Return the key of the hashes that stand in for ids in logs; empty if none is set."""
    return settings.log_id_salt.get_secret_value() if settings.log_id_salt is not None else ""


def _refuse_variables_in_file() -> None:
    """Tell whoever wrote a variable's name into the settings file what it is called there."""
    try:
        written = tomllib.loads(Path(FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # that is said elsewhere
        return
    for name in written:
        short = name.lower().removeprefix(PREFIX.lower())
        if name != short and short in Settings.model_fields:
            raise SettingsError(f"unknown setting {name} in {FILE}: write `{short}` there") from None


def bootstrap_of(settings: Settings) -> str:
    """Return the address of the broker to use, without starting one.

    Raises:
        CommandError: none is named, and none runs here.
    """
    if settings.broker != EMBEDDED:
        return settings.broker
    running = runtime_file.read(runtime_directory())
    if running is None:
        raise CommandError(
            "there is no broker: start a pipeline here with `turngate up`, or name a Kafka broker with --broker "
            "host:port or TURNGATE_BROKER.",
            UNREACHABLE,
        )
    return running.bootstrap


def connect(settings: Settings) -> tuple[Connection, Names]:
    """Return how to reach the broker, and the pipeline's names.

    Raises:
        CommandError: there is no broker.
    """
    from streams.broker_access import connection_of  # noqa: PLC0415 - Kafka's client takes a while to import
    from topics.names import Names  # noqa: PLC0415 - the same

    return connection_of(settings, bootstrap_of(settings), limit_s=REACH_LIMIT_S), Names(settings.prefix)


def runtime_directory() -> Path:
    """Return the directory of the file through which commands find the broker of `turngate up`."""
    return runtime_dir() or Path(tempfile.gettempdir())


def publish(bootstrap: str) -> bool:
    """Let other commands find the broker at `bootstrap` for as long as this process lives.

    Returns False when another process has its own published there.

    Raises:
        RuntimeFileError: the file cannot be written.
    """
    broker = runtime_file.RunningBroker(bootstrap=bootstrap, pid=os.getpid())
    return runtime_file.write(runtime_directory(), broker)


def unpublish() -> None:
    """Take back what `publish` wrote."""
    runtime_file.remove(runtime_directory(), os.getpid())
