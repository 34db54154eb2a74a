"""What encryption at rest costs: one turn worker with a key ring and without, side by side.

Run it as `python -m bench.at_rest [--broker embedded|apache|host:port] [--rounds N] [--quick]`. Frames, turns and chain are
those of `bench.throughput`; with a key ring, requests and frames come sealed, and the journal is.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from functools import partial
from pathlib import Path

from bench import throughput, workers
from bench.groups import alone
from bench.rounds import AbsentError, Contender, Findings, Setting, Values, side_by_side

GROUP = "at-rest"
PLAIN, SEALED = "turn worker, plain", "turn worker, sealed"
#: Frames per turn: processor time is what counts here, and its clock ticks a hundred times a second.
FRAMES, QUICK_FRAMES = 100, 20


async def sealed(bootstrap: str, count: int, frames: int) -> Values:
    """Measure a worker with a key ring of one key."""
    if importlib.util.find_spec("cryptography") is None:
        raise AbsentError("cryptography is not installed: pip install 'turngate[sealing]'")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "bench").write_text(os.urandom(32).hex(), encoding="ascii")
        return await throughput.through_worker(bootstrap, workers.SCANNING_DEPS, count, frames, key_ring=folder)


async def measure(setting: Setting) -> Findings:
    """Measure both, round after round."""
    count = throughput.QUICK_TURNS if setting.quick else throughput.TURNS
    frames = QUICK_FRAMES if setting.quick else FRAMES
    plain = partial(throughput.through_worker, setting.bootstrap, workers.SCANNING_DEPS, count, frames)
    contenders = [
        Contender(PLAIN, plain, PLAIN),
        Contender(SEALED, partial(sealed, setting.bootstrap, count, frames), PLAIN),
    ]
    return await side_by_side(GROUP, contenders, setting)


if __name__ == "__main__":
    alone(GROUP)
