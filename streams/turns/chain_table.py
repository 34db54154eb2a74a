"""Which chains turns run through: those that new turns begin with, and those that open ones have pinned."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from streams.chains import ChainRunner
from streams.gate.policy import Policy
from streams.gate.scan import Scanner
from streams.gate.state import Turn


@dataclass(frozen=True, slots=True)
class TurnChains:
    """One set of chains: the policy that follows from it, what runs it, and what scans answers, where all of it can.

    `runner` is None where nothing is run, as in a desk that stands alone.
    """

    policy: Policy
    runner: ChainRunner | None
    open_scanner: Callable[[], Scanner] | None = None

    @property
    def pin(self) -> str:
        """The id of the chains."""
        return self.policy.pin


class ChainTable:
    """All sets of chains of a worker, by their ids; looking one up is a look into a dictionary.

    `usual` is the one that turns begin with, but for tenants that have one of their own.
    """

    def __init__(self, usual: TurnChains) -> None:
        self.usual = usual
        self._tenants: Mapping[str, TurnChains] = {}
        self._by_pin: dict[str, TurnChains] = {usual.pin: usual}

    def begin_with(self, usual: TurnChains, tenants: Mapping[str, TurnChains]) -> None:
        """Have turns that start from now on run through these; those that are open go on with what they pinned."""
        self.usual = usual
        self._tenants = dict(tenants)
        for chains in (usual, *tenants.values()):
            self._by_pin.setdefault(chains.pin, chains)

    @property
    def begun_with(self) -> tuple[TurnChains, ...]:
        """The sets that new turns begin with: the usual one, then the tenants' own."""
        return (self.usual, *self._tenants.values())

    def keep(self, chains: TurnChains) -> None:
        """Have a set at hand for turns that have pinned it."""
        self._by_pin.setdefault(chains.pin, chains)

    def forget_all_but(self, pinned: Collection[str]) -> Iterable[TurnChains]:
        """Forget the sets that no new turn begins with and that are not `pinned` either; return them."""
        kept = {self.usual.pin, *(one.pin for one in self._tenants.values()), *pinned}
        gone = [chains for pin, chains in self._by_pin.items() if pin not in kept]
        self._by_pin = {pin: chains for pin, chains in self._by_pin.items() if pin in kept}
        return gone

    def lacks(self, turn: Turn) -> bool:
        """Tell whether an open turn has pinned chains that are not here."""
        return turn.begun and not turn.over and turn.started.pin not in self._by_pin

    def of(self, turn: Turn) -> TurnChains:
        """Return what `turn` runs through: what it has pinned, or else what one of its tenant begins with."""
        if turn.begun:
            pinned = self._by_pin.get(turn.started.pin)
            if pinned is not None:
                return pinned
        return self._tenants.get(turn.request.tenant, self.usual)
