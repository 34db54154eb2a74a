"""Make a key for the gateway."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from streams.cli import output, session
from streams.cli.failures import OK, CommandError
from streams.gateway.keys import KeyName, KeysError, KeySettings, hash_of, new_key, read_keys


def create(name: str, tenant: str, user: str | None, file: str | None, *, operator: bool, as_json: bool) -> int:
    """Print a new key, add its hash to a file if there is one, and return the exit status.

    Raises:
        CommandError: the name or an id cannot be used, the name is taken, or the file cannot be written.
    """
    settings = session.begin({"gateway_keys_file": file})
    key = new_key()
    try:
        TypeAdapter(KeyName).validate_python(name)
        kept = KeySettings(sha256=hash_of(key), tenant=tenant, user=user, operator=operator)
    except ValidationError:
        raise CommandError(
            "NAME: write 1 to 64 of the characters A-Z a-z 0-9 _ -; tenant and user: 1 to 200 characters, no slash and no "
            "control characters"
        ) from None
    entry = _entry(name, kept)
    path = Path(settings.gateway_keys_file) if settings.gateway_keys_file is not None else None
    if path is not None:
        _append(path, name, entry)
    if as_json:
        output.json_line({"key": key, "name": name, "file": str(path) if path else None, **kept.as_written()})
        return OK
    output.line(key)
    if path is None:
        output.note("It is not shown again. Put this into the file that TURNGATE_GATEWAY_KEYS_FILE names:")
        output.note("")
        output.note(entry)
    else:
        output.note(f"It is not shown again. Its hash is in {path}.")
    return OK


def _entry(name: str, kept: KeySettings) -> str:
    # JSON's strings are TOML's too, as far as ids go.
    fields = "".join(f"{field} = {json.dumps(value)}\n" for field, value in kept.as_written().items())
    return f"[keys.{name}]\n{fields}"


def _append(path: Path, name: str, entry: str) -> None:
    try:
        if path.exists() and name in read_keys(path):
            raise CommandError(f"there is a key called {name} in {path}: give another name, or take that one out")
        if not path.exists():
            path.touch(mode=0o600)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n{entry}")
    except KeysError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f"--file: cannot write {path}: {error.strerror}") from None
