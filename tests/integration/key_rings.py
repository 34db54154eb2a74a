"""Folders of keys for pipelines that encrypt what they keep."""

from __future__ import annotations

from pathlib import Path


def write_ring(folder: Path, *keys: str, active: str | None = None, seed: int = 0) -> str:
    """Write a folder of `keys`, each of them other for another `seed`; the last one is active unless told otherwise."""
    folder.mkdir(parents=True, exist_ok=True)
    for key in keys:
        secret = bytes((len(key) * 7 + ord(key[-1]) + seed * 13 + n * 31) % 256 for n in range(32))
        (folder / key).write_text(secret.hex() + "\n", encoding="ascii")
    (folder / "active").write_text(f"{active or keys[-1]}\n", encoding="ascii")
    return str(folder)
