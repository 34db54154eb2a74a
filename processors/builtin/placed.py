"""What the built-in pre- and post-processors have in common: where they stand, and what follows if they fail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from processors.declare import OnFailure
from processors.errors import DeclarationError
from processors.patterns.fingerprint import fingerprint

#: Of processors that neither wait nor read much, in seconds.
QUICK_S = 10.0


class Placing(TypedDict, total=False):
    """What each of them takes beside its own: see `processors.pre_processor`. `version` is by default a digest."""

    name: str
    priority: float
    on_failure: OnFailure
    agents: Iterable[str] | None
    timeout_s: float
    version: str


class Placed:
    """A processor with the attributes that are read when it is listed.

    `told` is all that it is configured with: the version is by default a digest of it.
    """

    def __init__(
        self, name: str, placing: Placing, *told: object, priority: float = 100.0, timeout_s: float = QUICK_S
    ) -> None:
        unknown = set(placing) - set(Placing.__annotations__)
        if unknown:
            known = ", ".join(sorted(Placing.__annotations__))
            raise DeclarationError(f"{name}: there is no argument {min(unknown)!r} (beside its own it takes {known})")
        self.name = placing.get("name", name)
        self.priority = placing.get("priority", priority)
        self.on_failure = placing.get("on_failure", "skip")
        self.agents = placing.get("agents")
        self.timeout_s = placing.get("timeout_s", timeout_s)
        self.version = placing.get("version", fingerprint(*told))


def by_channel(given: str | Mapping[str, str], what: str) -> Mapping[str | None, str]:
    """Return texts by channel, the one for all others under None; one text alone is for all.

    Raises:
        DeclarationError: there is no text, or an empty one.
    """
    texts: dict[str | None, str] = {None: given} if isinstance(given, str) else dict(given.items())
    if not texts or not all(text.strip() for text in texts.values()):
        raise DeclarationError(f"{what}: give a text, or texts by channel, none of them empty")
    return texts


def channels_of(given: Iterable[str], what: str) -> frozenset[str]:
    """Return names of channels; a bare text would otherwise be taken for its letters.

    Raises:
        DeclarationError: there are none.
    """
    if isinstance(given, str):
        raise DeclarationError(f"{what}: channels must be a list of names: write channels=[{given!r}]")
    names = frozenset(given)
    if not names or not all(isinstance(name, str) for name in names):
        raise DeclarationError(f"{what}: channels must be a list of names, at least one")
    return names
