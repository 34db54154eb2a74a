"""What the redacting built-ins have in common: how they are configured, and how several become one."""

from __future__ import annotations

from collections.abc import Iterable

from processors.patterns.redactor import Redactor, Rule


def redact(
    kinds: Iterable[Redactor | Rule],
    *,
    name: str = "redact",
    placeholder: str = "[{label}]",
    numbered: bool = False,
    folds: bool = True,
) -> Redactor:
    """Return one processor that finds all that `kinds` find, each a built-in redactor or a rule of one's own.

    Where findings overlap the longest is replaced, of equally long ones that of the kind named first. Only the rules of a
    redactor are taken over; its name, `placeholder` and so on are those given here. `folds` has it see through evasions.
    """
    rules: list[Rule] = []
    for kind in kinds:
        rules += (kind,) if isinstance(kind, Rule) else kind.rules
    return Redactor(name, rules, placeholder=placeholder, numbered=numbered, folds=folds)
