"""Which brokers this run of the tests uses, and why the others are left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.brokers import apache, docker, embedded
from tests.brokers.broker import Broker


@dataclass(frozen=True)
class Kind:
    """A kind of broker: what keeps this machine from running it (None: nothing), and how to make one."""

    why_not: Callable[[], str | None]
    make: Callable[[Path], Broker]


KINDS: Mapping[str, Kind] = {
    "embedded": Kind(embedded.why_not, embedded.EmbeddedBroker),
    "apache": Kind(apache.why_not, apache.ApacheBroker),
    "docker": Kind(docker.why_not, docker.DockerBroker),
}


class ChoiceError(ValueError):
    """Somebody asked for a broker that does not exist, or that this machine cannot run."""


@dataclass(frozen=True)
class Choice:
    """The brokers of one test run, by name."""

    used: tuple[str, ...]
    left_out: Mapping[str, str]
    """Reason by name."""

    def header(self) -> list[str]:
        """Return what the head of the test report says about it, one line for each broker."""
        lines = [f"broker {name}: used" for name in self.used]
        return lines + [f"broker {name}: SKIPPED, {reason}" for name, reason in self.left_out.items()]


def choose(wanted: str, kinds: Mapping[str, Kind] = KINDS) -> Choice:
    """Choose among `kinds`.

    `wanted` is a comma-separated list of names, or empty for whatever this machine can run. A broker asked for by name
    that cannot run raises `ChoiceError`: whoever names it counts on its tests.
    """
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    unknown = [name for name in names if name not in kinds]
    if unknown:
        raise ChoiceError(f"There is no broker {', '.join(unknown)} to test on; there are: {', '.join(kinds)}.")
    used: list[str] = []
    left_out: dict[str, str] = {}
    for name, kind in kinds.items():
        if names and name not in names:
            left_out[name] = f"not among those asked for ({', '.join(names)})"
            continue
        reason = kind.why_not()
        if reason is None:
            used.append(name)
        elif names:
            raise ChoiceError(f"The tests were asked to run on {name}, but {reason}.")
        else:
            left_out[name] = reason
    return Choice(tuple(used), left_out)
