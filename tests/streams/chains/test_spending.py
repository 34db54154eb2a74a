"""What processors spend comes out of the process they run in."""

from __future__ import annotations

import pytest

from processors import Answer
from streams.chains import InlineChainRunner, ProcessChainRunner
from tests.streams.chains import spenders


@pytest.mark.parametrize("name", ["sync", "mixed", "both"])
async def test_a_child_tells_what_its_processors_spent(name: str) -> None:
    """As the same chain does where it runs in this process; the one that ran out of time spent before it did."""
    inline = InlineChainRunner(getattr(spenders, name))
    child = ProcessChainRunner(f"{spenders.__name__}:{name}", workers=1)
    told = []
    for runner in (inline, child):
        await runner.start()
        try:
            outcome = await runner.run_output(Answer("text"))
        finally:
            await runner.stop()
        told.append([(report.processor, report.verdict, report.usage, report.model) for report in outcome.reports])
    assert told[0] == told[1] == spenders.EXPECTED[name]
