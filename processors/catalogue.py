"""Which code there is: every version of every processor that this image can run, by kind, name and version.

From three places: the operator's `Deps`, the entry points `turngate.processors` of installed packages, and what the
setting `processors` lists as `module:attribute`. Each gives a processor, a factory (`processors.factories`), or a list of
these. Several versions of one name may stand side by side; two different ones may not have the same version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from processors.declaration import KINDS, Kind, Processor
from processors.declare import carried
from processors.deps import Deps, load_attribute, load_deps
from processors.errors import DeploymentError, DepsError, DepsImportError
from processors.factories import Factory, carried_factory
from processors.listed import of_any_kind

#: The group of entry points under which packages name their processors.
GROUP = "turngate.processors"


@dataclass(frozen=True)
class Code:
    """One version of a processor's code, from `source`. With a `factory` it takes a configuration, without it none."""

    source: str
    processor: Processor | None = None
    factory: Factory | None = None

    @property
    def _either(self) -> Processor | Factory:
        return self.factory or self.processor  # type: ignore[return-value] # one of the two is there

    @property
    def kind(self) -> Kind:
        """The processor's kind."""
        return self._either.kind  # type: ignore[return-value] # what derives prompts is in no catalogue

    @property
    def name(self) -> str:
        """The processor's name."""
        return self._either.name

    @property
    def version(self) -> str:
        """The version of the code, without a configuration."""
        return self._either.version

    @property
    def digest(self) -> str:
        """What tells the code from other code of the same name and version."""
        return self._either.digest

    @property
    def ref(self) -> str:
        """`kind/name@version`."""
        return f"{self.kind}/{self.name}@{self.version}"

    @property
    def listed(self) -> str:
        """`kind/name@version#digest`, as workers report it."""
        return f"{self.ref}#{self.digest}"

    def build(self, config: Mapping[str, Any] | None) -> Processor:
        """Return the processor, configured.

        Raises:
            DeploymentError: the configuration is not what the code takes.
        """
        if self.factory is not None:
            return self.factory.build(config)
        if config is not None:
            raise DeploymentError(f"{self.ref}: it takes no config: leave it out, or declare it with processor_factory")
        assert self.processor is not None  # noqa: S101 - one of the two is there
        return self.processor


class Catalogue:
    """All code that there is, in a fixed order."""

    def __init__(self, codes: Iterable[Code] = ()) -> None:
        """Take `codes`; the same one may come from several places.

        Raises:
            DepsError: two of them have the same kind, name and version and are not the same.
        """
        self._codes: dict[str, Code] = {}
        for code in codes:
            known = self._codes.setdefault(code.ref, code)
            if known.digest != code.digest:
                raise DepsError(
                    f"{code.ref} is in {known.source} and, with other code, in {code.source}: give one another version"
                )

    def __iter__(self) -> Any:
        return iter(self._codes[ref] for ref in sorted(self._codes))

    def __len__(self) -> int:
        return len(self._codes)

    def find(self, kind: str, name: str, version: str) -> Code | None:
        """Return that version of a processor's code, None if it is not here."""
        return self._codes.get(f"{kind}/{name}@{version}")

    def called(self, name: str) -> list[Code]:
        """Return every version of every processor called `name`."""
        return [code for code in self if code.name == name]

    @property
    def listed(self) -> tuple[str, ...]:
        """All of it, as workers report it."""
        return tuple(code.listed for code in self)


def load(spec: str | None, sources: Sequence[str] = (), *, paths: Sequence[str | Path] = ()) -> tuple[Deps, Catalogue]:
    """Return the `Deps` at `spec` (None: an empty one) and the catalogue of it, of `sources` and of the entry points.

    Raises:
        DepsError: something of it cannot be imported, is no processor, or contradicts something else.
    """
    deps = load_deps(spec, paths=paths) if spec is not None else Deps()
    found = [Code(spec or "Deps", processor=member) for kind in KINDS for member in deps.chain(kind)]
    for source in sources:
        found += codes_of(load_attribute(source, paths=paths), source)
    for entry in entry_points(group=GROUP):
        try:
            given = entry.load()
        except Exception as error:  # importing runs a module: anything may come of it
            raise DepsImportError(
                f"the entry point {entry.name!r} ({entry.value}) cannot be loaded: {type(error).__name__}. Mend or "
                "uninstall its package."
            ) from error
        found += codes_of(given, entry.value)
    return deps, Catalogue(found)


def anything_named(sources: Sequence[str]) -> bool:
    """Tell whether any code beside that of a `Deps` is named, without importing it."""
    return bool(sources) or bool(entry_points(group=GROUP))


def codes_of(given: object, source: str) -> list[Code]:
    """Return the code that `source` names: a processor, a factory, or a list of these; of a `Deps`, all its processors.

    Raises:
        DepsError: it is something else.
    """
    if isinstance(given, Deps):
        return [Code(source, processor=member) for kind in KINDS for member in given.chain(kind)]
    if isinstance(given, list | tuple):
        return [code for one in given for code in codes_of(one, source)]
    factory = carried_factory(given)
    if factory is not None:
        return [Code(source, factory=factory)]
    return [Code(source, processor=carried(given) or of_any_kind(given, source))]
