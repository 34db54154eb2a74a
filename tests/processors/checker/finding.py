"""Ways to ask for what a check found."""

from __future__ import annotations

from processors.checker import CheckReport, Example, Finding, Kind


def kinds(report: CheckReport, level: str = "error") -> set[str]:
    """Return the kinds of what was found on one level."""
    return {finding.kind for finding in report.findings if finding.level == level}


def the(report: CheckReport, kind: Kind, processor: str | None) -> Finding:
    """Return the one finding of a kind about a processor (None: the chain)."""
    (found,) = (one for one in report.findings if (one.kind, one.processor) == (kind, processor))
    return found


def example(finding: Finding) -> Example:
    """Return the example of a finding that has one."""
    assert finding.example is not None
    return finding.example
