"""The command `turngate`: makes sure that the packages it is about to import are its own, then hands over to them.

`streams`, `processors` and `topics` are common words, and another package of such a name may come first on Python's
path. Inside those packages nothing can be said about that, for then they are not what is imported. So this one module
stands beside them, imports the standard library alone, and looks before it imports.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

PACKAGES = ("streams", "processors", "topics")
_USAGE = 2
_INTERRUPTED = 130


class ShadowedPackageError(ImportError):
    """Python finds another package under one of our names: says where, and what to do."""


def check_shadowing(home: Path | None = None) -> None:
    """Check that all our packages come from one place.

    Args:
        home: the directory they belong in; by default the one that this module is in.

    Raises:
        ShadowedPackageError: one of them does not.
    """
    expected = home if home is not None else Path(__file__).resolve().parent
    for name in PACKAGES:
        found = _location(name)
        if found is None:
            raise ShadowedPackageError(
                f"turngate's package {name!r} is not there: it should be in {expected}. Install turngate again.",
                name=name,
            )
        if found != expected / name:
            raise ShadowedPackageError(
                f"another package shadows turngate's {name!r}: Python finds {found} before {expected / name}. Rename or "
                "uninstall that package, take its folder off PYTHONPATH, or give turngate a virtual environment of its own.",
                name=name,
                path=str(found),
            )


def main() -> object:
    """Run the command line, and exit with status 2 when its packages are shadowed, 130 when Ctrl-C came very early."""
    try:
        check_shadowing()
    except ShadowedPackageError as error:
        sys.stderr.write(f"turngate: {error}\n")
        sys.exit(_USAGE)
    try:
        from streams.cli import main as run  # noqa: PLC0415 - not before the check

        return run()
    except KeyboardInterrupt:  # Ctrl-C before a command could say what that means to it
        sys.exit(_INTERRUPTED)


def _location(name: str) -> Path | None:
    """Return the directory (or file) of a top-level package without running any of it; None if there is none."""
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:  # a module put into sys.modules by hand: it says nothing about where it is from
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).resolve()
    return Path(spec.origin).resolve() if spec.origin is not None else None


if __name__ == "__main__":
    sys.exit(main())  # type: ignore[arg-type] # whatever the command line returns is its exit status
