"""The command line `turngate`: `commands` declares what can be typed, `work` does it.

Importing `commands` is quick, and `--help` needs nothing else: Kafka clients and Faust are imported when a command that
needs them has been typed.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with `arguments` (None: those of this process) and return the exit status.

    0 is success, 1 says that the turn or the check failed, 2 is wrong usage or a bad setting, 3 an unreachable broker,
    and 70 a fault of turngate itself.
    """
    from streams.cli import failures, output  # noqa: PLC0415 - so that importing this package costs nothing
    from streams.cli.app import run  # noqa: PLC0415 - the same

    output.prepare()
    try:
        return run(arguments)
    except Exception as exc:  # noqa: BLE001 - the last place to turn an error into a sentence and a status
        return failures.report(exc)
