"""A first size for a pipeline, from what is asked of it: the worksheet of `docs/scaling.md`, as one function.

Pure arithmetic. How fast a worker is and how long it recovers are inputs: measure them on your machines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from topics import names
from topics.layout import wanted_layout

#: Bytes of a record without its text and with its key, where ids are UUIDs; keys and JSON included.
ENVELOPES = {
    names.REQUESTS: 270,
    names.PROMPTS: 335,
    names.FRAMES: 205,
    names.RELEASED_FRAMES: 220,
    names.USAGE: 430,
    names.DECISIONS: 400,
}
#: Bytes of a terminal frame without its reply.
END_BYTES = 280
#: What the changelog takes at most: so much for each byte of an answer, and for each record.
JOURNAL_PER_BYTE, JOURNAL_PER_RECORD = 2.5, 160
#: What a turn that has ended leaves in the journal and in its worker's memory, and for how long with the usual settings.
ENDED_BYTES, ENDED_MEMORY, ENDED_S = 200, 1_000, 25 * 3600
#: What a turn that its thread remembers takes in memory beside its text, and a worker that has nothing to do.
REMEMBERED_MEMORY, WORKER_MEMORY = 600, 80e6
DAY_S = 86_400
_GB, _MB = 1e9, 1e6


@dataclass(frozen=True, slots=True)
class Demand:
    """What is asked of a pipeline, and what one process does. Rates are those of the busiest minute.

    `busy_hours` is for how many hours of a day as many turns as at the busiest would have to come, to be as many as come in
    it. `remembered_days` is `thread_retention_s`, or 0 where callers send histories. `records_per_frame` is how many records
    of the journal, and texts released, come of a frame: 1 where each comes alone, less where frames wait and are taken
    together. `open_turn_kb` is what one takes in memory, `restored_per_s` how many records of its journal a worker reads in
    a second when it takes partitions over. `headroom` is the share of what a process can do that is asked of it.
    """

    turns_per_s: float
    turn_s: float
    frames_per_turn: float
    answer_bytes: float
    message_bytes: float
    prompt_bytes: float
    readers: int
    busy_hours: float = 8
    remembered_days: float = 30
    decisions_per_turn: float = 4
    records_per_frame: float = 1
    gateways: int = 2
    replicas: int = 3
    worker_frames_per_s: float = 8_000
    worker_open_turns: int = 10_000
    runner_calls: int = 64
    gateway_streams: int = 2_000
    open_turn_kb: float = 19
    restored_per_s: float = 40_000
    headroom: float = 0.5


@dataclass(frozen=True, slots=True)
class Size:
    """What that takes. Disk is of all replicas, with what topics keep for as long as they do by default.

    `standstill_s` is how long turns stand still while partitions move, beside what the group takes to agree. That and
    `worker_memory_gb` are with one turn worker away.
    """

    open_turns: int
    frames_per_s: float
    turn_workers: int
    model_runners: int
    gateways: int
    partitions: int
    cluster_partitions: int
    written_mb_per_s: float
    stored_mb_per_s: float
    read_mb_per_s: float
    topics_gb: float
    journal_gb: float
    worker_memory_gb: float
    standstill_s: float


def written_per_turn(demand: Demand) -> dict[str, float]:
    """Return how many bytes a turn writes, by topic; `journal` is the turn workers' changelog."""
    records = demand.frames_per_turn * demand.records_per_frame
    answer = demand.answer_bytes
    found = {
        names.REQUESTS: ENVELOPES[names.REQUESTS] + demand.message_bytes,
        names.PROMPTS: ENVELOPES[names.PROMPTS] + demand.prompt_bytes,
        names.FRAMES: demand.frames_per_turn * ENVELOPES[names.FRAMES] + answer,
        names.RELEASED_FRAMES: records * ENVELOPES[names.RELEASED_FRAMES] + END_BYTES + 2 * answer,
        names.USAGE: float(ENVELOPES[names.USAGE]),
        names.DECISIONS: demand.decisions_per_turn * ENVELOPES[names.DECISIONS],
    }
    by_name = {topic.name: size for topic, size in found.items()}
    remembered = demand.message_bytes + answer
    by_name["journal"] = JOURNAL_PER_BYTE * answer + JOURNAL_PER_RECORD * records + demand.message_bytes + remembered
    return by_name


def size(demand: Demand) -> Size:
    """Return a first size. Raises `ZeroDivisionError` for a process that does nothing."""
    written = written_per_turn(demand)
    open_turns = math.ceil(demand.turns_per_s * demand.turn_s)
    frames_per_s = demand.turns_per_s * demand.frames_per_turn
    share = demand.headroom
    turn_workers = 1 + math.ceil(
        max(frames_per_s / demand.worker_frames_per_s, open_turns / demand.worker_open_turns) / share
    )
    model_runners = 1 + math.ceil(open_turns / (demand.runner_calls * share))
    gateways = max(demand.gateways, 1 + math.ceil(demand.readers / (demand.gateway_streams * share)))
    partitions = 2 ** math.ceil(math.log2(max(4 * turn_workers, model_runners)))
    per_s = sum(written.values()) * demand.turns_per_s
    once = sum(written[topic.name] for topic in (names.REQUESTS, names.PROMPTS, names.FRAMES))
    read = (once + gateways * written[names.RELEASED_FRAMES.name]) * demand.turns_per_s
    turns_a_day = demand.turns_per_s * demand.busy_hours * 3600
    kept = sum(written[topic.name] * (topic.retention_s or 0) / DAY_S for topic in ENVELOPES) * turns_a_day
    ended, remembered = turns_a_day * ENDED_S / DAY_S, turns_a_day * demand.remembered_days
    text = demand.message_bytes + demand.answer_bytes
    cleaned = ended * ENDED_BYTES + remembered * text
    memory = open_turns * demand.open_turn_kb * 1e3 + ended * ENDED_MEMORY + remembered * (text + REMEMBERED_MEMORY)
    rows = open_turns * demand.frames_per_turn * demand.records_per_frame + ended + remembered
    working = turn_workers - 1  # as when one is away
    # As much again may wait to be cleaned.
    return Size(
        open_turns=open_turns,
        frames_per_s=frames_per_s,
        turn_workers=turn_workers,
        model_runners=model_runners,
        gateways=gateways,
        partitions=partitions,
        cluster_partitions=sum(one.partitions for one in wanted_layout(names.Names(), partitions)) * demand.replicas,
        written_mb_per_s=per_s / _MB,
        stored_mb_per_s=per_s * demand.replicas / _MB,
        read_mb_per_s=(read + per_s * (demand.replicas - 1)) / _MB,
        topics_gb=kept * demand.replicas / _GB,
        journal_gb=2 * cleaned * demand.replicas / _GB,
        worker_memory_gb=(WORKER_MEMORY + memory / working) / _GB,
        standstill_s=rows / working / demand.restored_per_s,
    )
