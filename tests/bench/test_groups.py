"""Each group runs on the embedded broker, with turngate and what needs no other project: little of everything, once."""

from __future__ import annotations

import math

import pytest

from bench import groups
from bench.figures import Report
from bench.rounds import Findings, Setting
from bench.tables import as_text
from streams.brokers.embedded import EmbeddedBroker

BARE, OURS = "bare aiokafka, JSON and a dict", "turn worker, three redactors and journal"

#: Who takes part in each group where nothing else is installed.
CONTENDERS = {
    "throughput": {BARE, "turn worker, no processors", OURS},
    "latency": {BARE, OURS},
    "journal": {"turn worker, three redactors", "bound: 2.5 x answer + 160 x records"},
    "at-rest": {"turn worker, plain", "turn worker, sealed"},
    "recovery": {"turn worker, empty journal", "turn worker, journal of 50 open turns"},
    "housekeeping": {"turn worker, 80 turns"},
    "gateway": {"a plain Kafka reader", "a reader over HTTP at the gateway"},
    "scale": {
        "1 worker, 4 partitions, 200 open turns",
        "2 workers",
        "64 partitions",
        "300 more open turns",
        "one redactor by passes, async",
    },
}


async def quick(name: str) -> Findings:
    """Run a group, once and shortly."""
    async with EmbeddedBroker() as broker:
        setting = Setting(broker.bootstrap, rounds=1, quick=True, peers=False, say=lambda _: None)
        return await groups.find(name).measure(setting)


@pytest.mark.embedded
@pytest.mark.parametrize("name", CONTENDERS)
async def test_a_group_measures_everyone(name: str) -> None:
    """All have a figure that is a number, and nobody failed."""
    found = await quick(name)
    assert not found.failed
    assert not found.absent
    assert {figure.contender for figure in found.figures} == CONTENDERS[name]
    assert all(math.isfinite(value) for figure in found.figures for value in figure.values)
    assert {len(figure.values) for figure in found.figures} == {1}
    assert as_text(Report("", {}, {}, tuple(found.figures)))
    values = {(figure.contender, figure.measure.name): figure.median for figure in found.figures}
    if name == "latency":
        # A hop puts every frame on; a worker releases as many texts, or fewer that are longer.
        assert values[BARE, "texts per 100 frames, 500 frames/s"] == 100
        assert 0 < values[OURS, "texts per 100 frames, 500 frames/s"] <= 100
        assert min(value for (_, measure), value in values.items() if "added" in measure) > 0


async def test_the_gate_is_measured_without_a_broker() -> None:
    """The gate, its scanners and the loops to compare them with; who scans lets no secret out."""
    found = await groups.find("gate").measure(Setting("nowhere:1", 1, quick=True, peers=False, say=lambda _: None))
    leaks = {figure.contender: figure.median for figure in found.figures if "leak" in figure.measure.name}
    assert leaks["turngate, gate that scans"] == 0
    assert leaks["the loop alone"] > 0
    assert "growing-prefix rescan" in leaks


def test_an_unknown_group_is_named_with_those_there_are() -> None:
    """As everywhere."""
    with pytest.raises(LookupError, match="there is no group nonsense; there are: gate, throughput"):
        groups.find("nonsense")
